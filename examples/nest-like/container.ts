/**
 * A stand-in for the NestJS container, so that this example does not need NestJS: modules with providers, created in
 * dependency order, and two lifecycle hooks. With NestJS, you do not need this file.
 */

/** Identifies a provider. */
export interface Token<Value> {
  readonly name: string
  /** Never set: it only carries the type. */
  readonly value?: Value
}

export function token<Value>(name: string): Token<Value> {
  return { name }
}

export interface Provider {
  readonly token: Token<unknown>
  readonly needs: readonly Token<unknown>[]
  readonly make: (...needs: readonly unknown[]) => unknown
}

export interface Module {
  readonly name: string
  readonly imports?: readonly Module[]
  readonly providers: readonly Provider[]
}

/** Called after all providers are created. */
export interface OnModuleInit {
  onModuleInit(): void | Promise<void>
}

/** Called when the application shuts down. */
export interface OnApplicationShutdown {
  onApplicationShutdown(signal?: string): void | Promise<void>
}

/** Like `{ provide, inject, useFactory }` in NestJS. */
export function provide<Value, Needs extends readonly unknown[]>(
  token: Token<Value>,
  needs: readonly [...{ [Index in keyof Needs]: Token<Needs[Index]> }],
  make: (...needs: Needs) => Value | Promise<Value>,
): Provider {
  // The container passes the values of these tokens, in this order.
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion
  return { token, needs, make: make as Provider['make'] }
}

export class Application {
  readonly #instances: ReadonlyMap<Token<unknown>, unknown>

  private constructor(instances: ReadonlyMap<Token<unknown>, unknown>) {
    this.#instances = instances
  }

  /**
   * Creates every provider, then calls the `onModuleInit` hooks, those of imported modules first.
   *
   * @throws Error if no module provides a dependency, or if dependencies are circular
   */
  static async create(root: Module): Promise<Application> {
    const providers = providersOf(root, new Set())
    const instances = new Map<Token<unknown>, unknown>()
    const make = async (token: Token<unknown>, wanted: readonly string[]): Promise<unknown> => {
      if (instances.has(token)) return instances.get(token)
      const provider = providers.find((one) => one.token === token)
      const path = [...wanted, token.name]
      if (provider === undefined) throw new Error(`No module provides the dependency: ${path.join(' → ')}`)
      if (wanted.includes(token.name)) throw new Error(`Circular dependency: ${path.join(' → ')}`)
      const needs: unknown[] = []
      for (const need of provider.needs) needs.push(await make(need, path))
      const instance = await provider.make(...needs)
      instances.set(token, instance)
      return instance
    }
    for (const { token } of providers) await make(token, [])
    const application = new Application(instances)
    try {
      for (const instance of instances.values()) if (hasInit(instance)) await instance.onModuleInit()
    } catch (error) {
      await application.close()
      throw error
    }
    return application
  }

  get<Value>(token: Token<Value>): Value {
    if (!this.#instances.has(token)) throw new Error(`No module provides ${token.name}`)
    // The instance comes from the provider of this token.
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion
    return this.#instances.get(token) as Value
  }

  /** Calls the `onApplicationShutdown` hooks, in reverse order of creation. */
  async close(signal?: string): Promise<void> {
    for (const instance of [...this.#instances.values()].toReversed())
      if (hasShutdown(instance)) await instance.onApplicationShutdown(signal)
  }

  /** Closes the application on SIGTERM and SIGINT. */
  enableShutdownHooks(): void {
    for (const signal of ['SIGTERM', 'SIGINT'] as const) process.once(signal, () => void this.close(signal))
  }
}

function providersOf(module: Module, seen: Set<Module>): Provider[] {
  if (seen.has(module)) return []
  seen.add(module)
  return [...(module.imports ?? []).flatMap((one) => providersOf(one, seen)), ...module.providers]
}

function hasInit(instance: unknown): instance is OnModuleInit {
  return typeof instance === 'object' && instance !== null && 'onModuleInit' in instance
}

function hasShutdown(instance: unknown): instance is OnApplicationShutdown {
  return typeof instance === 'object' && instance !== null && 'onApplicationShutdown' in instance
}
