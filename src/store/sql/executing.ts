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
import { promoteDue } from './promote.ts'
import { runningAmong, settle } from './settle.ts'
import { held, orphans } from './take-over.ts'

/** This is short, because a stopping worker tries for only a few seconds to write its outcomes. */
const LONGEST_SETTLE_BACK_OFF_MS = 4000
/** The number of log lines that are read at once to replace messages. */
const LINES_AT_ONCE = 500

/** These writes skip locked rows or insert new ones. A write waits only if the table is locked; then they all wait. */
const NO_LOCKS = { isLockWait: () => false, few: Infinity }

export function executingStore(context: TablesContext): ExecutingStore {
  const { dialect, tables } = context
  const { isLockWait } = dialect
  const promoting = new Isolation({ isLockWait })
  const claiming = new Isolation({ isLockWait })
  const handingOver = new Isolation({ isLockWait })
  const settling = new Isolation({ isLockWait, longestWaitedMs: LONGEST_SETTLE_BACK_OFF_MS })
  const takingOver = new Isolation({ isLockWait, longestWaitedMs: LONGEST_SETTLE_BACK_OFF_MS })
  const saving = new Isolation(NO_LOCKS)

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

    saveProgress: (progress) =>
      writeItems(
        saving,
        progress,
        ({ fence }) => fence.id,
        (some) => context.transaction((tx) => saveProgress(tx, some)),
      ),

    // Each call writes new lines, so refused lines need not be remembered.
    appendLogs: (lines) =>
      writeItems(new Isolation(NO_LOCKS), lines, byIndex, async (some) => {
        await context.run(
          `INSERT INTO ${tables.log} (job_id, at, level, message)
           VALUES ${some.map(() => '(?, ?, ?, ?)').join(', ')}`,
          some.flatMap(({ jobId, at, level, message }) => [jobId, toText(at), level, message]),
        )
        return []
      }),

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
        const isolation = new Isolation(NO_LOCKS)
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

    orphans: (limit) => orphans(context, takingOver, limit),
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
