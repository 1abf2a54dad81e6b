import type { StoredSchedule } from '../../model/schedule.ts'
import type { DeclaredStore, SetChanges, SetState, SetVersion } from '../declared-store.ts'
import { lockRows, updateFromBatch, updateRows } from './by-key.ts'
import type { Condition } from './conditions.ts'
import type { Context, TablesContext } from './context.ts'
import { scheduleExpressions, type ScheduleRow, toSchedule } from './rows.ts'
import { changeSchedule, insertSchedule } from './schedules.ts'
import { textRecordOf, textsOf } from './stored-json.ts'
import { placeholders } from '../literals.ts'

interface WorkerRow {
  readonly kind: 'worker'
  readonly said: string
}

interface VersionRow {
  readonly kind: 'version'
  readonly hash: string
  readonly first_seen: string
  readonly said: string
}

type LiveRow = WorkerRow | VersionRow

export function declaredStore(context: TablesContext): DeclaredStore {
  return {
    async sync(version, decide, isStart = false) {
      const set = { id: version.name }
      const isolation = context.isolations.of('declare')
      if (isStart) isolation.forget([set])
      if (isolation.without([set]).length === 0) return false
      const { results } = await isolation.write([set], {
        write: () => sync(context, version, decide),
        isOfARow: context.dialect.isRejection,
      })
      return results.length > 0
    },
  }
}

async function sync(
  context: TablesContext,
  version: SetVersion,
  decide: (state: SetState) => SetChanges,
): Promise<void> {
  // Usually there is nothing to do. Then this takes one statement, and nothing is locked.
  if (isNothing(decide(await stateOf(context, version)))) return
  await context.transactionOnKeys(async (tx) => {
    const existing = await lockSchedules(tx, ofSet(version))
    const { selections, params } = live(tx, version)
    const rows = await tx.rows<LiveRow>(tx.dialect.union(selections), params)
    await apply(tx, decide({ existing, ...liveOf(version, rows) }))
  })
}

async function stateOf(context: Context, version: SetVersion): Promise<SetState> {
  const state = await readState(context, version)
  if (state.isKnown) return state
  await noteVersion(context, version)
  return readState(context, version)
}

async function readState(
  context: Context,
  version: SetVersion,
): Promise<SetState & { readonly isKnown: boolean }> {
  const { dialect, tables } = context
  const set = ofSet(version)
  const { selections, params } = live(context, version)
  const columns = scheduleExpressions(dialect)
  const rows = await context.rows<(ScheduleRow & { kind: 'schedule' }) | LiveRow>(
    dialect.union([
      `SELECT 'schedule' AS kind, NULL AS hash, NULL AS first_seen, NULL AS said, ${columns.join(', ')}
       FROM ${tables.schedule}
       WHERE ${set.text}`,
      ...selections.map(
        (selection) => `SELECT l.*, ${columns.map(() => 'NULL').join(', ')} FROM (${selection}) AS l`,
      ),
    ]),
    [...set.params, ...params],
  )
  const existing = rows.filter((row) => row.kind === 'schedule').map(toSchedule)
  const others = rows.filter((row) => row.kind !== 'schedule')
  return {
    existing: existing.toSorted((a, b) => (a.id < b.id ? -1 : 1)),
    isKnown: others.some((row) => row.kind === 'version' && row.hash === version.hash),
    ...liveOf(version, others),
  }
}

/** Stores a version when it is first seen; the version that was stored last is the newest. */
async function noteVersion(context: Context, { name, hash, schedules }: SetVersion): Promise<void> {
  try {
    await context.run(`INSERT INTO ${context.tables.declaredSet} (name, hash, schedules) VALUES (?, ?, ?)`, [
      name,
      hash,
      JSON.stringify(schedules),
    ])
  } catch (error) {
    if (!context.dialect.isDuplicate(error)) throw error
  }
}

/** Selects what the workers declare, the given version of the set, and each version whose hash is in a worker's row. */
function live({ tables, dialect }: Context, { name, hash }: SetVersion) {
  const { worker, declaredSet } = tables
  return {
    selections: [
      `SELECT 'worker' AS kind, NULL AS hash, NULL AS first_seen, sets AS said FROM ${worker}`,
      `SELECT 'version' AS kind, hash, first_seen, schedules AS said
       FROM ${declaredSet}
       WHERE name = ? AND (hash = ? OR EXISTS (
         SELECT 1 FROM ${worker} WHERE ${dialect.position('sets', 'hash')} > 0
       ))`,
    ],
    params: [name, hash],
  }
}

/** Reads and locks schedules. The keys are found first, so that the locks are taken in key order. */
async function lockSchedules(tx: Context, where: Condition): Promise<StoredSchedule[]> {
  const { schedule } = tx.tables
  const found = await tx.rows<{ id: string }>(`SELECT id FROM ${schedule} WHERE ${where.text}`, where.params)
  const rows = await lockRows<ScheduleRow>(tx, {
    table: schedule,
    columns: scheduleExpressions(tx.dialect),
    ids: found.map((row) => row.id),
    locked: 'wait',
  })
  return rows.map(toSchedule)
}

async function apply(tx: Context, changes: SetChanges): Promise<void> {
  const { schedule } = tx.tables
  for (const created of changes.create.toSorted((a, b) => (a.id < b.id ? -1 : 1)))
    await insertSchedule(tx, created)
  for (const { id, settings } of changes.change) await changeSchedule(tx, id, settings)
  // NULL in planned_from makes the scheduler plan again, from now.
  await updateRows(tx, schedule, { idle: 'NULL', nextrun: 'NULL', planned_from: 'NULL' }, changes.reactivate)
  await retire(tx, changes.retire)
  if (changes.delete.length > 0)
    await tx.run(`DELETE FROM ${schedule} WHERE id IN (${placeholders(changes.delete)})`, changes.delete)
}

async function retire(tx: Context, ids: readonly string[]): Promise<void> {
  if (ids.length === 0) return
  const { schedule } = tx.tables
  const rows = await tx.rows<{ id: string; definition: string }>(
    `SELECT id, definition FROM ${schedule} WHERE id IN (${placeholders(ids)})`,
    ids,
  )
  await updateFromBatch(
    tx,
    schedule,
    { id: 'schedule id', planned_from: 'text' },
    // The schedule is recorded as planned; otherwise, it would look edited and would be planned.
    rows.map((row) => ({ id: row.id, planned_from: row.definition })),
    {
      idle: "'retired'",
      nextrun: 'NULL',
      planned_from: 'b.planned_from',
      planned_nextrun: 'NULL',
      planned_by_hand: '0',
    },
  )
}

function liveOf(version: SetVersion, rows: readonly LiveRow[]): Omit<SetState, 'existing'> {
  const hashes = new Set([version.hash])
  for (const row of rows) {
    if (row.kind !== 'worker') continue
    const declared = textRecordOf(row.said)
    const hash = Object.hasOwn(declared, version.name) ? declared[version.name] : undefined
    if (hash !== undefined) hashes.add(hash)
  }
  const versions = rows
    .filter((row) => row.kind === 'version')
    .filter(({ hash }) => hashes.has(hash))
    .toSorted((a, b) => (inTime(a) < inTime(b) ? -1 : 1))
  return {
    isNewest: versions.at(-1)?.hash === version.hash,
    liveIds: new Set([...versions.flatMap(({ said }) => textsOf(said)), ...version.schedules]),
  }
}

const inTime = (version: VersionRow) => `${version.first_seen} ${version.hash}`

function ofSet({ name, schedules }: SetVersion): Condition {
  if (schedules.length === 0) return { text: 'declared_by = ?', params: [name] }
  return { text: `(declared_by = ? OR id IN (${placeholders(schedules)}))`, params: [name, ...schedules] }
}

function isNothing(changes: SetChanges): boolean {
  return Object.values(changes).every((list) => list.length === 0)
}
