import { randomBytes } from 'node:crypto'
import { ConflictError, messageOf } from '../errors.ts'
import type { Lend, Sql } from './database.ts'
import { CallbackError, CallbackTooSlowError, TransactionEndedError } from './executing-store.ts'

/** Notices statements of the callback that change the connection itself, which Kalends uses again. */
export interface LentSession {
  /** Called before the callback. */
  begin(): void
  /** Called before each statement, without leading comments. */
  watch(statement: string): void
  /** The settings that are different than before the callback. The driver restores them, or replaces the connection. */
  leftBehind(): Promise<readonly string[]>
}

export interface LenderOptions {
  readonly connection: object
  readonly session: LentSession
  /** The methods that return promises. A refused call of one of them rejects; other methods throw. */
  readonly asynchronous: ReadonlySet<unknown>
  readonly isNoSavepoint: (error: unknown) => boolean
  /** Called after a timeout: the connection may still be busy with a statement of the callback. */
  readonly abandon: () => void
}

const ENDS_THE_TRANSACTION: ReadonlySet<unknown> = new Set([
  'beginTransaction',
  'changeUser',
  'close',
  'commit',
  'connect',
  'destroy',
  'end',
  'release',
  'reset',
  'rollback',
  'transaction',
  Symbol.dispose,
  Symbol.asyncDispose,
])

/** Statements that end a transaction, such as those that query builders use for their own transactions. */
const ENDS =
  /^(begin|start\s+transaction|commit|rollback(?!\s+((work|transaction)\s+)?to\b)|end(?=(\s+transaction)?\s*;?\s*$))\b/i
/** Blanks, empty statements and comments, and the beginning of a comment that the server executes. */
const BEFORE_STATEMENT = /^(?:[\s;]|\/\*(?!M?!).*?\*\/|--[^\n]*\n|#[^\n]*\n)*(?:\/\*M?!\d*\s*)?/s

/** The statement that a call runs, or null if it runs none. */
function statementOf(name: unknown, [first]: readonly unknown[]): string | null {
  const text: unknown = typeof first === 'object' && first !== null && 'sql' in first ? first.sql : first
  if (typeof text !== 'string') return null
  return name === 'pragma' ? `PRAGMA ${text}` : text.replace(BEFORE_STATEMENT, '')
}

export function lender(
  { run }: Pick<Sql, 'run'>,
  { isNoSavepoint, abandon, ...options }: LenderOptions,
): Lend {
  return async (use, timeoutMs, onLeftBehind) => {
    // The name is random, because another savepoint with the same name would hide the fact that the transaction has
    // ended.
    const savepoint = `kalends_${randomBytes(8).toString('hex')}`
    await run(`SAVEPOINT ${savepoint}`)
    options.session.begin()
    const used = await whileOpen(options, use, timeoutMs)
    if (used === 'too slow') {
      abandon()
      throw new CallbackTooSlowError(
        `it took longer than ${timeoutMs} ms; when it calls Kalends, it must pass the tx that it was given`,
      )
    }
    const leftBehind = await options.session.leftBehind()
    if (leftBehind.length > 0) onLeftBehind?.(leftBehind)
    try {
      await run('error' in used ? `ROLLBACK TO SAVEPOINT ${savepoint}` : `RELEASE SAVEPOINT ${savepoint}`)
    } catch (error) {
      if (!isNoSavepoint(error)) throw error
      throw new TransactionEndedError(
        `it ended the transaction: it ran a COMMIT, a ROLLBACK or a statement that commits implicitly, such as DDL, or it ignored a deadlock${'error' in used ? `; then it threw: ${messageOf(used.error)}` : ''}`,
        { cause: error },
      )
    }
    if ('error' in used) throw new CallbackError(messageOf(used.error), { cause: used.error })
    return used.result
  }
}

type Used<Result> = { readonly result: Result } | { readonly error: unknown }

/** The connection that the callback receives works until this function returns. */
async function whileOpen<Result>(
  { connection, ...options }: Guard & Pick<LenderOptions, 'connection'>,
  use: (connection: object, signal: AbortSignal) => Promise<Result>,
  timeoutMs: number,
): Promise<Used<Result> | 'too slow'> {
  let isOpen = true
  const timeout = new AbortController()
  let timer: NodeJS.Timeout | undefined
  const tooSlow = new Promise<'too slow'>((resolve) => {
    timer = setTimeout(resolve, timeoutMs, 'too slow')
  })
  // This also catches an error that the callback throws before its first await.
  const used = (async (): Promise<Used<Result>> => {
    try {
      return {
        result: await use(guarded(connection, { ...options, isOpen: () => isOpen }), timeout.signal),
      }
    } catch (error) {
      return { error }
    }
  })()
  const first = await Promise.race([used, tooSlow])
  isOpen = false
  clearTimeout(timer)
  if (first === 'too slow') timeout.abort()
  return first
}

type Guard = Pick<LenderOptions, 'session' | 'asynchronous'>

/** The methods of the result, and of what they return, work only in the transaction, and cannot end it. */
function guarded<Guarded extends object>(
  target: Guarded,
  guard: Guard & { readonly isOpen: () => boolean },
): Guarded {
  const { session, asynchronous, isOpen } = guard
  const usable = (value: unknown): unknown => (isUsable(value) ? guarded(value, guard) : value)
  const proxy = new Proxy(target, {
    get(of, name) {
      const value: unknown = Reflect.get(of, name, of)
      // The driver's own connection, without promises, is a property.
      if (typeof value !== 'function') return usable(value)
      return (...given: unknown[]): unknown => {
        const statement = statementOf(name, given)
        const refusal = refusalOf(isOpen(), 'prepare' in of && ENDS_THE_TRANSACTION.has(name), statement)
        if (refusal !== null) {
          const error = new ConflictError(refusal)
          // mysql2's connection with callbacks has the same names, but returns no promises.
          if (asynchronous.has(name) && !('promise' in of)) return Promise.reject(error)
          throw error
        }
        if (statement !== null) session.watch(statement)
        const result: unknown = Reflect.apply(value, of, given)
        // Some methods of better-sqlite3 return the connection.
        if (result === of) return proxy
        return result instanceof Promise ? result.then(usable) : usable(result)
      }
    },
  })
  return proxy
}

function refusalOf(isOpen: boolean, ends: boolean, statement: string | null): string | null {
  if (!isOpen) return 'This transaction has ended: use it only in the callback, and await every use'
  return ends || ENDS.test(statement ?? '')
    ? 'The callback must neither end this transaction nor begin another: Kalends commits it; use a SAVEPOINT'
    : null
}

/** Whether the value runs statements: a connection or a prepared statement. */
function isUsable(value: unknown): value is object {
  return (
    typeof value === 'object' &&
    value !== null &&
    ['query', 'execute', 'run', 'exec'].some(
      (name) => name in value && typeof Reflect.get(value, name) === 'function',
    )
  )
}
