/**
 * Limits how many statements of the API run at the same time and how many may wait. Further requests are rejected
 * immediately, so that a flood of requests cannot exhaust memory or connections.
 */
import { OverloadedError } from '../errors.ts'
import type { Database } from './database.ts'

/** Statements and transactions on the result can throw an OverloadedError. */
export function admitted(
  database: Database,
  { atOnce, waiting = 64, waitMs = 5000 }: { atOnce: number; waiting?: number; waitMs?: number },
): Database {
  const admit = admission(atOnce, waiting, waitMs)
  return {
    dialect: database.dialect,
    rows: (text, params) => admit(() => database.rows(text, params)),
    run: (text, params) => admit(() => database.run(text, params)),
    transaction: (work) => admit(() => database.transaction(work)),
    exclusively: (name, work) => admit(() => database.exclusively(name, work)),
    mostAtOnce: () => database.mostAtOnce(),
    longestWaitMs: () => database.longestWaitMs(),
    serverChanges: () => database.serverChanges(),
    warnings: () => database.warnings(),
    close: () => database.close(),
  }
}

function admission(atOnce: number, waiting: number, waitMs: number) {
  const queue = new Set<() => void>()
  let active = 0
  const wait = (): Promise<void> => {
    if (queue.size >= waiting)
      throw new OverloadedError(
        `${waiting} requests are already waiting for the database; try again in a few seconds`,
      )
    return new Promise((resolve, reject) => {
      const begin = () => {
        clearTimeout(timer)
        queue.delete(begin)
        resolve()
      }
      const timer = setTimeout(() => {
        queue.delete(begin)
        reject(
          new OverloadedError(
            `Other requests kept the database busy for ${waitMs / 1000} s; try again in a few seconds`,
          ),
        )
      }, waitMs)
      queue.add(begin)
    })
  }
  return async <Result>(work: () => Promise<Result>): Promise<Result> => {
    if (active < atOnce) active += 1
    else await wait()
    try {
      return await work()
    } finally {
      const [next] = queue
      if (next === undefined) active -= 1
      else next()
    }
  }
}
