/**
 * With 250,000 schedules and 250,000 jobs, the number of statements for a page is limited. Each statement reads short
 * ranges of an index or, if no index matches, one bounded range.
 */
import { createConnection, type Connection, type RowDataPacket } from 'mysql2/promise'
import { beforeAll, expect, it } from 'vitest'
import { STATUSES } from '../../src/model/states.ts'
import type { JobQuery, ScheduleQuery } from '../../src/store/list-store.ts'
import { Views } from '../../src/views/views.ts'
import { eachDatabase, type TestDatabase } from '../support/databases.ts'
import { type Recording, recording } from './recording.ts'

const ROWS = 250_000
const SORTS = /filesort|temporary|TEMP B-TREE FOR (?:ORDER BY|RIGHT PART)/i

eachDatabase(({ kind, bare }) => {
  let database: TestDatabase
  let recorded: Recording
  let views: Views
  const schedules = (query: ScheduleQuery = {}) => recorded.store.lists.schedules({ ...query, limit: 100 })
  const jobs = (query: JobQuery = {}) => recorded.store.lists.jobs({ ...query, limit: 100 })
  let side: Connection | undefined

  beforeAll(async () => {
    database = await bare()
    const { openStore } = await import('../support/open-store.ts')
    await (await openStore(database.url)).close()
    await fill(database)
    recorded = await recording(database.url)
    views = new Views(recorded.store.lists)
    if (kind !== 'sqlite') side = await createConnection({ uri: database.url, dateStrings: true })
    if (kind === 'mysql') await side?.query("SET explain_format = 'TRADITIONAL'")
    return async () => {
      await side?.end()
      await recorded.store.close()
      await database.drop()
    }
  }, 900_000)

  /** Runs the work and returns its duration and statements. */
  const measured = async (work: () => Promise<unknown>) => {
    recorded.statements.length = 0
    const began = performance.now()
    const result = await work()
    return { ms: performance.now() - began, statements: [...recorded.statements], result }
  }

  /** The steps of the query plan of a statement. */
  const plan = async (statement: string): Promise<{ key: string; rows: number; text: string }[]> => {
    if (side === undefined) {
      const rows = await database.query(`EXPLAIN QUERY PLAN ${statement}`)
      return rows.map(({ detail }) => ({
        key: /USING (?:COVERING )?INDEX (\S+)/.exec(String(detail))?.[1] ?? '',
        rows: 0,
        text: String(detail),
      }))
    }
    const [rows] = await side.query<RowDataPacket[]>(`EXPLAIN ${statement}`)
    return rows.map((row) => ({
      key: String(row['key']),
      rows: Number(row['rows']),
      text: JSON.stringify(row),
    }))
  }

  const readsBy = async (statements: readonly string[], index: RegExp) => {
    // A search reads slices of up to 5,000 rows, or smaller ones on a slow server. A page without a filter takes up to
    // five statements: two for the total, two for the keys of the page (with and without an instant), and one for its
    // rows.
    const isSearch = statements.some((statement) => statement.includes('CASE WHEN 1 = 1'))
    expect(statements.length).toBeLessThanOrEqual(isSearch ? 2 * 100 : 5)
    for (const statement of isSearch ? statements.slice(0, 4) : statements) {
      if (/ WHERE id IN \(/.test(statement)) continue
      const steps = await plan(statement)
      const reading = steps.filter(({ text }) => /periodic_task|\bjob\b|job_/.test(text))
      const keys = reading.map(({ key }) => key)
      expect(
        keys.some((key) => index.test(key)),
        `${statement}\n${JSON.stringify(steps, null, 1)}`,
      ).toBe(true)
      // Only the page or the result of a bounded search is sorted, never a table.
      const inner = steps.filter(({ text }) => /"table":"(?:job|periodic_task)"/.test(text))
      // On MariaDB, a schedule's jobs without a slot are also sorted; such jobs can only be inserted in SQL.
      if (!statement.includes('slot IS NULL')) for (const { text } of inner) expect(text).not.toMatch(SORTS)
      for (const { text } of steps)
        if (kind === 'sqlite') expect(text).not.toMatch(/SCAN (?:job|periodic_task)$/)
    }
  }

  const primary = kind === 'sqlite' ? /^sqlite_autoindex_\w+_1$/ : /^PRIMARY$/
  const pages: [name: string, work: () => Promise<unknown>, index: RegExp][] = [
    ['all schedules', () => schedules(), primary],
    ['schedules after an id', () => schedules({ after: 's0200000' }), primary],
    [
      'failed jobs after a position in the list',
      () => jobs({ state: 'failed', after: '2026-03-02 00:00:00.000/j0200000' }),
      /job_state$/,
    ],
    ['active schedules', () => schedules({ status: 'active' }), /periodic_task_status$/],
    ['dead schedules', () => schedules({ status: 'dead' }), /periodic_task_status$/],
    ['schedules of a task', () => schedules({ task: 'task 3' }), /periodic_task_task$/],
    ['schedules of a group', () => schedules({ group: 'group 3' }), /periodic_task_group$/],
    ['schedules of a submitter', () => schedules({ submitter: 'user 3' }), /periodic_task_submitter$/],
    [
      'dead schedules of a task',
      () => schedules({ status: 'dead', task: 'task 3' }),
      /periodic_task_status$/,
    ],
    ['schedules by next run', () => schedules({ order: 'nextRunAt' }), /periodic_task_wake_at$/],
    [
      'schedules by next run, after a position in the list',
      () => schedules({ order: 'nextRunAt', after: '1970-01-01 00:00:00.000/s0200000' }),
      /periodic_task_wake_at$/,
    ],
    [
      'schedules without a next run',
      () => schedules({ order: 'nextRunAt', after: '/s0100000' }),
      /periodic_task_wake_at$/,
    ],
    ['a text that is nowhere', () => schedules({ text: 'nowhere' }), primary],
    ['all jobs', () => jobs(), primary],
    ['successful jobs', () => jobs({ state: 'success' }), /job_state$/],
    ['failed jobs', () => jobs({ state: 'failed' }), /job_state$/],
    ['jobs of a task', () => jobs({ task: 'task 3' }), /job_task$/],
    ['failed jobs of a task', () => jobs({ task: 'task 3', state: 'failed' }), /job_state$/],
    ['jobs of a schedule', () => jobs({ scheduleId: 's0000005' }), /job_schedule$/],
    [
      'jobs of a schedule after a position in the list',
      () => jobs({ scheduleId: 's0000005', after: '2026-03-02 00:00:00.000/j0200000' }),
      /job_schedule$/,
    ],
    ['jobs of a submitter', () => jobs({ submitter: 'user 3' }), /job_submitter$/],
    ['jobs by id prefix', () => jobs({ id: 'j02' }), primary],
    ['jobs by their error', () => jobs({ error: 'nowhere' }), primary],
    ['failed jobs by their error', () => jobs({ state: 'failed', error: 'nowhere' }), /job_state$/],
    [
      'jobs that ended in an hour',
      () =>
        jobs({
          finishedFrom: new Date('2026-03-01T10:00:00Z'),
          finishedTo: new Date('2026-03-01T11:00:00Z'),
        }),
      /job_state$/,
    ],
    [
      'jobs that ended at or after an instant',
      () =>
        jobs({
          finishedFrom: new Date('2026-03-01T10:00:00Z'),
          after: '2026-03-02 00:00:00.000/j0086400',
        }),
      /job_state$/,
    ],
    ['jobs of a worker', () => jobs({ worker: 'w/1' }), /job_state$/],
  ]

  it.each(pages)('%s', async (name, work, index) => {
    await work()
    const { ms, statements } = await measured(work)
    process.stderr.write(`${kind} ${name}: ${ms.toFixed(0)} ms\n`)
    // The duration is printed but not checked: a limit would be exceeded on a busy machine, and the query plan
    // determines the duration anyway.
    await readsBy(statements, index)
  })

  // A search sends a statement for each slice of its range, and the slices grow as long as they are read quickly.
  it.each<[string, mostStatements: number, () => Promise<unknown>]>([
    ['schedules by status', STATUSES.length, () => recorded.store.lists.scheduleCounts({})],
    ['schedules of a task by status', 100, () => recorded.store.lists.scheduleCounts({ task: 'task 3' })],
    ['jobs by state', 8, () => recorded.store.lists.jobCounts({})],
    ['jobs of a task by state', 100, () => recorded.store.lists.jobCounts({ task: 'task 3' })],
    ['failures by error', 100, () => views.failures()],
    [
      'the runs of a page',
      1,
      () =>
        views.recentRuns(
          Array.from({ length: 100 }, (_, index) => `s${String(index).padStart(7, '0')}`),
          20,
        ),
    ],
    ['tasks', 1, () => views.tasks()],
    ['a week', 400, () => views.load({ from: new Date('2026-03-01T00:00:00Z'), hours: 168 })],
    ['what changed', 4, () => views.changeTokens()],
  ])('%s: at most %i statements', async (name, mostStatements, work) => {
    await work()
    const { ms, statements } = await measured(work)
    process.stderr.write(`${kind} ${name}: ${ms.toFixed(0)} ms, ${statements.length} statements\n`)
    expect(statements.length).toBeLessThanOrEqual(mostStatements)
  })
})

/** Fills the tables with only a few statements, by repeatedly doubling a table of numbers. */
async function fill(database: TestDatabase): Promise<void> {
  const isSqlite = database.kind === 'sqlite'
  const text = (...parts: string[]) => (isSqlite ? parts.join(' || ') : `CONCAT(${parts.join(', ')})`)
  const padded = (number: string) => (isSqlite ? `printf('%07d', ${number})` : `LPAD(${number}, 7, '0')`)
  const minutes = (number: string) =>
    isSqlite
      ? `strftime('%Y-%m-%d %H:%M:%f', '2026-03-01 00:00:00', '+' || (${number}) || ' seconds')`
      : `TIMESTAMPADD(SECOND, ${number}, '2026-03-01 00:00:00.000')`
  await database.query('CREATE TABLE numbers (n INTEGER PRIMARY KEY)')
  await database.query('INSERT INTO numbers VALUES (0)')
  for (let count = 1; count < ROWS; count *= 2)
    await database.query(`INSERT INTO numbers SELECT n + ${count} FROM numbers WHERE n + ${count} < ${ROWS}`)
  await database.query(
    `INSERT INTO periodic_task (id, uid, task, timer, group_, submitter, summary, idle, enabled, nextrun, planned_from)
     SELECT ${text("'s'", padded('n'))}, ${text("'s'", padded('n'))}, ${text("'task '", '(n % 10)')}, CASE WHEN n % 3 = 0 THEN 'daily' ELSE 'hourly' END, ${text("'group '", '(n % 100)')}, ${text("'user '", '(n % 1000)')}, 'Does what it does', CASE WHEN n % 5000 = 1 THEN 'dead' END, CASE WHEN n % 50 = 0 THEN 0 ELSE 1 END, ${minutes('n')}, NULL FROM numbers`,
  )
  await database.query(
    `INSERT INTO job (id, exclusive, task, group_, submitter, periodic_task_id, periodic_task_uid, slot, state, worker, finished, error)
     SELECT ${text("'j'", padded('n'))}, 0, ${text("'task '", '(n % 10)')}, ${text("'group '", '(n % 100)')}, ${text("'user '", '(n % 1000)')}, ${text("'s'", padded('n % 10000'))}, ${text("'s'", padded('n % 10000'))}, ${minutes('n')}, CASE WHEN n % 100 = 7 THEN 'failed' WHEN n % 100000 = 5 THEN 'running' ELSE 'success' END, CASE WHEN n % 100000 = 5 THEN 'w/1' END, CASE WHEN n % 100000 = 5 THEN NULL ELSE ${minutes('n')} END, CASE WHEN n % 100 = 7 THEN 'Error: no disk' END FROM numbers`,
  )
  await database.query('DROP TABLE numbers')
  if (!isSqlite) await database.query('ANALYZE TABLE periodic_task, job')
}
