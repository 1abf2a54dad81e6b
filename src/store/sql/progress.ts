/** Stores the progress of running jobs in one transaction. */
import { type Fence, fenceText } from '../../model/job.ts'
import type { JobProgress } from '../executing-store.ts'
import { updateFromBatch } from './batch.ts'
import { lockRows } from './by-key.ts'
import type { Context } from './context.ts'
import { runningAmong } from './settling.ts'

/** @returns those whose rows are locked by others */
export async function saveProgress(
  tx: Context,
  progress: readonly JobProgress[],
): Promise<readonly JobProgress[]> {
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
