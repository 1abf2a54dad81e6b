/** The operations of the executor. */
import { Halving } from '../../model/halves.ts'
import { toText } from '../../model/instant.ts'
import { type Fence, fenceText } from '../../model/job.ts'
import type { ExecutingStore, JobProgress } from '../executing-store.ts'
import { lockRows, updateFromBatch } from './by-key.ts'
import { claim, handOver, promoteDue } from './claim.ts'
import { Contention } from './contention.ts'
import type { Context, TablesContext } from './context.ts'
import { handedOver, postpone, route } from './external.ts'
import { runningAmong, settle } from './settle.ts'
import { placeholders } from './tables.ts'
import { held, orphans } from './take-over.ts'

/** Short, because a worker that stops tries for some seconds to write the ends of its runs. */
const LONGEST_SETTLE_BACK_OFF_MS = 4000

export function executingStore(context: TablesContext): ExecutingStore {
  const { dialect, tables } = context
  const { isLockWait } = dialect
  const isolation = () => ({ halving: new Halving(), contention: new Contention({ isLockWait }) })
  const [promoting, claiming, handingOver] = [isolation(), isolation(), isolation()]
  const settling = new Contention({ isLockWait, longestBackOffMs: LONGEST_SETTLE_BACK_OFF_MS })

  return {
    promoteDue: (...of) => promoteDue(context, promoting, of),

    claim: (...of) => claim(context, claiming, of),

    handOver: (...of) => handOver(context, handingOver, of),

    route: (...of) => route(context, ...of),

    postpone: (refused) => postpone(context, refused),

    handedOver: (worker, claims) => handedOver(context, worker, claims),

    settle: (...of) => settle(context, settling, of),

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
      if (progress.length === 0) return []
      return await context.transaction((tx) => saveProgress(tx, progress))
    },

    async appendLogs(lines) {
      if (lines.length === 0) return
      await context.run(
        `INSERT INTO ${tables.log} (job_id, at, level, message)
         VALUES ${lines.map(() => '(?, ?, ?, ?)').join(', ')}`,
        lines.flatMap((line) => [line.jobId, toText(line.at), line.level, line.message]),
      )
    },

    held: (worker) => held(context, worker),

    orphans: (limit, except = []) => orphans(context, limit, except),
  }
}

/** @returns those whose rows are locked by others */
/** Stores the progress of running jobs in one transaction. */
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
