/**
 * With valid and invalid input under each role, no operation returns a 5xx or a row of another scope, or lets a reader
 * change anything. Responses match the document.
 */
import * as fc from 'fast-check'
import { expect, it } from 'vitest'
import { z } from 'zod'
import { operations } from '../../src/http/operations.ts'
import { ProblemDetails } from '../../src/http/answer-schemas.ts'
import { eachDatabase } from '../support/databases.ts'
import { apiScene, USERS } from './scene.ts'
import { runs } from '../support/runs.ts'

const SECRET = 'belongs-to-bob'
const WEIRD = [
  '',
  ' ',
  '%',
  '_',
  "'; DROP TABLE job; --",
  '\\',
  '\u0000',
  'ä😀',
  '\ud800',
  '..',
  'a/b?c#d',
  'x'.repeat(255),
  'x'.repeat(5000),
  '-1',
  '0',
  '1',
  '1e9',
  '99999999999999999999',
  'NaN',
  'null',
  'true',
  '2026-03-27T09:00:00Z',
  '9999-12-31T23:59:59.999Z',
  '0000-01-01T00:00:00Z',
  '2026-02-30T00:00:00Z',
  'Mars/Olympus',
  'Europe/Berlin',
]
const GOOD: Readonly<Record<string, readonly unknown[]>> = {
  id: ['own', 'new', 'bobs', 'job-own', 'job-bob', '0'],
  task: ['mail', 'clean'],
  timer: [
    'daily',
    '*:0/5 Europe/Berlin',
    'every 5min',
    'every 1h after finish',
    'cron 0 9 * * 1-5',
    '2099-01-01',
    '2001-01-01',
    '*:*:0/0.5',
  ],
  args: [{}, { to: 'x' }, [], 'text', null, 5, { a: { b: [1, 'ä', null] } }],
  status: ['active', 'paused', 'done'],
  state: ['waiting', 'failed', 'success', 'running'],
  group: ['', 'b'],
  submitter: ['ann', 'bob', null],
  enabled: [true, false],
  starts: ['2026-03-27T09:00:00Z', null],
  ends: ['2099-03-27T09:00:00Z', null],
  jitter: [0, '5min', 1e15, -1],
  catchUp: [0, 5, 1000, 1001],
  maxRuns: [1, null, 9007199254740991],
  overlap: ['skip', 'queue-one', 'replace', 'allow'],
  timeout: [1, '10min', null, '0', '100y'],
  retries: [0, 3, null, 'unlimited', -1],
  retryDelay: ['1s', 2147483647, null],
  retryBackoff: ['fixed', null],
  onExhausted: ['stop'],
  priority: [-2147483647, 0, 2147483647, -2147483648],
  firstRun: ['now', 'next', 'if-due'],
  runAt: ['2026-03-27T09:00:00Z'],
  ids: [['own'], ['bobs', 'job-bob'], ['job-own'], []],
  filter: [{}, { state: 'waiting' }, { error: 'x', task: 'mail' }, { submitter: 'bob' }],
  dryRun: [true, false],
  limit: [1, 5, 1000],
  runs: [3],
  order: ['nextRunAt', 'id'],
  after: ['own', '2026-03-27T09:00:00Z', '5', '2026-03-27 09:00:00.000/own', '/own'],
  before: ['job-z', '2026-03-27T09:00:00Z'],
  from: ['2026-03-27T09:00:00Z', new Date().toISOString()],
  to: [new Date(Date.now() + 60_000).toISOString()],
  hours: [1, 24],
  zone: ['Europe/Berlin', 'local'],
  text: ['own', 'ÄÖ'],
  summary: ['what for', null],
  subject: ['s', null],
  finishedFrom: ['2026-03-27T09:00:00Z'],
  finishedTo: ['2026-03-28T09:00:00Z'],
}
const names = Object.keys(GOOD)

const weird = fc.oneof(fc.constantFrom(...WEIRD), fc.string({ unit: 'binary', maxLength: 30 }))
const valueOf = (name: string, weirdness: number) =>
  fc.oneof(
    { weight: 10 - weirdness, arbitrary: fc.constantFrom(...(GOOD[name] ?? ['x'])) },
    { weight: weirdness, arbitrary: fc.oneof(weird, fc.jsonValue({ maxDepth: 2 })) },
  )
const fields = (keys: readonly string[], weirdness: number) =>
  fc
    .subarray([...keys])
    .chain((some) => fc.record(Object.fromEntries(some.map((key) => [key, valueOf(key, weirdness)]))))

/** A path cannot contain a lone surrogate. */
const wellFormed = (text: string) => Buffer.from(text, 'utf8').toString('utf8')

/** The names of the fields that an operation accepts. */
function keysOf(schema: unknown): string[] {
  const required = schema instanceof z.ZodOptional ? schema.unwrap() : schema
  return required instanceof z.ZodObject ? Object.keys(required.shape) : []
}

const call = fc.constantFrom(...operations.filter(({ id }) => id !== 'followChanges')).chain((one) =>
  fc.integer({ min: 0, max: 4 }).chain((weirdness) => {
    const needed = ['task', 'timer'].filter((key) => keysOf(one.body).includes(key))
    return fc.record({
      operation: fc.constant(one.id),
      as: fc.constantFrom('admin', 'operator', 'reader', 'ann', 'annReads', 'nobody'),
      // A path that ends with a slash or dots is a different path.
      id: valueOf('id', weirdness).map((value) =>
        typeof value === 'string' && !/^\.{0,2}$/.test(value) ? value : 'own',
      ),
      query:
        weirdness === 0
          ? fields(keysOf(one.query), 0)
          : fields([...keysOf(one.query), ...names.slice(0, 3)], weirdness),
      body:
        one.body === null
          ? fc.constant(undefined)
          : fc.oneof(
              {
                weight: 8,
                arbitrary: fc
                  .tuple(fields(keysOf(one.body), weirdness), fields(needed, 0), fc.boolean())
                  .map(([given, must, complete]) =>
                    complete ? { task: 'mail', timer: 'daily', ...must, ...given } : given,
                  )
                  .map((body) =>
                    needed.length > 0
                      ? body
                      : Object.fromEntries(
                          Object.entries(body).filter(([key]) => keysOf(one.body).includes(key)),
                        ),
                  ),
              },
              { weight: 1, arbitrary: fc.jsonValue({ maxDepth: 3 }) },
            ),
    })
  }),
)

eachDatabase((under) => {
  it('no operation returns a 5xx or a row of another scope, or lets a reader change anything', async () => {
    const { send, kalends, database, lines } = await apiScene(under)
    const bobs = { task: 'mail', timer: 'daily', submitter: 'bob', summary: SECRET, args: { secret: SECRET } }
    const snapshot = async () =>
      JSON.stringify([
        await database.query('SELECT * FROM periodic_task ORDER BY id'),
        await database.query('SELECT * FROM job ORDER BY id'),
      ])
    const bobsRows = async () =>
      JSON.stringify([
        await database.query("SELECT * FROM periodic_task WHERE submitter = 'bob' ORDER BY id"),
        await database.query("SELECT * FROM job WHERE submitter = 'bob' ORDER BY id"),
      ])
    const restore = async () => {
      if ((await kalends.schedules.get('own')) === null)
        await kalends.schedules.create({ id: 'own', task: 'mail', timer: 'daily', submitter: 'ann' })
      if ((await kalends.schedules.get('bobs')) === null)
        await kalends.schedules.create({ id: 'bobs', ...bobs })
      for (const [id, submitter] of [
        ['job-own', 'ann'],
        ['job-bob', 'bob'],
      ] as const)
        if ((await kalends.jobs.get(id)) === null)
          await kalends.jobs.submit(
            'mail',
            { secret: submitter === 'bob' ? SECRET : '' },
            { id, submitter, runAt: new Date('2199-01-01') },
          )
    }
    const seen = new Map<number, number>()
    const calls = runs(under.kind === 'sqlite' ? 3000 : 800)
    await fc.assert(
      fc.asyncProperty(call, async ({ operation, as, id, query, body }) => {
        const one = operations.find((some) => some.id === operation)
        if (one === undefined) throw new Error(operation)
        await restore()
        const isReader = as === 'reader' || as === 'annReads' || as === 'nobody'
        const isScoped = USERS[as]?.scope !== undefined
        const mayChange = one.method !== 'GET' && !isReader
        const before = mayChange ? (isScoped ? await bobsRows() : '') : await snapshot()
        const search = new URLSearchParams(
          Object.entries(query).map(([key, value]): [string, string] => [
            key,
            typeof value === 'string' ? value : (JSON.stringify(value) ?? ''),
          ]),
        )
        const path = one.path.replace('{id}', encodeURIComponent(wellFormed(id)))
        const response = await send(
          `${one.method} ${path}${search.size > 0 ? `?${search.toString()}` : ''}`,
          {
            as,
            ...(body !== undefined && { body: JSON.stringify(body) }),
          },
        )
        const text = await response.text()
        const what = `${one.method} ${path}?${search.toString()} ${JSON.stringify(body)} as ${as}: ${response.status} ${text.slice(0, 500)} ${JSON.stringify(lines.at(-1))}`
        seen.set(response.status, (seen.get(response.status) ?? 0) + 1)
        expect(response.status, what).toBeLessThan(500)
        if (isScoped || as === 'nobody') expect(text, what).not.toContain(SECRET)
        if (!mayChange) expect(await snapshot(), what).toBe(before)
        else if (isScoped) expect(await bobsRows(), what).toBe(before)
        if (response.status >= 400)
          expect(ProblemDetails.safeParse(JSON.parse(text)).success, what).toBe(true)
        const schema = one.answers[response.status]?.schema
        if (response.status < 300 && schema !== undefined)
          expect(schema.safeParse(JSON.parse(text)).error, what).toBeUndefined()
      }),
      calls,
    )
    // Some inputs were valid.
    for (const status of [200, 422])
      expect(seen.get(status) ?? 0, String(status)).toBeGreaterThan(calls.numRuns / 100)
  }, 180_000)
})
