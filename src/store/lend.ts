import { randomBytes } from 'node:crypto'
import { ConflictError, messageOf } from '../errors.ts'
import type { Lend, Sql } from './database.ts'
import { CallbackError, CallbackTooSlowError, TransactionEndedError } from './executing-store.ts'

export interface LenderOptions {
  readonly connection: object
  readonly isNoSavepoint: (error: unknown) => boolean
  /** Called after a timeout: the connection may still be busy with a statement of the callback. */
  readonly abandon: () => void
}

const ENDS_THE_TRANSACTION: ReadonlySet<unknown> = new Set([
  'beginTransaction',
  'changeUser',
  'close',
  'commit',
  'destroy',
  'end',
  'release',
  'rollback',
])

/** Statements that end a transaction, such as those that query builders use for their own transactions. */
const ENDS = /^\s*(begin|start\s+transaction|commit|rollback(?!\s+(work\s+)?to\b)|end(?=\s*;?\s*$))/i

function endsTheTransaction(name: unknown, [first]: readonly unknown[]): boolean {
  if (ENDS_THE_TRANSACTION.has(name)) return true
  const text: unknown = typeof first === 'object' && first !== null && 'sql' in first ? first.sql : first
  return typeof text === 'string' && ENDS.test(text)
}

export function lender(
  { run }: Pick<Sql, 'run'>,
  { connection, isNoSavepoint, abandon }: LenderOptions,
): Lend {
  return async (use, timeoutMs) => {
    // The name is random, because another savepoint with the same name would hide the fact that the transaction has
    // ended.
    const savepoint = `kalends_${randomBytes(8).toString('hex')}`
    await run(`SAVEPOINT ${savepoint}`)
    const used = await whileOpen(connection, use, timeoutMs)
    if (used === 'too slow') {
      abandon()
      throw new CallbackTooSlowError(
        `it took longer than ${timeoutMs} ms; when it calls Kalends, it must pass the tx that it was given`,
      )
    }
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
  connection: object,
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
        result: await use(
          guarded(connection, () => isOpen),
          timeout.signal,
        ),
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

/** The methods and prepared statements of the result work only in the transaction, and cannot end it. */
function guarded<Guarded extends object>(target: Guarded, isOpen: () => boolean): Guarded {
  return new Proxy(target, {
    get(of, name) {
      const value: unknown = Reflect.get(of, name, of)
      if (typeof value !== 'function') return value
      return (...given: unknown[]): unknown => {
        if (!isOpen())
          throw new ConflictError(
            'This transaction has ended: use it only in the callback, and await every use',
          )
        if (endsTheTransaction(name, given))
          throw new ConflictError(
            'The callback must neither end this transaction nor begin another: Kalends commits it; use a SAVEPOINT',
          )
        const result: unknown = Reflect.apply(value, of, given)
        // A prepared statement of a synchronous driver.
        return isStatement(result) ? guarded(result, isOpen) : result
      }
    },
  })
}

function isStatement(result: unknown): result is object {
  return typeof result === 'object' && result !== null && 'run' in result && 'all' in result
}
