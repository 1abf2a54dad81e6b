/**
 * A stand-in for the container of NestJS, so that this example needs none: modules with providers, made in the order of
 * their needs, and the two hooks of the life-cycle. With NestJS itself, leave this file out.
 */

/** Under which a provider is asked for. */
export interface Token<Value> {
  readonly name: string
  /** Only for the types. */
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

/** A provider has been made, and so have all others. */
export interface OnModuleInit {
  onModuleInit(): void | Promise<void>
}

/** The application ends. */
export interface OnApplicationShutdown {
  onApplicationShutdown(signal?: string): void | Promise<void>
}

/** As `{ provide, inject, useFactory }` in NestJS. */
export function provide<Value, Needs extends readonly unknown[]>(
  token: Token<Value>,
  needs: readonly [...{ [Index in keyof Needs]: Token<Needs[Index]> }],
  make: (...needs: Needs) => Value | Promise<Value>,
): Provider {
  // The container hands over what the tokens say, in this order.
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion
  return { token, needs, make: make as Provider['make'] }
}

export class Application {
  readonly #instances: ReadonlyMap<Token<unknown>, unknown>

  private constructor(instances: ReadonlyMap<Token<unknown>, unknown>) {
    this.#instances = instances
  }

  /**
   * Makes every provider, then calls the hooks `onModuleInit`, those of imported modules first.
   *
   * @throws Error when a provider needs what no module has
   */
  static async create(root: Module): Promise<Application> {
    const providers = providersOf(root, new Set())
    const instances = new Map<Token<unknown>, unknown>()
    const make = async (token: Token<unknown>, wanted: readonly string[]): Promise<unknown> => {
      if (instances.has(token)) return instances.get(token)
      const provider = providers.find((one) => one.token === token)
      const path = [...wanted, token.name]
      if (provider === undefined) throw new Error(`No module has what is needed: ${path.join(' → ')}`)
      if (wanted.includes(token.name)) throw new Error(`A circle of needs: ${path.join(' → ')}`)
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
    if (!this.#instances.has(token)) throw new Error(`No module has ${token.name}`)
    // Only the provider of this token has put it there.
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion
    return this.#instances.get(token) as Value
  }

  /** Calls the hooks `onApplicationShutdown`, the last made first. */
  async close(signal?: string): Promise<void> {
    for (const instance of [...this.#instances.values()].toReversed())
      if (hasShutdown(instance)) await instance.onApplicationShutdown(signal)
  }

  /** SIGTERM and SIGINT close the application. */
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
