/** Times in SQL: each documented format means the same instant everywhere, and the database rejects other formats. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { text } from 'node:stream/consumers'
import { describe, expect, inject, it } from 'vitest'
import type { DatabaseKind } from '../support/databases.ts'
import { hasProgram } from '../support/not-tested.ts'
import {
  after,
  clock,
  instant,
  job,
  jobRow,
  MINUTE,
  onEachStore,
  one,
  planned,
  schedule,
  type StoreUnderTest,
} from './conformance.ts'

/** The columns that contain times. Each accepts either every documented format or only text that sorts by time. */
const COLUMNS = [
  { table: 'periodic_task', column: 'starts', takes: 'every form' },
  { table: 'periodic_task', column: 'ends', takes: 'every form' },
  { table: 'periodic_task', column: 'nextrun', takes: 'every form' },
  { table: 'periodic_task', column: 'created', takes: 'sorted text' },
  { table: 'job', column: 'run_at', takes: 'every form' },
  { table: 'job', column: 'finished', takes: 'sorted text' },
  { table: 'job', column: 'stop_requested', takes: 'every form' },
] as const
type TimeColumn = (typeof COLUMNS)[number]

const SORTED = [
  ["'2026-11-24 09:00:00'", '2026-11-24T09:00:00Z'],
  ["'2026-11-24 09:00:00.5'", '2026-11-24T09:00:00.500Z'],
  ["'2026-11-24 09:00:00.123'", '2026-11-24T09:00:00.123Z'],
  ["'2024-02-29 00:00:00'", '2024-02-29T00:00:00Z'],
  ["'0001-01-01 00:00:00'", '0001-01-01T00:00:00Z'],
  ["'9999-12-31 23:59:59.999'", '9999-12-31T23:59:59.999Z'],
] as const
const OTHERS = [
  ["'2026-11-24T09:00:00'", '2026-11-24T09:00:00Z'],
  ["'2026-11-24T09:00:00Z'", '2026-11-24T09:00:00Z'],
  ["'2026-11-24 09:00:00Z'", '2026-11-24T09:00:00Z'],
  ["'2026-11-24T09:00:00.123Z'", '2026-11-24T09:00:00.123Z'],
  ["'2026-11-24T00:30:00+01:00'", '2026-11-23T23:30:00Z'],
  ["'2026-12-31 23:30:00.250-05:30'", '2027-01-01T05:00:00.250Z'],
  ["'2026-11-24T09:00:00+00:00'", '2026-11-24T09:00:00Z'],
] as const

const NO_DATES = [
  "'0000-00-00 00:00:00'",
  "'2026-02-30 09:00:00'",
  "'2026-02-29 09:00:00.000'",
  "'2026-04-31 09:00:00'",
  "'2026-13-01 09:00:00'",
  "'2026-00-10 09:00:00'",
  "'2026-11-00 09:00:00'",
  "'2026-11-24 24:00:00'",
  "'2026-11-24 09:00:60'",
  "'24.11.2026 09:00'",
  "''",
  "'tomorrow'",
  "'now'",
  '1763974800',
  '0',
]
const ONLY_ON_SQLITE = [
  "'2026-11-24 09:00:00.123456'",
  "'2026-11-30 23:59:59.9999'",
  "'2026-11-24T09:00:00.1234Z'",
  "'2026-02-30T09:00:00Z'",
  "'2026-11-24 9:00:00'",
  "'2026-11-24'",
  "'2026-11-24 09:00'",
  "'09:00:00'",
  "'2026/11/24 09:00:00'",
  "'2026-11-24  09:00:00'",
  "' 2026-11-24 09:00:00'",
  "'2026-11-24 09:00:00 '",
  "'2026-11-24t09:00:00'",
  "'2026-11-24 09:00:00z'",
  "'2026-11-24 09:00:00 Z'",
  "'2026-11-24T09:00:00+0100'",
  "'2026-11-24T09:00:00+01'",
  "'2026-11-24T09:00:00+15:00'",
  "'2026-11-24T09:00:00+01:60'",
  "'2026-11-24T09:00:00Z+01:00'",
  "'2026-11-24 09:00 UTC'",
  "'2026-11-24 09:00:00 UTC'",
  "'2026-11-24 09:00:00.'",
  "'2026-11-24 09:00:00.1.2'",
  "'2026-11-24 09:00:00' || char(0)",
  "'2026-11-24 09:00:00.000' || char(0) || 'x'",
  "'0000-01-01 00:00:00'",
  "'10000-01-01 00:00:00'",
  "'9999-12-31 23:59:59-01:00'",
  "'9999-12-31 23:59:59.9999'",
  "'subsec'",
  'unixepoch() - 60',
  "julianday('now')",
  '2461003.5',
  "date('now')",
  "x'323032362d31312d32342030393a30303a3030'",
]

const KEYS = {
  periodic_task: "(id, task, timer, {column}) VALUES ('new', 't', 'daily', {value})",
  job: "(id, task, {column}) VALUES ('new', 't', {value})",
}

const insertOf = ({ table, column }: TimeColumn, value: string) =>
  `INSERT INTO ${table} ${KEYS[table].replace('{column}', column).replace('{value}', value)}`
const updateOf = ({ table, column }: TimeColumn, value: string) =>
  `UPDATE ${table} SET ${column} = ${value} WHERE id = 'there'`

/** Matches an error that names the column and the remedy. Servers have their own errors for invalid dates. */
const messageOf = (kind: DatabaseKind, { column }: TimeColumn) =>
  kind === 'sqlite'
    ? // Generated columns reject 'now' first.
      new RegExp(`${column}: write UTC as YYYY-MM-DD HH:MM:SS|non-deterministic use`)
    : new RegExp(`${column}_date|Incorrect datetime value.*column .*${column}`)

/** The value of the column as returned by the library. */
async function read({ store }: StoreUnderTest, { column }: TimeColumn): Promise<Date | null | undefined> {
  const [task, run] = [await store.schedules.get('there'), await store.jobs.get('there')]
  return {
    starts: task?.starts,
    ends: task?.ends,
    nextrun: task?.nextRunAt,
    created: task?.createdAt,
    run_at: run?.runAt,
    finished: run?.finishedAt,
    stop_requested: run?.stopRequestedAt,
  }[column]
}

onEachStore((under) => {
  const noTimes = under.kind === 'sqlite' ? [...NO_DATES, ...ONLY_ON_SQLITE] : NO_DATES
  const rejected = {
    'every form': noTimes,
    'sorted text': under.kind === 'sqlite' ? [...noTimes, ...OTHERS.map(([value]) => value)] : noTimes,
  }

  async function rows(): Promise<void> {
    await planned(under, 'there', null)
    await job(under, 'there')
  }

  /** Fails if the database accepts the value in the column, in an INSERT or an UPDATE. */
  async function expectRejected(timeColumn: TimeColumn, value: string): Promise<void> {
    const message = messageOf(under.kind, timeColumn)
    for (const statement of [insertOf(timeColumn, value), updateOf(timeColumn, value)])
      await expect(under.query(statement), statement).rejects.toThrow(message)
    expect(await under.query(`SELECT id FROM ${timeColumn.table}`)).toEqual([{ id: 'there' }])
  }

  describe.each(COLUMNS)('$table.$column', (timeColumn) => {
    const { takes } = timeColumn
    const forms = under.kind === 'sqlite' && takes === 'every form' ? [...SORTED, ...OTHERS] : SORTED

    it.each(forms)('accepts %s as %s', async (value, meaning) => {
      await rows()
      await under.query(updateOf(timeColumn, value))
      expect(await read(under, timeColumn)).toEqual(new Date(meaning))
      await under.query(insertOf(timeColumn, value))
    })

    it('rejects invalid times in an INSERT and an UPDATE [L69]', async () => {
      await rows()
      const before = await read(under, timeColumn)
      for (const value of rejected[takes]) await expectRejected(timeColumn, value)
      expect(await read(under, timeColumn)).toEqual(before)
    })

    if (under.kind !== 'sqlite')
      it.each(['', 'ALLOW_INVALID_DATES', 'STRICT_TRANS_TABLES,ALLOW_INVALID_DATES', 'STRICT_ALL_TABLES'])(
        'rejects zero dates and dates that do not exist, with sql_mode %j [L69]',
        async (mode) => {
          await rows()
          const { mode: before } = await one(under, 'SELECT @@SESSION.sql_mode AS mode')
          under.afterwards(() => under.query('SET SESSION sql_mode = ?', [before]))
          await under.query('SET SESSION sql_mode = ?', [mode])
          for (const value of rejected[takes]) await expectRejected(timeColumn, value)
        },
      )
  })

  it("every millisecond is accepted, and so is the database's current time", async () => {
    await rows()
    const values =
      under.kind === 'sqlite'
        ? [
            ...Array.from(
              { length: 1000 },
              (_, ms) => `'2026-11-24 09:00:59.${String(ms).padStart(3, '0')}'`,
            ),
            "datetime('now')",
            "strftime('%Y-%m-%d %H:%M:%f', 'now', '+1 hour')",
            'CURRENT_TIMESTAMP',
          ]
        : ['UTC_TIMESTAMP(3)', 'UTC_TIMESTAMP() + INTERVAL 1 HOUR']
    for (const value of values) {
      await under.query(`UPDATE job SET run_at = ${value}, finished = ${value}, stop_requested = ${value}`)
      await under.query(`UPDATE periodic_task SET starts = ${value}, ends = ${value}, nextrun = ${value}`)
    }
  })

  it('a job that was finished in SQL is found by its finish time, whatever the precision of that time', async () => {
    await job(under, 'early', { state: 'cancelled', finished: '2026-11-24 08:59:59.999' })
    await job(under, 'whole', { state: 'cancelled', finished: '2026-11-24 09:00:00.5' })
    await job(under, 'late', { state: 'cancelled', finished: '2026-11-24 10:00:00' })
    const bounds = {
      finishedFrom: new Date('2026-11-24T09:00:00Z'),
      finishedTo: new Date('2026-11-24T09:59:59Z'),
    }
    const { items } = await under.store.lists.jobs({ limit: 10, ...bounds })
    expect(items.map(({ id }) => id)).toEqual(['whole'])
    const { hours } = await under.store.lists.finishedPerHour(bounds)
    expect(hours).toEqual([{ hour: bounds.finishedFrom, state: 'cancelled', jobs: 1 }])
  })

  if (under.kind === 'sqlite') {
    it.each(OTHERS)('a planned schedule wakes at nextrun = %s [L42]', async (value, meaning) => {
      const time = new Date(meaning)
      await planned(under, 's', time)
      await under.query(`UPDATE periodic_task SET nextrun = ${value}`)
      expect(instant((await schedule(under, 's'))['wake_at'])).toEqual(time)
      expect(await under.store.scheduling.look([])).toMatchObject({ wakeAt: time })
    })

    it.each(OTHERS)('a job with run_at = %s is due then [L42]', async (value, meaning) => {
      await job(under, 'j')
      await under.query(`UPDATE job SET run_at = ${value}`)
      expect(instant((await jobRow(under, 'j'))['due_at'])).toEqual(new Date(meaning))
      expect(await under.store.scheduling.look([])).toMatchObject({ dueAt: new Date(meaning) })
    })

    it('a job whose time has an offset starts at the instant that the time denotes, not at the local time in the text [L42]', async () => {
      const now = await clock(under)
      /** The local time, with its offset, in a zone this many hours ahead of UTC. */
      const wall = (time: Date, hours: number) =>
        `${after(time, hours * 60 * MINUTE)
          .toISOString()
          .slice(0, 19)}${hours < 0 ? '-' : '+'}${String(Math.abs(hours)).padStart(2, '0')}:00`
      for (const hours of [14, -12]) {
        await job(under, `ago ${hours}`, { run_at: wall(after(now, -MINUTE), hours) })
        await job(under, `soon ${hours}`, { run_at: wall(after(now, 10 * MINUTE), hours) })
      }
      expect(await under.store.executing.promoteDue(10)).toBe(2)
      expect(await under.query('SELECT id FROM job WHERE run_at IS NULL ORDER BY id')).toEqual([
        { id: 'ago -12' },
        { id: 'ago 14' },
      ])
    })

    it('the bounds of a schedule mean the same in planning and in views, in every format', async () => {
      const ends = new Date('2030-01-01T00:30:00Z')
      for (const [id, text] of [
        ['a', '2030-01-01 00:30:00'],
        ['b', '2030-01-01T00:30:00.000Z'],
        ['c', '2029-12-31T23:30:00-01:00'],
      ] as const)
        await planned(under, id, await clock(under), { ends: text, planned_from: null })
      const { groups } = await under.store.lists.timerGroups({})
      expect(groups.map((group) => group.ends)).toEqual([ends])
      const { scheduling } = under.store
      const seen: (Date | null)[] = []
      await scheduling.submit('w/1', await scheduling.markDue('w/1', 10, MINUTE), (row) => {
        seen.push(row.ends)
        return null
      })
      expect(seen).toEqual([ends, ends, ends])
    })

    it("Debian's sqlite3 client accepts and rejects the same values as the driver [L69]", async () => {
      if (!(await hasProgram(inject('testRun'), "times written with Debian's sqlite3 client", 'sqlite3')))
        return
      await rows()
      for (const timeColumn of COLUMNS) {
        const { table, column, takes } = timeColumn
        const bad = rejected[takes].flatMap((value) => [
          insertOf(timeColumn, value),
          updateOf(timeColumn, value),
        ])
        const { errors } = await sqlite3(under.url, bad)
        expect(errors.filter((line) => messageOf('sqlite', timeColumn).test(line))).toHaveLength(bad.length)
        expect(await under.query(`SELECT id FROM ${table}`)).toEqual([{ id: 'there' }])
        const values = (takes === 'every form' ? [...SORTED, ...OTHERS] : SORTED).map(([value]) => value)
        const good = values.flatMap((value) => [
          updateOf(timeColumn, value),
          `SELECT ${column} FROM ${table}`,
        ])
        expect(await sqlite3(under.url, good)).toEqual({
          output: values.map((value) => value.slice(1, -1)),
          errors: [],
        })
      }
    })
  }
})

/** Runs all statements in order, even after an error. @returns the lines printed by the client */
async function sqlite3(
  url: string,
  statements: readonly string[],
): Promise<{ readonly output: string[]; readonly errors: string[] }> {
  const client = spawn('sqlite3', ['-batch', '-init', '/dev/null', url.slice('sqlite:'.length)])
  const closed = once(client, 'close')
  client.stdin.end(['.timeout 30000', ...statements.map((statement) => `${statement};`)].join('\n'))
  const [output, errors] = await Promise.all([text(client.stdout), text(client.stderr), closed])
  const lines = (printed: string) => printed.split('\n').filter((line) => line !== '')
  return { output: lines(output), errors: lines(errors) }
}
