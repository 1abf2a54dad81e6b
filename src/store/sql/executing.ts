/** The operations of the executor. */
import { StoreUnavailableError } from '../../errors.ts'
import { toText } from '../../model/instant.ts'
import { type Fence, fenceText } from '../../model/job.ts'
import type { ExecutingStore, JobProgress } from '../executing-store.ts'
import { integerLiteral, placeholders } from '../literals.ts'
import { lockRows, updateFromBatch } from './by-key.ts'
import { claim, handOver } from './claim.ts'
import type { Context, TablesContext } from './context.ts'
import { handedOver, postpone, route } from './external.ts'
import { Isolation } from './isolate.ts'
import { promoteDue } from './promote.ts'
import { runningAmong, settle } from './settle.ts'
import { held, orphans } from './take-over.ts'

/** This is short, because a stopping worker tries for only a few seconds to write its outcomes. */
const LONGEST_SETTLE_BACK_OFF_MS = 4000
/** The number of log lines that are read at once to replace messages. */
const LINES_AT_ONCE = 500

export function executingStore(context: TablesContext): ExecutingStore {
  const { dialect, tables } = context
  const { isLockWait } = dialect
  const promoting = new Isolation({ isLockWait })
  const claiming = new Isolation({ isLockWait })
  const handingOver = new Isolation({ isLockWait })
  const settling = new Isolation({ isLockWait, longestWaitedMs: LONGEST_SETTLE_BACK_OFF_MS })
  const takingOver = new Isolation({ isLockWait, longestWaitedMs: LONGEST_SETTLE_BACK_OFF_MS })
  // Locked rows are skipped, so if the write waits for a lock, it is a table lock, and other writes wait for it too.
  const saving = new Isolation({ isLockWait: () => false, few: Infinity })

  return {
    promoteDue: (...of) => promoteDue(context, promoting, of),

    claim: (...of) => claim(context, claiming, of),

    leaveOut: ({ id, group, task }) => claiming.leaveOut({ id, group_: group, task }),

    leftOut: () =>
      new Set(
        [promoting, claiming, handingOver, takingOver].flatMap((of) => of.refused().map(({ id }) => id)),
      ).size,

    handOver: (...of) => handOver(context, handingOver, of),

    route: (...of) => route(context, ...of),

    async postpone(refused) {
      await postpone(context, refused)
      for (const of of [promoting, handingOver]) of.forget(refused)
    },

    handedOver: (worker, claims) => handedOver(context, worker, claims),

    settle: (attempts, areOrphans = false) => settle(context, areOrphans ? takingOver : settling, attempts),

    async stopRequests(attempts) {
      if (attempts.length === 0) return []
      const rows = await context.rows<Fence>(
        `SELECT id, worker, claim FROM ${tables.job}
         WHERE id IN (${placeholders(attempts, dialect.jobId)}) AND state = 'running' AND stop_requested IS NOT NULL`,
        attempts.map(({ id }) => id),
      )
      const asked = new Set(rows.map(fenceText))
      return attempts.filter((attempt) => asked.has(fenceText(attempt)))
    },

    async saveProgress(progress) {
      const items = progress.map((one) => ({ id: one.fence.id, one }))
      const { results, left, refused } = await saving.write(items, {
        write: (some) =>
          context.transaction((tx) =>
            saveProgress(
              tx,
              some.map(({ one }) => one),
            ),
          ),
      })
      return {
        left: [...results.flat(), ...left.map(({ one }) => one)],
        refused: refused.map(({ item: { one }, error }) => ({ item: one, error })),
      }
    },

    async appendLogs(lines) {
      // Each call writes new lines, so refused lines need not be remembered. If the write waits for a lock, it is a
      // table lock, and other writes wait for it too.
      const isolation = new Isolation({ isLockWait: () => false, few: Infinity })
      const items = lines.map((line, index) => ({ id: String(index), line }))
      const { left, refused } = await isolation.write(items, {
        write: (some) =>
          context.run(
            `INSERT INTO ${tables.log} (job_id, at, level, message)
             VALUES ${some.map(() => '(?, ?, ?, ?)').join(', ')}`,
            some.flatMap(({ line }) => [line.jobId, toText(line.at), line.level, line.message]),
          ),
      })
      return {
        left: left.map(({ line }) => line),
        refused: refused.map(({ item: { line }, error }) => ({ item: line, error })),
      }
    },

    async replaceLogs(jobId, replacements) {
      for (let last = 0, isMore = true; isMore; ) {
        const lines = await context.rows<{ id: number; message: string }>(
          `SELECT id, message
           FROM ${tables.log}
           WHERE job_id = ${dialect.jobId} AND id > ?
           ORDER BY job_id, id
           LIMIT ${integerLiteral(LINES_AT_ONCE)}`,
          [jobId, last],
        )
        const replaced = lines.flatMap(({ id, message }) => {
          const replacement = replacements.get(message)
          return replacement === undefined ? [] : [{ id, message: replacement }]
        })
        const columns = { id: 'integer', message: 'long text' } as const
        // The batch is halved if the server rejects the statement as too long.
        const { left, refused } = await new Isolation({ isLockWait: () => false, few: Infinity }).write(
          replaced.map((line) => ({ id: String(line.id), line })),
          {
            write: (some) =>
              updateFromBatch(
                context,
                tables.log,
                columns,
                some.map(({ line }) => line),
                { message: 'b.message' },
              ),
          },
        )
        if (refused[0] !== undefined) throw refused[0].error
        if (left.length > 0)
          throw new StoreUnavailableError(
            `The database could not replace ${String(left.length)} of ${String(replaced.length)} log lines`,
          )
        last = lines.at(-1)?.id ?? last
        isMore = lines.length === LINES_AT_ONCE
      }
    },

    held: (worker) => held(context, worker),

    orphans: (limit) => orphans(context, takingOver, limit),
  }
}

/**
 * Stores the progress of running jobs in one transaction.
 *
 * @returns the progress whose rows other transactions have locked
 */
async function saveProgress(tx: Context, progress: readonly JobProgress[]): Promise<readonly JobProgress[]> {
  const ids = progress.map(({ fence }) => fence.id)
  const where = "state = 'running'"
  const rows = await lockRows<Fence>(tx, { table: tx.tables.job, columns: 'id, worker, claim', ids, where })
  const mine = new Set(rows.map(fenceText))
  const isMine = ({ fence }: JobProgress) => mine.has(fenceText(fence))
  await updateFromBatch(
    tx,
    tx.tables.job,
    { id: 'job id', progress: 'long text' },
    progress.filter(isMine).map(({ fence: { id }, json }) => ({ id, progress: json })),
    { progress: 'b.progress' },
  )
  const others = progress.filter((one) => !isMine(one))
  const locked = await runningAmong(
    tx,
    others.map(({ fence }) => fence.id),
  )
  return others.filter(({ fence }) => locked.has(fenceText(fence)))
}
