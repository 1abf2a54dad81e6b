/** Every write with `tx`, with each option that changes its statements, does the same as without `tx`. */
import { drizzle } from 'drizzle-orm/mysql2'
import { drizzle as proxy } from 'drizzle-orm/sqlite-proxy'
import mysqlCallbacks from 'mysql2'
import mysql from 'mysql2/promise'
import { describe, expect, it, onTestFinished } from 'vitest'
import { type Kalends, type Scope, task, type Transaction, type TransactionOption } from '../../src/index.ts'
import { scene } from '../kalends/scene.ts'
import { insert } from '../store/conformance.ts'
import { databases, type TestDatabase } from '../support/databases.ts'
import { columnsOf, openSqlite, type SqliteTestConnection } from '../support/sqlite.ts'

const mail = task('mail')

type Api = Pick<Kalends & Scope, 'schedules' | 'jobs'>

type KeysOf<Value> = Value extends unknown ? keyof Value : never
/** The methods that accept an object with `tx`. */
type WritersOf<Class> = {
  [Name in keyof Class & string]: Class[Name] extends (...given: infer Given) => unknown
    ? 'tx' extends KeysOf<Given[number]>
      ? Name
      : never
    : never
}[keyof Class & string]
type Writer = {
  [Part in keyof Kalends & string]: WritersOf<Kalends[Part]> extends infer Name extends string
    ? `${Part}.${Name}`
    : never
}[keyof Kalends & string]

interface Before {
  /** Settings of the schedule `id`; default: none. */
  readonly settings?: { readonly timer?: string; readonly enabled?: boolean }
  /** Columns of its row. */
  readonly row?: Readonly<Record<string, string | number>>
  /** Columns of its jobs. */
  readonly jobs?: readonly Readonly<Record<string, string | number>>[]
}
type Write = (api: Api, id: string, option: TransactionOption) => Promise<unknown>
type Case = Write | (Before & { readonly write: Write })

const input = { task: mail, timer: 'yearly', summary: `it's "größer" 😀` } as const
const WAITING = { state: 'waiting' }
const BLOCKED = { state: 'blocked' }
const RUNNING = { state: 'running', worker: 'w/1', attempt: 1, claim: 1 }
const RETRYING = { state: 'waiting', attempt: 2, run_at: '2099-01-01 00:00:00.000', error: 'größer' }
const EXTERNAL = { state: 'external', queue: 'q' }
const REPEATED = { timer: 'every 1h after finish' } as const
const AWAITING = { idle: 'awaiting-finish' }
/** Each set of open jobs that a schedule may have, with the settings that allow it. */
const OPEN: Readonly<Record<string, Before>> = {
  'no open job': {},
  'a waiting job': { jobs: [WAITING] },
  'a job that is retried': { jobs: [RETRYING], row: { retry_at: '2099-01-01 00:00:00.000', retry: 2 } },
  'a running and a blocked job': { row: { overlap: 'queue-one' }, jobs: [RUNNING, BLOCKED] },
  'a waiting job that blocks': { row: { overlap: 'replace' }, jobs: [WAITING, BLOCKED, BLOCKED] },
  'a job in an external queue': { jobs: [EXTERNAL, BLOCKED] },
  'overlapping jobs': {
    row: { overlap: 'allow' },
    jobs: [RUNNING, WAITING, RETRYING].map((job) => ({ ...job, exclusive: 0 })),
  },
  'a queued job whose finish counts': { settings: REPEATED, jobs: [WAITING], row: AWAITING },
  'a running job whose finish counts': { settings: REPEATED, jobs: [RUNNING, BLOCKED], row: AWAITING },
}
const onEach = (name: string, write: Write, more: Before = {}): Record<string, Case> =>
  Object.fromEntries(
    Object.entries(OPEN).map(([jobs, before]) => [
      `${name}, ${jobs}`,
      {
        settings: { ...before.settings, ...more.settings },
        row: { ...before.row, ...more.row },
        jobs: before.jobs ?? [],
        write,
      },
    ]),
  )

const create: Record<string, Case> = {
  'a new id': ({ schedules }, id, option) => schedules.create({ ...input, id: `${id}2` }, option),
  'no id': ({ schedules }, _, option) => schedules.create(input, option),
  'an id that is in use': ({ schedules }, id, option) => schedules.create({ ...input, id }, option),
  'the same schedule': ({ schedules }, id, option) =>
    schedules.create({ ...input, id, ifExists: 'same' }, option),
  'a different schedule': ({ schedules }, id, option) =>
    schedules.create({ ...input, id, priority: 1, ifExists: 'same' }, option),
  'no such schedule yet': ({ schedules }, id, option) =>
    schedules.create({ ...input, id: `${id}2`, ifExists: 'same' }, option),
  'a first run that is due': ({ schedules }, id, option) =>
    schedules.create({ task: mail, timer: 'every 1h', firstRun: 'now', id: `${id}2` }, option),
}

const WRITERS: Readonly<Record<Writer, Readonly<Record<string, Case>>>> = {
  'schedules.create': create,
  'schedules.createOrFind': {
    'a new id': ({ schedules }, id, option) => schedules.createOrFind({ ...input, id: `${id}2` }, option),
  },
  'schedules.put': {
    'a new id': ({ schedules }, id, option) => schedules.put(`${id}2`, input, option),
    'no change': ({ schedules }, id, option) => schedules.put(id, input, option),
    'the wrong version': ({ schedules }, id, option) =>
      schedules.put(id, { ...input, priority: 1 }, { ...option, ifVersion: 'another' }),
    'the version null': ({ schedules }, id, option) =>
      schedules.put(`${id}2`, input, { ...option, ifVersion: null }),
    'the schedule as its version': async ({ schedules }, id, option) =>
      schedules.put(id, { ...input, priority: 1 }, { ...option, ifVersion: await schedules.get(id) }),
    ...onEach('a timer', ({ schedules }, id, option) =>
      schedules.put(id, { ...input, timer: 'every 2h after finish' }, option),
    ),
  },
  'schedules.update': {
    'an unknown id': ({ schedules }, _, option) => schedules.update('nobody', { priority: 1 }, option),
    'all kinds of settings': ({ schedules }, id, option) =>
      schedules.update(
        id,
        {
          task: 'mail',
          args: { deep: ['größer'] },
          overlap: 'replace',
          starts: new Date('2031-02-03T04:05:06.789Z'),
          maxRuns: 3,
        },
        option,
      ),
    'the wrong version': ({ schedules }, id, option) =>
      schedules.update(id, { priority: 1 }, { ...option, ifVersion: 'another' }),
    ...onEach('a timer', ({ schedules }, id, option) =>
      schedules.update(id, { timer: 'every 2h after finish' }, option),
    ),
  },
  'schedules.delete': {
    'an unknown id': ({ schedules }, _, option) => schedules.delete('nobody', option),
    'the wrong version': ({ schedules }, id, option) =>
      schedules.delete(id, { ...option, ifVersion: 'another' }),
    ...onEach('a schedule', ({ schedules }, id, option) => schedules.delete(id, option)),
  },
  'schedules.pause': {
    'a paused schedule': {
      settings: { enabled: false },
      write: ({ schedules }, id, option) => schedules.pause(id, option),
    },
    ...onEach('leave', ({ schedules }, id, option) => schedules.pause(id, { ...option, reason: 'größer' })),
    ...onEach('cancel', ({ schedules }, id, option) => schedules.pause(id, { ...option, jobs: 'cancel' })),
  },
  'schedules.resume': {
    'an active schedule': ({ schedules }, id, option) => schedules.resume(id, option),
    ...onEach('a paused schedule', ({ schedules }, id, option) => schedules.resume(id, option), {
      settings: { enabled: false },
    }),
  },
  'schedules.reset': {
    'an active schedule': ({ schedules }, id, option) => schedules.reset(id, option),
    ...onEach('a dead schedule', ({ schedules }, id, option) => schedules.reset(id, option), {
      row: { idle: 'dead', run_count: 5, error_count: 3, last_error: 'größer' },
    }),
  },
  'schedules.runNow': {
    ...onEach('a run', ({ schedules }, id, option) => schedules.runNow(id, option)),
    'args of this run': ({ schedules }, id, option) =>
      schedules.runNow(id, { ...option, args: { of: 'größer' } }),
    'a paused schedule': {
      settings: { enabled: false },
      write: ({ schedules }, id, option) => schedules.runNow(id, option),
    },
    'the wrong version': ({ schedules }, id, option) =>
      schedules.runNow(id, { ...option, ifVersion: 'another' }),
  },
  'jobs.submit': {
    'a task': ({ jobs }, id, option) =>
      jobs.submit(mail, { of: 'größer' }, { ...option, id: `job of ${id}` }),
    'a task with a queue': ({ jobs }, id, option) => jobs.submit('queued', {}, { ...option, subject: id }),
    'a delay': ({ jobs }, id, option) => jobs.submit({ task: mail, delay: '1h', subject: id, ...option }),
    'an id that is in use': ({ jobs }, id, option) =>
      jobs.submit(mail, {}, { ...option, id: `taken by ${id}` }),
  },
  'jobs.submitMany': {
    'no jobs': ({ jobs }, _, option) => jobs.submitMany([], option),
    'several jobs': ({ jobs }, id, option) =>
      jobs.submitMany(
        ['mail', 'queued'].map((name) => ({ task: task(name), subject: id })),
        option,
      ),
    'several statements': ({ jobs }, id, option) =>
      jobs.submitMany(
        [1, 2, 3].map((of) => ({ task: mail, subject: id, args: { of, large: 'x'.repeat(400_000) } })),
        option,
      ),
    'an id that is in use': ({ jobs }, id, option) =>
      jobs.submitMany([{ task: mail }, { task: mail, id: `taken by ${id}` }], option),
  },
}

/** Runs the work in a transaction of the application. Commits, or rolls back if the work throws. */
type InTransaction = (work: (tx: Transaction) => Promise<void>) => Promise<void>

/** Runs the statements that begin and end a transaction on the connection. */
function between(run: (statement: string) => unknown, tx: Transaction): InTransaction {
  return async (work) => {
    await run('BEGIN')
    try {
      await work(tx)
      await run('COMMIT')
    } catch (error) {
      await run('ROLLBACK')
      throw error
    }
  }
}

async function mysqlTransaction(
  url: string,
  options: mysql.ConnectionOptions,
  session?: string,
): Promise<InTransaction> {
  const connection = await mysql.createConnection({ uri: url, ...options })
  onTestFinished(() => connection.end())
  if (session !== undefined) await connection.query(session)
  return between((statement) => connection.query(statement), connection)
}

const KINDS: Readonly<Record<'server' | 'file', Record<string, (url: string) => Promise<InTransaction>>>> = {
  server: {
    'a mysql2 connection with promises': (url) => mysqlTransaction(url, {}),
    'a mysql2 connection that returns arrays': (url) => mysqlTransaction(url, { rowsAsArray: true }),
    'a mysql2 connection that returns rows by table': (url) => mysqlTransaction(url, { nestTables: true }),
    'a mysql2 connection that returns raw values': (url) => mysqlTransaction(url, { typeCast: false }),
    'a mysql2 connection with other options and another session': (url) =>
      mysqlTransaction(
        url,
        { namedPlaceholders: true, timezone: '+13:00', charset: 'latin1' },
        "SET sql_mode = 'NO_BACKSLASH_ESCAPES,ANSI_QUOTES,STRICT_TRANS_TABLES'",
      ),
    'a mysql2 connection with callbacks': async (url) => {
      const connection = mysqlCallbacks.createConnection(url)
      onTestFinished(() => connection.promise().end())
      return between((statement) => connection.promise().query(statement), connection)
    },
    'a drizzle transaction': async (url) => {
      const pool = mysql.createPool(url)
      onTestFinished(() => pool.end())
      return (work) => drizzle({ client: pool }).transaction((tx) => work(tx))
    },
    'a function': async (url) => {
      const connection = await mysql.createConnection(url)
      onTestFinished(() => connection.end())
      const run = async (statement: string) => (await connection.query(statement))[0]
      return between(run, run)
    },
    'a function that wraps errors as a query builder does': async (url) => {
      const connection = await mysql.createConnection(url)
      onTestFinished(() => connection.end())
      const wrapped = (cause: unknown) => {
        throw new Error('QueryFailed', { cause: new Error('DriverError', { cause }) })
      }
      return between(
        (statement) => connection.query(statement),
        (sql, params) => connection.query(sql, [...params]).catch(wrapped),
      )
    },
  },
  file: {
    'a connection of the driver': async (url) => {
      const connection = opened(url)
      return between((statement) => connection.exec(statement), connection)
    },
    'a drizzle transaction': async (url) => {
      const connection = opened(url)
      const db = proxy(async (sql, params, method) => {
        const statement = connection.prepare(sql)
        if (method === 'run') statement.run(...params)
        const rows = method === 'run' ? [] : statement.all(...params)
        return { rows: rows.map((row) => Object.values(Object(row))) }
      })
      return (work) => db.transaction((tx) => work(tx))
    },
    'a function': async (url) => {
      const connection = opened(url)
      return between(
        (statement) => connection.exec(statement),
        async (sql) => {
          const statement = connection.prepare(sql)
          return columnsOf(statement) > 0 ? statement.all() : statement.run()
        },
      )
    },
  },
}

function opened(url: string): SqliteTestConnection {
  const connection = openSqlite(url.replace('sqlite:', ''))
  onTestFinished(() => void connection.close())
  return connection
}

/** Text in which instants, generated ids and the names of schedules are replaced. */
function comparable(value: unknown, id: string): string {
  return JSON.stringify(value, null, 1)
    .replaceAll(/"\d{4}-\d\d-\d\d[ T][\d:.Z]*"/g, '"instant"')
    .replaceAll(/\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d[\d.Z]*/g, 'instant')
    .replaceAll(/[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}/g, 'id')
    .replaceAll(id, 'schedule')
}

/** Inserts the schedule and its jobs, in the form that a worker would leave them. */
async function prepare({ query }: TestDatabase, api: Api, id: string, of: Before): Promise<void> {
  const { submitter } = await api.schedules.create({ ...input, id, ...of.settings })
  const own = submitter === null ? id : `${submitter}/${id}`
  for (const [column, value] of Object.entries(of.row ?? {}))
    await query(`UPDATE periodic_task SET ${column} = ? WHERE id = ?`, [value, own])
  for (const [index, job] of (of.jobs ?? []).entries())
    await insert({ query }, 'job', {
      id: `job ${index} of ${own}`,
      periodic_task_id: own,
      slot: `2026-01-0${index + 1} 00:00:00.000`,
      run: index + 1,
      task: 'mail',
      submitter,
      ...job,
    })
  await api.jobs.submit(mail, {}, { id: `taken by ${id}` })
}

interface Prepared {
  readonly title: string
  readonly id: string
  readonly write: (option: TransactionOption) => Promise<unknown>
}

/** For each case, all rows of its schedule and jobs, and the jobs that it submitted without a schedule. */
async function stored({ query }: TestDatabase, cases: readonly Prepared[]): Promise<Map<string, string>> {
  const schedules = await query('SELECT * FROM periodic_task ORDER BY id')
  const jobs = await query('SELECT * FROM job ORDER BY task, run, slot, args, id')
  return new Map(
    cases.map(({ title, id }) => [
      title,
      comparable(
        [...schedules, ...jobs].filter((row) =>
          [row['id'], row['periodic_task_id'], row['subject']].some((text) => String(text).includes(id)),
        ),
        id,
      ),
    ]),
  )
}

/** One after another, also after an error. */
async function results(cases: readonly Prepared[], option: TransactionOption): Promise<Map<string, string>> {
  const all = new Map<string, string>()
  for (const { title, id, write } of cases) {
    const result = await write(option).catch((error: unknown) => String(error))
    all.set(title, comparable(result ?? null, id))
  }
  return all
}

for (const under of databases) {
  describe(under.kind, () => {
    it('each write with tx returns and stores the same as without it, and stores nothing after a rollback [R13]', async () => {
      const { open, database } = await scene(under)
      const kalends = await open()
      await database.query("INSERT INTO task_queue (task, queue) VALUES ('queued', 'q')")
      const limits = { schedules: 10_000, openJobs: 10_000 }
      const ann = kalends.scope({ submitter: 'ann', tasks: [mail, task('queued')], limits })
      let number = 0
      const prepared = async (apis: Readonly<Record<string, Api>>): Promise<Prepared[]> => {
        const all: Prepared[] = []
        for (const [owner, api] of Object.entries(apis))
          for (const [writer, cases] of Object.entries(WRITERS))
            for (const [name, one] of Object.entries(cases)) {
              const of: Before & { readonly write: Write } = typeof one === 'function' ? { write: one } : one
              const id = `s${(number += 1)}x`
              await prepare(database, api, id, of)
              const title = `${writer}: ${name}, for ${owner}`
              all.push({ title, id, write: (option) => of.write(api, id, option) })
            }
        return all
      }
      const alone = await prepared({ everyone: kalends, 'an owner': ann })
      const expected = await results(alone, {})
      const expectedRows = await stored(database, alone)
      for (const [kind, begin] of Object.entries(KINDS[under.kind === 'sqlite' ? 'file' : 'server'])) {
        const inTransaction = await begin(database.url)
        // The statements of an owner do not depend on the driver.
        const isFirst = number === alone.length
        const cases = await prepared({ everyone: kalends, ...(isFirst && { 'an owner': ann }) })
        const same = (of: ReadonlyMap<string, string>) =>
          new Map(cases.map(({ title }) => [title, of.get(title)]))
        const before = await stored(database, cases)
        const thrown = new Error('the application changes its mind')
        await expect(
          inTransaction(async (tx) => {
            expect.soft(await results(cases, { tx }), kind).toEqual(same(expected))
            throw thrown
          }),
        ).rejects.toThrow(thrown.message)
        expect(await stored(database, cases), `${kind}, rolled back`).toEqual(before)
        await inTransaction(async (tx) => {
          expect(await results(cases, { tx }), kind).toEqual(same(expected))
        })
        expect(await stored(database, cases), `${kind}, committed`).toEqual(same(expectedRows))
      }
    }, 600_000)
  })
}
