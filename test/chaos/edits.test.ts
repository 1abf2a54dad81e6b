/** Manual edits: each one can be written, the tables reject invalid values, and the journal records every change. */
import { afterEach, expect, it } from 'vitest'
import type { Ground, Journal } from '../../bench/chaos/fault.ts'
import { EDIT_KINDS, REFUSED } from '../../bench/chaos/faults/edit-kinds.ts'
import { update } from '../../bench/chaos/faults/editing.ts'
import { editFaults } from '../../bench/chaos/faults/edits.ts'
import { randomOf } from '../../bench/chaos/random.ts'
import type { RowText } from '../../bench/chaos/record.ts'
import { openAccess } from '../../bench/chaos/targets/access.ts'
import { Kalends } from '../../src/index.ts'
import { ADOPT, eachDatabase } from '../support/databases.ts'

type Written = Parameters<Journal['write']>[0]

interface Scene {
  readonly ground: Ground
  readonly journal: Written[]
  readonly edits: () => Written[]
}

const NOW = Date.UTC(2026, 10, 21, 12)

eachDatabase(({ kind, fresh }) => {
  const ends: (() => Promise<void>)[] = []
  afterEach(async () => {
    for (const end of ends.splice(0).toReversed()) await end()
  })

  async function scene(): Promise<Scene> {
    const database = await fresh()
    ends.push(database.drop)
    await Kalends.migrate(database.url)
    const access = await openAccess(database.url)
    ends.push(() => access.close())
    const journal: Written[] = []
    const ground: Ground = {
      target: {
        kind,
        name: kind,
        leftOut: {},
        ways: [],
        environment: {},
        query: access.query,
        transaction: (work) => access.transaction(work),
        deadlocks: () => Promise.resolve(null),
        faults: [],
        close: () => access.close(),
      },
      fleet: { members: [], take: () => null, release: () => {} },
      journal: { write: (entry) => journal.push(entry) },
      leaseMs: 4000,
      pollIntervalMs: 1000,
      pause: () => Promise.resolve(),
    }
    for (const id of ['edit-1', 'edit-2', 'edit-3']) {
      await access.query("INSERT INTO periodic_task (id, task, timer) VALUES (?, 'tick', '*:*:*')", [id])
      for (const [index, state] of ['success', 'failed', 'running', 'waiting'].entries())
        await access.query(
          'INSERT INTO job (id, periodic_task_id, slot, task, state, exclusive, finished) VALUES (?, ?, ?, ?, ?, 0, ?)',
          [
            `${id}-${index}`,
            id,
            `2026-11-21 12:00:0${index}.000`,
            'tick',
            state,
            index < 2 ? '2026-11-21 12:00:09.000' : null,
          ],
        )
    }
    await access.query(ADOPT)
    return { ground, journal, edits: () => journal.filter((entry) => entry.kind === 'edit') }
  }

  it.each(EDIT_KINDS)('$name', async ({ columns, repair }) => {
    const { ground, edits } = await scene()
    for (let seed = 1; seed <= 8; seed += 1) {
      const random = randomOf(seed)
      const [row] = await ground.target.query("SELECT * FROM periodic_task WHERE id = 'edit-1'")
      if (row === undefined) throw new Error('the schedule no longer exists')
      const situation = { random, row, now: NOW, workers: seed % 2 === 0 ? ['w1/1'] : [] }
      for (const make of [columns, ...(repair === undefined ? [] : [repair])]) {
        const wanted = make(situation)
        const { row: after } = await update(ground, 'periodic_task', 'edit-1', wanted)
        expect(after).toMatchObject(wanted)
        if (Object.keys(wanted).length > 0)
          expect(edits().at(-1)).toMatchObject({ columns: wanted, row: after })
      }
    }
  })

  it.each(REFUSED)('$table: $columns is rejected', async ({ table, columns }) => {
    const { ground, edits } = await scene()
    const id = table === 'job' ? 'edit-1-0' : 'edit-1'
    const rows = async () => await ground.target.query(`SELECT * FROM ${table} ORDER BY id`)
    const before = await rows()
    await expect(update(ground, table, id, columns)).rejects.toThrow()
    expect(await rows()).toEqual(before)
    expect(edits()).toEqual([])
  })

  it.each(editFaults)('$name', async (fault) => {
    const { ground, journal } = await scene()
    const jobs = async () =>
      new Set((await ground.target.query('SELECT id FROM job')).map((row) => row['id']))
    const before = await jobs()
    for (let seed = 1; seed <= 12; seed += 1) {
      const report = await fault.run(ground, randomOf(seed))
      expect(report.trouble).toBeUndefined()
      expect(report.hit).toMatch(/^edit-/)
    }
    // No other clients are connected, so each edit finds the row as the previous edit left it.
    const left = new Map<string, RowText | null>()
    for (const entry of journal) {
      if (entry.kind !== 'edit') continue
      const key = `${entry.table} ${entry.id}`
      const found = left.get(key)
      if (found !== undefined && found !== entry.before) expect(entry.before).toEqual(found)
      expect(entry.from).toBeLessThanOrEqual(entry.until)
      left.set(key, entry.row)
    }
    // The journal contains each deleted job exactly once.
    const gone = [...before].filter(
      (
        (now) => (id) =>
          !now.has(id)
      )(await jobs()),
    )
    const told = journal.flatMap((entry) =>
      entry.kind === 'prune'
        ? entry.jobs.map((job) => job['id'])
        : entry.kind === 'edit' && entry.table === 'job' && entry.columns === 'delete'
          ? [entry.id]
          : [],
    )
    expect(new Set(told)).toEqual(new Set(gone))
    expect(told).toHaveLength(gone.length)
  })
})
