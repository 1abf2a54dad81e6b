import { randomUUID } from 'node:crypto'
import { type Row, WORKER_COLUMNS } from '../../model/columns.ts'
import { toText } from '../../model/instant.ts'
import { newest } from '../../model/version.ts'
import type { WorkerStore } from '../worker-store.ts'
import { lockIds } from './by-key.ts'
import type { Context, TablesContext } from './context.ts'
import { expressions, reader } from './rows.ts'
import { textRecordOf, textsOf } from './stored-json.ts'

interface WorkerRow extends Row<typeof WORKER_COLUMNS> {
  id: string
  lowest: string | null
}

const readWorker = reader(WORKER_COLUMNS)

export function workerStore(context: TablesContext): WorkerStore {
  const { dialect, tables } = context
  return {
    async register({ id, name, host, pid, tasks, sets = {} }) {
      await context.run(
        `INSERT INTO ${tables.worker} (id, name, host, pid, tasks, sets) VALUES (?, ?, ?, ?, ?, ?)`,
        [id, name, host, pid, JSON.stringify(tasks), JSON.stringify(sets)],
      )
    },

    canBeCutOff: dialect.writesInParallel,

    async heartbeat(id) {
      let isMissing = false
      try {
        if (await writeHeartbeat(context, id)) return 'written'
        return await context.transaction(async (tx) => {
          isMissing = !(await writeHeartbeat(tx, id))
          if (!isMissing) return 'written'
          await confirmReads(tx)
          return 'gone'
        })
      } catch (error) {
        // While this worker's row is locked, no other worker can evict it; if the row is missing, one may have done so.
        if (dialect.isLockWait(error) && !isMissing) return 'locked'
        throw error
      }
    },

    async list() {
      const rows = await context.rows<WorkerRow>(
        `SELECT ${expressions(dialect, WORKER_COLUMNS).join(', ')},
           (SELECT ${dialect.listed('lowest')} FROM ${tables.migration}) AS lowest
         FROM ${tables.worker}
         ORDER BY id`,
      )
      // An invalid row must not hide other rows; otherwise, workers could not take over from dead workers.
      const workers = rows.map((row) =>
        Object.assign(readWorker(row), { tasks: textsOf(row.tasks), sets: textRecordOf(row.sets) }),
      )
      return { workers, lowestVersion: newest(rows[0]?.lowest?.split(',') ?? []) }
    },

    async running() {
      const rows = await context.rows<{ worker: string; amount: number }>(
        `SELECT worker, COUNT(*) AS amount
         FROM ${dialect.found(tables.job, { index: tables.jobStateIndex })}
         WHERE state = 'running' AND worker IS NOT NULL
         GROUP BY worker`,
      )
      return new Map(rows.map(({ worker, amount }) => [worker, amount]))
    },

    // A DELETE would wait for a row that an administrator has locked, and delay the heartbeat of this worker.
    evict: (id, heartbeat) =>
      context.transaction(async (tx) => {
        const where = `${dialect.instant('heartbeat')} = ?`
        const params = [toText(heartbeat)]
        const [free] = await lockIds(tx, tables.worker, [id], where, params)
        if (free === undefined) {
          const seen = await tx.rows(`SELECT id FROM ${tables.worker} WHERE id = ? AND ${where}`, [
            id,
            ...params,
          ])
          return seen.length > 0 ? 'locked' : 'kept'
        }
        await tx.run(`DELETE FROM ${tables.worker} WHERE id = ?`, [id])
        return 'evicted'
      }),

    async unregister(id) {
      await context.run(`DELETE FROM ${tables.worker} WHERE id = ?`, [id])
    },
  }
}

async function writeHeartbeat({ run, tables, dialect }: Context, worker: string): Promise<boolean> {
  return (await run(`UPDATE ${tables.worker} SET heartbeat = ${dialect.now} WHERE id = ?`, [worker])) > 0
}

/**
 * Makes the commit confirm what this transaction has read, if it writes nothing else: a former primary may still answer
 * reads, without the commits of the new primary, but it cannot commit a change. A transaction that changes nothing
 * would still commit, so this function inserts a row and deletes it again.
 *
 * [A member that was leaving its replication group reported ONLINE and PRIMARY for two seconds. Rows that it did not
 * have were considered lost, so handlers were aborted and outcomes dropped. The heartbeat of a worker that had
 * registered with the new primary changed nothing, and confirmed nothing.]
 */
export async function confirmReads({ run, tables }: Context): Promise<void> {
  const id = randomUUID()
  await run(`INSERT INTO ${tables.worker} (id, name, host, pid, tasks) VALUES (?, '', '', 0, '[]')`, [id])
  await run(`DELETE FROM ${tables.worker} WHERE id = ?`, [id])
}
