/**
 * Values that the types exclude can still arrive from JSON, query strings or untyped code. Wherever a number or a name
 * enters SQL text, such values are rejected, and no part of them becomes SQL.
 */
import { expect, it } from 'vitest'
import { InvalidInputError, Kalends, type KalendsOptions } from '../../src/index.ts'
import { openStore } from '../support/open-store.ts'
import { apiScene } from '../http/scene.ts'
import { scene } from '../kalends/scene.ts'
import { eachDatabase } from '../support/databases.ts'

const SQL = [
  '1 OR 1 = 1',
  '0; DROP TABLE job',
  '1 UNION SELECT value FROM secret',
  '1 OR extractvalue(1, concat(0x7e, (SELECT value FROM secret)))',
  '1) -- x',
  "1' OR '1' = '1",
  '`; DROP TABLE job; -- x',
]
const WRONG: readonly unknown[] = [
  ...SQL,
  '1',
  -1,
  1.5,
  1e300,
  Number.NaN,
  Number.POSITIVE_INFINITY,
  null,
  true,
  [1],
  {},
  { valueOf: () => 1, toString: () => SQL[0] },
]

/** A value with the wrong type, as can occur at run time. */
// oxlint-disable-next-line typescript/no-unsafe-type-assertion -- these tests need wrong types
const number = (value: unknown): number => value as number

const options = (name: string, value: unknown): KalendsOptions => ({ [name]: value })

async function refusal(what: string, act: () => Promise<unknown>): Promise<string> {
  const error: unknown = await act().then(
    () => undefined,
    (reason: unknown) => reason,
  )
  expect(error, what).toBeInstanceOf(Error)
  return String(error)
}

eachDatabase((under) => {
  it('the store inserts only integers into the text of a statement', async () => {
    const database = await under.fresh()
    const store = await openStore(database.url)
    await database.query("INSERT INTO job (id, task) VALUES ('j', 't')")
    const places: Readonly<Record<string, (value: number) => Promise<unknown>>> = {
      'prune: perSchedule': (value) => store.retention.prune({ ageMs: 1000, perSchedule: value }, 1),
      'prune: limit': (value) => store.retention.prune({ ageMs: 1000, perSchedule: 1 }, value),
      'jobs: countOpen': (value) => store.jobs.countOpen(value),
      'schedules: count': (value) => store.schedules.count(value),
      'lists: history': (value) => store.lists.history('s', { before: null }, value),
      'lists: history, from': (value) => store.lists.history('s', { from: new Date(0) }, value),
      'lists: recentRuns': (value) => store.lists.recentRuns(['s'], value),
      'lists: logs': (value) => store.lists.logs('j', 0, value),
      'lists: tasks': (value) => store.lists.tasks(value),
      'executing: promoteDue': (value) => store.executing.promoteDue(value),
      'executing: orphans': (value) => store.executing.orphans(value),
      'scheduling: limit': (value) => store.scheduling.markDue('w/1', value, 1000),
    }
    for (const [place, act] of Object.entries(places)) {
      for (const value of WRONG) {
        const told = await refusal(`${place}: ${String(value)}`, () => act(number(value)))
        expect(told, place).toMatch(/RangeError: SQL takes an integer/)
        expect(told, place).not.toMatch(/UNION|DROP|extractvalue|OR '?1/)
      }
    }
    // The value is used in arithmetic first, which turns number-like values into numbers.
    for (const value of [...SQL, -1, 1e300, Number.NaN, Number.POSITIVE_INFINITY]) {
      const told = await refusal(`lease: ${String(value)}`, () =>
        store.scheduling.clearStaleMarks('w/1', number(value)),
      )
      expect(told).toMatch(/RangeError: SQL takes an integer/)
    }
    expect(await database.query("SELECT state FROM job WHERE id = 'j'")).toEqual([{ state: 'waiting' }])
    await store.close()
    await database.drop()
  })

  it('an object in place of an id is rejected', async () => {
    const { open } = await scene(under)
    const kalends = await open()
    const id: unknown = { id: 's', task: 't', timer: 'daily' }
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- untyped code may call it like this
    await expect(kalends.schedules.get(id as string)).rejects.toThrow(InvalidInputError)
  })

  it('options from code are validated before they reach a statement', async () => {
    const { open, database } = await scene(under)
    const kalends = await open()
    await kalends.schedules.create({ id: 's', task: 't', timer: 'daily' })
    const places: Readonly<Record<string, (value: unknown) => Promise<unknown>>> = {
      'jobs.list limit': (value) => kalends.jobs.list({ limit: number(value) }),
      'schedules.list limit': (value) => kalends.schedules.list({ limit: number(value) }),
      'schedules.history limit': (value) => kalends.schedules.history('s', { limit: number(value) }),
      'prune perSchedule': (value) => kalends.prune({ perSchedule: number(value) }),
    }
    for (const [place, act] of Object.entries(places))
      for (const value of WRONG)
        expect(await refusal(`${place}: ${String(value)}`, () => act(value)), place).toMatch(/InvalidInput/)
    for (const value of [...SQL, -1, Number.NaN]) {
      const told = await refusal(`age: ${String(value)}`, () => kalends.prune({ age: number(value) }))
      expect(told).toMatch(/InvalidInput.*\bage: /)
      for (const option of ['lease', 'pollInterval', 'tablePrefix'])
        expect(
          await refusal(`${option}: ${String(value)}`, () =>
            Kalends.open(database.url, options(option, value)),
          ),
          option,
        ).toMatch(/InvalidInput/)
    }
    for (const value of [['a'], null, { toString: () => 'a' }])
      expect(
        await refusal('prefix', () => Kalends.open(database.url, options('tablePrefix', value))),
      ).toMatch(/InvalidInput.*tablePrefix/)
  })

  it('names and strings that contain SQL stay names and strings', async () => {
    const { open, database } = await scene(under)
    const kalends = await open()
    await database.query('CREATE TABLE secret (value VARCHAR(100))')
    await database.query("INSERT INTO secret (value) VALUES ('the secret')")
    for (const text of SQL) {
      const made = await kalends.schedules.create({
        id: text,
        task: text,
        timer: 'daily',
        group: text,
        subject: text,
        submitter: text,
        summary: text,
        args: { [text]: text },
      })
      expect(made).toMatchObject({ id: text, task: text, group: text, args: { [text]: text } })
      const job = await kalends.schedules.runNow(text)
      expect(await kalends.jobs.get(job)).toMatchObject({ task: text, submitter: text })
      expect((await kalends.jobs.list({ task: text, group: text, submitter: text })).total).toBe(1)
      expect((await kalends.schedules.list({ text, task: text })).items.map(({ id }) => id)).toEqual([text])
      expect(await kalends.schedules.get(`${text} OR 1 = 1`)).toBeNull()
      await kalends.schedules.delete(text)
    }
    expect(await kalends.schedules.list()).toMatchObject({ total: 0 })
    expect(await database.query('SELECT value FROM secret')).toEqual([{ value: 'the secret' }])
  })

  it('no request parameter is interpreted as SQL', async () => {
    const { call, database, kalends } = await apiScene(under)
    await database.query('CREATE TABLE secret (value VARCHAR(100))')
    await database.query("INSERT INTO secret (value) VALUES ('the secret')")
    await kalends.schedules.create({ id: 's', task: 't', timer: 'daily' })
    const job = await kalends.schedules.runNow('s')
    const { body } = await call('GET /api/v1/openapi.json')
    const reads = Object.entries<{ get?: { parameters?: { name: string; in: string }[] } }>(
      body.paths,
    ).flatMap(([path, { get }]) =>
      // The event stream never ends, so it is left out.
      get === undefined || path.endsWith('/events')
        ? []
        : (get.parameters ?? []).filter((one) => one.in === 'query').map(({ name }) => ({ path, name })),
    )
    expect(reads.length).toBeGreaterThan(30)
    for (const { path, name } of reads) {
      const at = path.replace('{id}', path.includes('/jobs/') ? job : 's')
      for (const text of SQL) {
        const line = `GET ${at.startsWith('/api') ? at : `/api/v1${at}`}?${name}=${encodeURIComponent(text)}`
        const { status, text: answer } = await call(line)
        expect([200, 404, 422], `${line}\n${status} ${answer}`).toContain(status)
        expect(answer, line).not.toContain('the secret')
        expect(answer, line).not.toMatch(/SQL syntax|SQLITE|syntax error/)
      }
    }
    expect(await database.query('SELECT COUNT(*) AS n FROM job')).toEqual([{ n: 1 }])
  })
})
