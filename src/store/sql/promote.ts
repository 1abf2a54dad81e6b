/** Makes due waiting jobs claimable. Locks only these jobs, through the index on `due_at` or by key. */
import { integerLiteral } from '../literals.ts'
import { lockIds, updateRows } from './by-key.ts'
import { and, exceptFor } from './conditions.ts'
import type { Context, TablesContext } from './context.ts'

export async function promoteDue(context: TablesContext, limit: number): Promise<number> {
  const { dialect, tables } = context
  const isolation = context.isolations.of('promote')
  const except = exceptFor(isolation.leftOut(), dialect.jobId)
  const promoted = await isolation.find<{ id: string }, number>({
    together: (report) =>
      context.transaction(async (tx) => {
        const due = await tx.rows<{ id: string }>(
          `SELECT id
           FROM ${dialect.found(tables.job, { index: tables.dueIndex })}
           WHERE due_at <= ${dialect.now} ${except.text}
           ORDER BY due_at
           LIMIT ${integerLiteral(limit)} ${dialect.locked('skip')}`,
          except.params,
        )
        report(due)
        return await promote(
          tx,
          due.map(({ id }) => id),
        )
      }),
    some: (jobs) =>
      context.transaction(async (tx) => {
        const ids = jobs.map(({ id }) => id)
        return await promote(tx, await lockIds(tx, tables.job, ids))
      }),
  })
  return promoted.reduce((sum, count) => sum + count, 0)
}

/** @returns how many jobs were still due, as a list of one number; empty if there were none */
async function promote(tx: Context, ids: readonly string[]): Promise<number[]> {
  const where = and(`due_at <= ${tx.dialect.now}`)
  const promoted = await updateRows(tx, tx.tables.job, { run_at: 'NULL', frozen_until: 'NULL' }, ids, {
    where,
  })
  return promoted === 0 ? [] : [promoted]
}
