/**
 * Limits how many statements of the API run at the same time and how many may wait. Further requests are rejected
 * immediately, so that a flood of requests cannot exhaust memory or connections.
 */
import { OverloadedError } from '../errors.ts'
import type { Database } from './database.ts'

export interface AdmissionLimits {
  readonly atOnce: number
  readonly waiting: number
  readonly waitMs: number
}

export const API_STATEMENT_MS = 5000
const WAITING = { waiting: 64, waitMs: 5000 }

/** Each method of the result can throw an OverloadedError. */
export function admitted(
  database: Database,
  limits: Pick<AdmissionLimits, 'atOnce'> & Partial<AdmissionLimits>,
): Database {
  const admit = admission({ ...WAITING, ...limits })
  return {
    dialect: database.dialect,
    rows: (text, params) => admit(() => database.rows(text, params)),
    run: (text, params) => admit(() => database.run(text, params)),
    transaction: (work) => admit(() => database.transaction(work)),
    exclusively: (name, work) => admit(() => database.exclusively(name, work)),
    mostAtOnce: () => database.mostAtOnce(),
    longestWaitMs: () => database.longestWaitMs(),
    serverChanges: () => database.serverChanges(),
    close: () => database.close(),
  }
}

function admission({ atOnce, waiting, waitMs }: AdmissionLimits) {
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
