/** Runs `kalends` commands in the test process, because starting child processes would take most of the tests' time. */
import { AsyncLocalStorage } from 'node:async_hooks'
import { EventEmitter, once } from 'node:events'
import { onTestFinished } from 'vitest'
import { program } from '../../src/cli/commands.ts'
import { EXIT, report } from '../../src/cli/failure.ts'
import type { Ended, RunOptions } from './program.ts'

type StopSignal = 'SIGINT' | 'SIGTERM'
type StreamName = 'stdout' | 'stderr'
type HereOptions = Omit<RunOptions, 'stdin'>

export interface CommandHere {
  /** The output to stdout so far. */
  readonly printed: () => string
  /** The output to stderr so far. */
  readonly said: () => string
  /** Waits until stdout matches the pattern. Fails if the command ends before that. */
  readonly until: (pattern: RegExp) => Promise<string>
  readonly ended: Promise<Ended>
  /** Sends a signal only to this command, unless it has ended, and waits until it ends. */
  readonly stop: (signal?: StopSignal) => Promise<Ended>
}

/** Runs a command to completion. */
export function runHere(args: readonly string[], options: HereOptions): Promise<Ended> {
  return inTurn(options, async () => await begin(args).ended)
}

/**
 * Starts a long-running command, by default `kalends start`, and waits until it is ready. The command is stopped when
 * the test ends.
 */
export async function startHere(
  args: readonly string[],
  { ready = /Ready; press Ctrl-C to stop/, ...options }: HereOptions & { readonly ready?: RegExp },
): Promise<CommandHere> {
  const command = await inTurn(options, async () => {
    const started = begin(args)
    await started.until(ready)
    return started
  })
  onTestFinished(async () => void (await command.stop()))
  return command
}

let turn: Promise<unknown> = Promise.resolve()

/** The working directory and the environment are global, so commands start one at a time. */
function inTurn<Result>({ cwd, env = {} }: HereOptions, work: () => Promise<Result>): Promise<Result> {
  const result = turn.then(async () => {
    const [folder, environment] = [process.cwd(), { ...process.env }]
    process.chdir(cwd)
    Object.assign(process.env, { NO_COLOR: '1', ...env })
    try {
      return await work()
    } finally {
      process.chdir(folder)
      for (const name of Object.keys(process.env)) if (!(name in environment)) delete process.env[name]
      Object.assign(process.env, environment)
    }
  })
  turn = result.catch(() => undefined)
  return result
}

/** A command called process.exit. */
class Exit extends Error {
  readonly code: number

  constructor(code: number) {
    super(`exit ${code}`)
    this.code = code
  }
}

/** The output and the signal handlers of one command in the shared process, including those from timer callbacks. */
class Share {
  readonly printed = { stdout: '', stderr: '' }
  readonly signals = new EventEmitter()
  readonly #news = new EventEmitter()

  write(name: StreamName, text: string): void {
    this.printed[name] += text
    this.#news.emit('news')
  }

  /** Waits until something is printed. */
  async news(signal: AbortSignal): Promise<void> {
    await once(this.#news, 'news', { signal }).catch(() => undefined)
  }
}

const shares = new AsyncLocalStorage<Share>()

/** Redirects the output, signal handlers and exits of commands, so that they do not affect the test process. */
function sharing(): void {
  for (const name of ['stdout', 'stderr'] as const)
    intercept(process[name], 'write', (share, [text]) => {
      share.write(name, String(text))
      return true
    })
  intercept(process, 'on', (share, [signal, handler]) => {
    if (!isStopSignal(signal) || typeof handler !== 'function') return undefined
    share.signals.on(signal, () => void Reflect.apply(handler, process, [signal]))
    return process
  })
  intercept(process, 'exit', (_share, [code]) => {
    throw new Exit(Number(code ?? EXIT.ok))
  })
}
/** The replacement methods. vitest restores process.exit after each file, so it must then be replaced again. */
const intercepted = new WeakSet<object>()

/** @param instead  called when a command calls the method; if `instead` returns undefined, the method is called too */
function intercept(
  owner: object,
  name: string,
  instead: (share: Share, args: readonly unknown[]) => unknown,
): void {
  const method: unknown = Reflect.get(owner, name)
  if (typeof method !== 'function') throw new TypeError(`${name} is not a method`)
  if (intercepted.has(method)) return
  const replacement = (...args: unknown[]): unknown => {
    const share = shares.getStore()
    return (share && instead(share, args)) ?? Reflect.apply(method, owner, args)
  }
  intercepted.add(replacement)
  Reflect.set(owner, name, replacement)
}

function isStopSignal(name: unknown): name is StopSignal {
  return name === 'SIGINT' || name === 'SIGTERM'
}

function begin(args: readonly string[]): CommandHere {
  sharing()
  const share = new Share()
  const end = new AbortController()
  const ended = shares.run(share, async () => {
    const main = await program(args)
    const code = await main.parseAsync(args, { from: 'user' }).then(
      () => EXIT.ok,
      (error: unknown) =>
        error instanceof Exit
          ? error.code
          : report(error, main.opts()['verbose'] === true, (text) => share.write('stderr', text)),
    )
    end.abort()
    return { code, ...share.printed }
  })
  return {
    printed: () => share.printed.stdout,
    said: () => share.printed.stderr,
    until: async (pattern) => {
      while (!pattern.test(share.printed.stdout)) {
        if (end.signal.aborted)
          throw new Error(`${args.join(' ')} ended without ${pattern}\n${JSON.stringify(await ended)}`)
        await share.news(end.signal)
      }
      return share.printed.stdout
    },
    ended,
    stop: async (signal = 'SIGTERM') => {
      if (!end.signal.aborted && !share.signals.emit(signal))
        throw new Error(`${args.join(' ')} has no handler of ${signal}`)
      return await ended
    },
  }
}
