/**
 * Plain JavaScript may pass anything to a public method. A value of a wrong shape is an error that names the argument,
 * and a value that is accepted never makes a loop fail later.
 */
import { expect, test } from 'vitest'
import {
  DeclarationError,
  InvalidInputError,
  Kalends,
  KalendsError,
  PeriodicScheduler,
  task,
} from '../../src/index.ts'
import { open as openTest, type TestKalends } from '../../src/testing/index.ts'

const SHAPES: readonly (readonly [name: string, shape: () => unknown])[] = [
  ['undefined', () => undefined],
  ['null', () => null],
  ['5', () => 5],
  ["'x'", () => 'x'],
  ['[]', () => []],
  ['[null]', () => [null]],
  ['[42]', () => [42]],
  ['{}', () => ({})],
  ["{ name: 'x' }", () => ({ name: 'x' })],
  ["{ name: 'x', schema: null }", () => ({ name: 'x', schema: null })],
  ['a function', () => () => undefined],
  ['NaN', () => Number.NaN],
  ['a bigint', () => 5n],
  ['a symbol', () => Symbol('x')],
  ['an invalid Date', () => new Date(Number.NaN)],
  ['a Map', () => new Map()],
  ['true', () => true],
  ['0', () => 0],
  ['1.5', () => 1.5],
  ["'*'", () => '*'],
  ["'x '", () => 'x '],
  ["''", () => ''],
  ['a lone surrogate', () => '\ud800'],
  ['a text with NUL', () => 'x\0'],
  ['300 characters', () => 'x'.repeat(300)],
  [
    'a list with a hole',
    () =>
      Array.from({ length: 2 }, () => 'x')
        .toSpliced(1, 1)
        .concat(Array(1)),
  ],
  ['an object without a prototype', () => Object.create(null)],
]

const mail = task('mail')
const submit = () => Promise.resolve()
const SOON = new Date('2026-01-02')
const schema = {
  '~standard': { version: 1, vendor: 'test', validate: (value: unknown) => ({ value }) },
} as const
const filter = { task: 'mail', group: 'g', submitter: 's' }

interface Made {
  readonly kalends: Kalends
  readonly scheduleId: string
  readonly jobId: string
}

/** A call with arguments that are accepted, or refused because of the state of a row. */
type Call = readonly [
  name: string,
  method: (made: Made) => Function,
  given: (made: Made) => readonly unknown[],
]

const CALLS: readonly Call[] = [
  [
    'task',
    () => task,
    () => ['t', { args: schema, result: schema, concurrency: 1, timeout: '1h', retries: 1 }],
  ],
  [
    'on',
    ({ kalends }) => kalends.on.bind(kalends),
    () => ['settled', () => undefined, { signal: AbortSignal.abort() }],
  ],
  [
    'once',
    ({ kalends }) => kalends.once.bind(kalends),
    () => ['settled', () => undefined, { signal: AbortSignal.abort() }],
  ],
  [
    'scope',
    ({ kalends }) => kalends.scope.bind(kalends),
    () => [
      {
        group: 'g',
        submitter: 's',
        tasks: ['mail'],
        limits: { schedules: 1, priority: [0, 1], timeout: '1h' },
      },
    ],
  ],
  ['prune', ({ kalends }) => kalends.prune.bind(kalends), () => [{ age: '1d', perSchedule: 5 }]],
  [
    'freeze',
    ({ kalends }) => kalends.freeze.bind(kalends),
    ({ scheduleId }) => [{ scheduleId, task: 'mail', group: 'g', until: SOON, reason: 'r' }],
  ],
  [
    'previewFreeze',
    ({ kalends }) => kalends.previewFreeze.bind(kalends),
    ({ scheduleId }) => [{ scheduleId, task: 'mail', group: 'g', until: SOON }],
  ],
  ['thaw', ({ kalends }) => kalends.thaw.bind(kalends), () => ['no-such-freeze']],
  [
    'schedules.create',
    ({ kalends: { schedules } }) => schedules.create.bind(schedules),
    () => [
      {
        task: mail,
        timer: 'daily',
        args: {},
        zone: 'UTC',
        firstRun: 'now',
        overlap: 'skip',
        catchUp: 1,
        group: 'g',
        priority: 1,
        timeout: '1h',
        retries: 2,
        starts: new Date(0),
        enabled: true,
      },
      {},
    ],
  ],
  [
    'schedules.create, once,',
    ({ kalends: { schedules } }) => schedules.create.bind(schedules),
    () => [{ task: mail, id: 'new', timer: 'daily', ifExists: 'same' }],
  ],
  [
    'schedules.put',
    ({ kalends: { schedules } }) => schedules.put.bind(schedules),
    ({ scheduleId }) => [scheduleId, { task: mail, timer: 'daily', args: {} }, {}],
  ],
  [
    'schedules.put, for a version,',
    ({ kalends: { schedules } }) => schedules.put.bind(schedules),
    ({ scheduleId }) => [scheduleId, { task: mail, timer: 'daily' }, { ifVersion: 'v' }],
  ],
  [
    'schedules.update',
    ({ kalends: { schedules } }) => schedules.update.bind(schedules),
    ({ scheduleId }) => [scheduleId, { task: mail, timer: 'daily', args: {}, zone: 'UTC', summary: 's' }, {}],
  ],
  [
    'schedules.get',
    ({ kalends: { schedules } }) => schedules.get.bind(schedules),
    ({ scheduleId }) => [scheduleId],
  ],
  [
    'schedules.list',
    ({ kalends: { schedules } }) => schedules.list.bind(schedules),
    () => [{ ...filter, limit: 1, order: 'id', after: 'x' }],
  ],
  ['schedules.count', ({ kalends: { schedules } }) => schedules.count.bind(schedules), () => [filter]],
  [
    'schedules.delete',
    ({ kalends: { schedules } }) => schedules.delete.bind(schedules),
    ({ scheduleId }) => [scheduleId, { ifVersion: 'v' }],
  ],
  [
    'schedules.pause',
    ({ kalends: { schedules } }) => schedules.pause.bind(schedules),
    ({ scheduleId }) => [scheduleId, { jobs: 'leave', reason: 'r' }],
  ],
  [
    'schedules.resume',
    ({ kalends: { schedules } }) => schedules.resume.bind(schedules),
    ({ scheduleId }) => [scheduleId, { ifVersion: 'v' }],
  ],
  [
    'schedules.reset',
    ({ kalends: { schedules } }) => schedules.reset.bind(schedules),
    ({ scheduleId }) => [scheduleId, { ifVersion: 'v' }],
  ],
  [
    'schedules.runNow',
    ({ kalends: { schedules } }) => schedules.runNow.bind(schedules),
    ({ scheduleId }) => [scheduleId, { args: {} }],
  ],
  [
    'schedules.elapses',
    ({ kalends: { schedules } }) => schedules.elapses.bind(schedules),
    ({ scheduleId }) => [scheduleId, { after: SOON, limit: 2 }],
  ],
  [
    'schedules.history',
    ({ kalends: { schedules } }) => schedules.history.bind(schedules),
    ({ scheduleId }) => [scheduleId, { before: SOON, limit: 2 }],
  ],
  [
    'schedules.explain',
    ({ kalends: { schedules } }) => schedules.explain.bind(schedules),
    ({ scheduleId }) => [scheduleId, { at: SOON }],
  ],
  [
    'schedules.versionOf',
    ({ kalends: { schedules } }) => schedules.versionOf.bind(schedules),
    () => ['a schedule'],
  ],
  [
    'jobs.submit',
    ({ kalends: { jobs } }) => jobs.submit.bind(jobs),
    () => [mail, {}, { id: 'new', runAt: SOON, group: 'g', priority: 1, timeout: '1h', retries: 1 }],
  ],
  [
    'jobs.submit',
    ({ kalends: { jobs } }) => jobs.submit.bind(jobs),
    () => [{ task: mail, args: {}, delay: '1h' }],
  ],
  [
    'jobs.submitMany',
    ({ kalends: { jobs } }) => jobs.submitMany.bind(jobs),
    () => [[{ task: mail, args: {}, delay: 1 }], {}],
  ],
  ['jobs.taskWarning', ({ kalends: { jobs } }) => jobs.taskWarning.bind(jobs), () => ['mail']],
  ['jobs.get', ({ kalends: { jobs } }) => jobs.get.bind(jobs), ({ jobId }) => [jobId]],
  [
    'jobs.list',
    ({ kalends: { jobs } }) => jobs.list.bind(jobs),
    () => [{ ...filter, finishedFrom: SOON, limit: 1, after: 'x' }],
  ],
  ['jobs.count', ({ kalends: { jobs } }) => jobs.count.bind(jobs), () => [filter]],
  [
    'jobs.wait',
    ({ kalends: { jobs } }) => jobs.wait.bind(jobs),
    () => ['no-such-job', { timeout: 0, signal: AbortSignal.abort() }],
  ],
  ['jobs.cancel', ({ kalends: { jobs } }) => jobs.cancel.bind(jobs), ({ jobId }) => [jobId]],
  ['jobs.retry', ({ kalends: { jobs } }) => jobs.retry.bind(jobs), ({ jobId }) => [jobId]],
  [
    'jobs.cancelMany',
    ({ kalends: { jobs } }) => jobs.cancelMany.bind(jobs),
    () => [
      { filter: { task: 'none' } },
      { dryRun: false, limit: 1, each: () => undefined, isRefusal: () => true },
    ],
  ],
  [
    'jobs.retryMany',
    ({ kalends: { jobs } }) => jobs.retryMany.bind(jobs),
    () => [{ ids: ['no-such-job'] }, { dryRun: true, limit: 1 }],
  ],
  [
    'jobs.logs',
    ({ kalends: { jobs } }) => jobs.logs.bind(jobs),
    ({ jobId }) => [jobId, { after: 0, limit: 1 }],
  ],
  ['jobs.attempts', ({ kalends: { jobs } }) => jobs.attempts.bind(jobs), ({ jobId }) => [jobId]],
  [
    'external.finish',
    ({ kalends: { external } }) => external.finish.bind(external),
    ({ jobId }) => [jobId, { state: 'success', result: {}, startedAt: SOON, finishedAt: SOON }],
  ],
  [
    'views.recentRuns',
    ({ kalends: { views } }) => views.recentRuns.bind(views),
    ({ scheduleId }) => [[scheduleId], 1],
  ],
  ['views.failures', ({ kalends: { views } }) => views.failures.bind(views), () => [filter]],
  [
    'views.load',
    ({ kalends: { views } }) => views.load.bind(views),
    () => [{ ...filter, from: SOON, hours: 1 }],
  ],
  [
    'views.upcoming',
    ({ kalends: { views } }) => views.upcoming.bind(views),
    () => [{ ...filter, from: new Date(0), to: SOON, limit: 1 }],
  ],
]

const BEFORE_START: readonly Call[] = [
  ['handle', ({ kalends }) => kalends.handle.bind(kalends), () => [task('other'), () => undefined]],
  [
    'declare',
    ({ kalends }) => kalends.declare.bind(kalends),
    () => [
      'set',
      [{ task: mail, timer: 'daily', id: 'x', args: {}, firstRun: 'next', zone: 'UTC', summary: 'a' }],
      { onRemoved: 'keep' },
    ],
  ],
]

/** Calls that open a database of their own; what they open is stopped. */
const OPENS: readonly Call[] = [
  [
    'start',
    ({ kalends }) => kalends.start.bind(kalends),
    () => [{ scheduler: false, concurrency: 0, signals: false, grace: 0 }],
  ],
  ['stop', ({ kalends }) => kalends.stop.bind(kalends), () => [{ grace: 0 }]],
  [
    'Kalends.open',
    () =>
      (...given: Parameters<typeof Kalends.open>) =>
        Kalends.open(...given).then((kalends) => kalends.stop()),
    () => [
      'sqlite::memory:',
      {
        tablePrefix: 'k_',
        migrate: true,
        connections: 3,
        clock: () => new Date(),
        worker: 'w',
        zone: 'UTC',
        lease: '1min',
        logger: false,
        pollInterval: '1s',
        retention: { age: '1d' },
        argsLimit: 100,
        middleware: [],
        redact: ['args.a'],
        externalQueue: { submit, tasks: ['mail'], reports: true, timeout: '1h', name: 'q' },
      },
    ],
  ],
  [
    'PeriodicScheduler.open',
    () =>
      (...given: Parameters<typeof PeriodicScheduler.open>) =>
        PeriodicScheduler.open(...given).then((scheduler) => scheduler.stop()),
    () => ['sqlite::memory:', { submit, reports: false, timeout: '1h' }],
  ],
  [
    'Kalends.migrate',
    () => Kalends.migrate.bind(Kalends),
    () => ['sqlite::memory:', { tablePrefix: 'k_', onStep: () => undefined }],
  ],
  [
    'Kalends.migrationStatements',
    () => Kalends.migrationStatements.bind(Kalends),
    () => ['sqlite::memory:', { tablePrefix: 'k_' }],
  ],
  [
    'Kalends.doctor',
    () => Kalends.doctor.bind(Kalends),
    () => ['sqlite::memory:', { tablePrefix: 'k_', lease: '1min' }],
  ],
]

async function made(): Promise<Made & { readonly app: TestKalends }> {
  const app = await openTest(() => undefined, { logger: false })
  const { kalends } = app
  const { id: scheduleId } = await kalends.schedules.create({ task: mail, timer: 'daily', id: 'there' })
  return { app, kalends, scheduleId, jobId: await kalends.jobs.submit(mail, {}) }
}

interface Variant {
  /** The argument, or the property of an argument, that has a wrong shape. */
  readonly where: string
  readonly given: readonly unknown[]
}

function isPlain(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && Object.getPrototypeOf(value) === Object.prototype
}

function* variants(given: readonly unknown[]): Generator<Variant> {
  for (const [index, argument] of given.entries())
    for (const [where, value] of wrong(`argument ${index + 1}`, argument))
      yield { where, given: given.with(index, value) }
}

function* wrong(path: string, value: unknown): Generator<[where: string, value: unknown]> {
  for (const [name, shape] of SHAPES) yield [`${path} = ${name}`, shape()]
  if (isPlain(value) && !('~standard' in value))
    for (const [key, inner] of Object.entries(value))
      for (const [where, changed] of wrong(`${path}.${key}`, inner))
        yield [where, { ...value, [key]: changed }]
  if (Array.isArray(value) && value.length > 0)
    for (const [where, changed] of wrong(`${path}[0]`, value[0])) yield [where, [changed, ...value.slice(1)]]
  if (Array.isArray(value)) yield [`${path}, with a hole`, Array(1).concat(value)]
}

/** The errors of a text in a timer have classes of their own. */
const TIMER_ERRORS = ['CalendarSyntaxError', 'CronSyntaxError', 'InvalidTimeSpanError']

function complaint(error: unknown): string | null {
  if (error instanceof InvalidInputError)
    return error.field === '' || error.message.includes('[object') ? `unclear: ${error.message}` : null
  if (error instanceof KalendsError && !error.code.startsWith('KALENDS_STORE')) return null
  if (error instanceof Error && TIMER_ERRORS.includes(error.name)) return null
  if (error instanceof DOMException && error.name === 'AbortError') return null
  return error instanceof Error ? `${error.name}: ${error.message}` : `not an error: ${String(error)}`
}

async function complaints(call: Call, { kalends, ...rows }: Made): Promise<string[]> {
  const [name, method, given] = call
  const found: string[] = []
  const scene = { kalends, ...rows }
  for (const { where, given: changed } of variants(given(scene))) {
    const wrongly = await (async () => Reflect.apply(method(scene), null, changed))().then(
      () => null,
      complaint,
    )
    if (wrongly !== null) found.push(`${name}, ${where}: ${wrongly}`)
  }
  return found
}

/** The given arguments with one option that does not exist. Args, results and tasks may have any field. */
function* unknownOptions(given: readonly unknown[]): Generator<Variant> {
  for (const [index, argument] of given.entries())
    for (const [where, value] of misspelled(`argument ${index + 1}`, argument))
      yield { where, given: given.with(index, value) }
}

function* misspelled(path: string, value: unknown): Generator<[where: string, value: unknown]> {
  if (Array.isArray(value))
    for (const [where, changed] of misspelled(`${path}[0]`, value[0]))
      yield [where, [changed, ...value.slice(1)]]
  if (!isPlain(value) || '~standard' in value || 'policy' in value) return
  yield [path, { ...value, unknownOption: 1 }]
  for (const [key, inner] of Object.entries(value))
    if (key !== 'args' && key !== 'result')
      for (const [where, changed] of misspelled(`${path}.${key}`, inner))
        yield [where, { ...value, [key]: changed }]
}

// A second start is refused before its options are read.
test.each([...CALLS, ...BEFORE_START, ...OPENS].filter(([name]) => name !== 'start'))(
  '%s rejects an unknown option, and nothing is written [E5]',
  async (name, method, given) => {
    const { app, ...scene } = await made()
    await using _ = app
    for (const { where, given: changed } of unknownOptions(given(scene))) {
      // All problems of a declared set are reported together, by `check`. A job's args are its second argument.
      if (['declare', 'jobs.submit'].includes(name) && where.startsWith('argument 2')) continue
      const thrown = await (async () => Reflect.apply(method(scene), null, changed))().catch(
        (error: unknown) => error,
      )
      expect(thrown, where).toBeInstanceOf(InvalidInputError)
      expect(thrown, where).toMatchObject({ field: expect.stringMatching(/unknownOption$/) })
    }
    expect((await scene.kalends.schedules.list()).total).toBe(1)
    expect((await scene.kalends.jobs.list()).total).toBe(1)
  },
)

/** An accepted value never makes a loop fail: all due work is done without an error. */
test.each(CALLS)('%s names the argument that has a wrong shape [E5]', async (...call) => {
  const { app, ...scene } = await made()
  await using _ = app
  const errors: unknown[] = []
  scene.kalends.on('error', (event) => void errors.push(event))
  expect(await complaints(call, scene)).toEqual([])
  await app.advance('3d')
  expect(errors).toEqual([])
})

test.each(BEFORE_START)(
  '%s names the argument that has a wrong shape, before the start [E5]',
  async (...call) => {
    const now = new Date('2026-01-01')
    await using kalends = await Kalends.open('sqlite::memory:', {
      clock: () => now,
      retention: false,
      logger: false,
    })
    const errors: unknown[] = []
    kalends.on('error', (event) => void errors.push(event))
    expect(await complaints(call, { kalends, scheduleId: '', jobId: '' })).toEqual([])
    await kalends.jobs.submitMany([{ task: mail }, { task: task('other') }, { task: task('x') }])
    const started = await kalends.startByHand().catch((error: unknown) => error)
    if (typeof started === 'function') for (let round = 0; round < 5; round += 1) await started()
    else expect(started).toBeInstanceOf(DeclarationError)
    expect(errors).toEqual([])
  },
)

test('the name * stands for every task, so no task can have it', async () => {
  await using kalends = await Kalends.open('sqlite::memory:', { logger: false })
  for (const given of ['*', { ...task('x'), name: '*' }])
    expect(() => Reflect.apply(kalends.handle.bind(kalends), null, [given, () => undefined])).toThrow(
      "task: '*' stands for every task",
    )
  expect(() => task('*')).toThrow(InvalidInputError)
  await expect(kalends.jobs.submit('*')).rejects.toThrow(InvalidInputError)
})

test('a copy of a task is checked like the options of task', async () => {
  await using kalends = await Kalends.open('sqlite::memory:', { logger: false })
  const handle = (changes: object) => () =>
    Reflect.apply(kalends.handle.bind(kalends), null, [{ ...task('x'), ...changes }, () => undefined])
  expect(handle({ concurrency: 1.5 })).toThrow('task.concurrency: must be an integer')
  expect(handle({ concurrency: Number.NaN })).toThrow('task.concurrency: must be an integer')
  expect(handle({ policy: { ...task('x').policy, retries: 'x' } })).toThrow('task.policy: retries: must be')
  expect(handle({ name: 'x ' })).toThrow('task: must be a name')
})

test.each(OPENS)('%s names the argument that has a wrong shape [E5]', async (...call) => {
  const { app, ...scene } = await made()
  await using _ = app
  expect(await complaints(call, scene)).toEqual([])
})
