/** The operations of the executor. */
import { StoreUnavailableError } from '../../errors.ts'
import { toText } from '../../model/instant.ts'
import { type Fence, fenceText } from '../../model/job.ts'
import type { ExecutingStore, JobProgress, PartialWrite } from '../executing-store.ts'
import { integerLiteral, placeholders } from '../literals.ts'
import { lockRows, updateFromBatch } from './by-key.ts'
import { claim, handOver } from './claim.ts'
import type { Context, TablesContext } from './context.ts'
import { handedOver, postpone, route } from './external.ts'
import { Isolation } from './isolate.ts'
import { LONGEST_SETTLE_BACK_OFF_MS } from './isolations.ts'
import { promoteDue } from './promote.ts'
import { runningAmong, settle } from './settle.ts'
import { held, orphans } from './take-over.ts'

/** The number of log lines that are read at once to replace messages. */
const LINES_AT_ONCE = 500

export function executingStore(context: TablesContext): ExecutingStore {
  const { dialect, tables } = context
  const { isLockWait } = dialect
  const { isolations } = context
  const { isDenied } = isolations
  // These writes skip locked rows or insert new ones. A write waits only if the table is locked; then they all wait.
  const noLocks = { isLockWait: () => false, isDenied }
  // The outcomes that are not written are reported and repeated by the executor.
  const settling = new Isolation({ isLockWait, isDenied, longestWaitedMs: LONGEST_SETTLE_BACK_OFF_MS })
  const saving = new Isolation({ ...noLocks, few: Infinity })
  const logging = new Isolation(noLocks)
  let lastLine = 0

  return {
    promoteDue: (limit) => promoteDue(context, limit),

    claim: (...of) => claim(context, of),

    leaveOut: ({ id, group, task }) => isolations.of('claim').leaveOut({ id, group_: group, task }),

    handOver: (...of) => handOver(context, of),

    route: (...of) => route(context, ...of),

    postpone: (refused) => postpone(context, refused),

    handedOver: (worker, claims) => handedOver(context, worker, claims),

    settle: (attempts, areOrphans = false) =>
      settle(context, areOrphans ? isolations.of('takeOver') : settling, attempts),

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

    saveProgress: (progress) =>
      writeItems(
        saving,
        progress,
        ({ fence }) => fence.id,
        (some) => context.transaction((tx) => saveProgress(tx, some)),
      ),

    appendLogs: (lines) =>
      writeItems(
        logging,
        lines,
        () => String((lastLine += 1)),
        async (some) => {
          await context.run(
            `INSERT INTO ${tables.log} (job_id, at, level, message)
             VALUES ${some.map(() => '(?, ?, ?, ?)').join(', ')}`,
            some.flatMap(({ jobId, at, level, message }) => [jobId, toText(at), level, message]),
          )
          return []
        },
      ),

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
        const isolation = new Isolation({ ...noLocks, few: Infinity })
        const { left, refused } = await writeItems(isolation, replaced, byIndex, async (some) => {
          await updateFromBatch(context, tables.log, columns, some, { message: 'b.message' })
          return []
        })
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

    orphans: (limit) => orphans(context, limit),
  }
}

/** @param write  returns the items to write again later */
async function writeItems<Item>(
  isolation: Isolation,
  items: readonly Item[],
  idOf: (item: Item, index: number) => string,
  write: (some: readonly Item[]) => Promise<readonly Item[]>,
): Promise<PartialWrite<Item>> {
  const rows = items.map((item, index) => ({ id: idOf(item, index), item }))
  const { results, left, refused } = await isolation.write(rows, {
    write: (some) => write(some.map(({ item }) => item)),
  })
  return {
    left: [...results.flat(), ...left.map(({ item }) => item)],
    refused: refused.map(({ item: { item }, error }) => ({ item, error })),
  }
}

const byIndex = (_: unknown, index: number) => String(index)

/** @returns the entries for jobs whose rows other transactions have locked */
async function saveProgress(tx: Context, progress: readonly JobProgress[]): Promise<readonly JobProgress[]> {
  const ids = progress.map(({ fence }) => fence.id)
  const where = "state = 'running'"
  const rows = await lockRows<Fence>(tx, {
    table: tx.tables.job,
    columns: ['id', 'worker', 'claim'],
    ids,
    where,
  })
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
