/** A separate process that uses the SQLite file, for the harness's own statements and for faults. */
import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import type { SqlValue } from '../../../src/store/database.ts'
import { isBusy, isUnavailable } from '../../../src/store/sqlite/errors.ts'
import type { RowText } from '../record.ts'
import type { Access } from './access.ts'

const program = fileURLToPath(new URL('sqlite-process.mjs', import.meta.url))

export interface SqliteOrder {
  readonly number: number
  readonly text: string
  readonly params: readonly SqlValue[]
}

export type SqliteAnswer =
  | { readonly number: number; readonly rows: readonly RowText[] }
  | { readonly number: number; readonly error: { readonly message: string; readonly code: string } }

export class SqliteProcess {
  readonly #child: ChildProcess
  readonly #waiting = new Map<number, (answer: SqliteAnswer) => void>()
  #number = 0

  private constructor(child: ChildProcess) {
    this.#child = child
    child.on('message', (message) => {
      // The program sends no other messages.
      // oxlint-disable-next-line typescript/no-unsafe-type-assertion
      const answer = message as SqliteAnswer
      this.#waiting.get(answer.number)?.(answer)
      this.#waiting.delete(answer.number)
    })
    child.on('exit', (code, signal) => {
      for (const [number, tell] of this.#waiting) {
        tell({ number, error: { message: `the process ended (${String(code ?? signal)})`, code: 'ENDED' } })
      }
      this.#waiting.clear()
    })
  }

  /** @param environment  the environment of the workers, with their clock */
  static async open(path: string, environment: Readonly<Record<string, string>>): Promise<SqliteProcess> {
    const child = fork(program, [path], {
      execArgv: [],
      env: { ...process.env, ...environment },
      stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    })
    const opened = new SqliteProcess(child)
    await new Promise<void>((resolve, reject) => {
      opened.#waiting.set(0, (answer) =>
        'error' in answer ? reject(new Error(answer.error.message)) : resolve(),
      )
    })
    return opened
  }

  /** @throws Error with SQLite's code */
  async rows(text: string, params: readonly SqlValue[] = []): Promise<RowText[]> {
    this.#number += 1
    const order: SqliteOrder = { number: this.#number, text, params }
    const answer = await new Promise<SqliteAnswer>((resolve) => {
      this.#waiting.set(order.number, resolve)
      this.#child.send(order, (error) => {
        if (error !== null)
          resolve({ number: order.number, error: { message: error.message, code: 'ENDED' } })
      })
    })
    if ('error' in answer) throw Object.assign(new Error(answer.error.message), { code: answer.error.code })
    return [...answer.rows]
  }

  async close(): Promise<void> {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return
    const end = once(this.#child, 'exit')
    this.#child.disconnect()
    // A process that is waiting for a lock does not notice that it was disconnected.
    const inTime = await Promise.race([end.then(() => true), delay(2000, false)])
    if (!inTime) {
      this.#child.kill('SIGKILL')
      await end
    }
  }
}

/** Longer than any fault can keep the file unavailable. */
const PATIENCE_MS = 120_000
const AGAIN_MS = 100

/** The harness's own statements, run one after another: a connection can have only one transaction at a time. */
export function accessOf(connection: SqliteProcess): Access {
  let last: Promise<unknown> = Promise.resolve()
  const inTurn = <Result>(work: () => Promise<Result>): Promise<Result> => {
    const turn = last.then(() => patiently(work))
    last = turn.catch(() => undefined)
    return turn
  }
  const transaction: Access['transaction'] = (work) =>
    inTurn(async () => {
      await connection.rows('BEGIN IMMEDIATE')
      try {
        const result = await work((text, params) => connection.rows(text, params))
        await connection.rows('COMMIT')
        return result
      } catch (error) {
        await connection.rows('ROLLBACK')
        throw error
      }
    })
  return {
    transaction,
    // Writes take the lock first, because libsql leaves a write unfinished if the file is busy.
    query: (text, params) =>
      /^\s*(select|pragma|explain)\b/i.test(text)
        ? inTurn(() => connection.rows(text, params))
        : transaction((query) => query(text, params)),
    close: () => connection.close(),
  }
}

async function patiently<Result>(work: () => Promise<Result>): Promise<Result> {
  const deadline = performance.now() + PATIENCE_MS
  for (;;) {
    try {
      return await work()
    } catch (error) {
      const passes = isBusy(error) || isUnavailable(error)
      if (!passes || performance.now() > deadline) throw error
      await delay(AGAIN_MS)
    }
  }
}
