/** A misspelled option, which plain JavaScript may pass, is an error in every call, and nothing is written. */
import { expect, onTestFinished, test } from 'vitest'
import { http } from '../../src/http/index.ts'
import { InvalidInputError, Kalends, task } from '../../src/index.ts'
import { open as openTest } from '../../src/testing/index.ts'

const mail = task('mail')

async function opened(): Promise<Kalends> {
  const kalends = await Kalends.open('sqlite::memory:')
  onTestFinished(() => kalends.stop({ grace: 0 }))
  return kalends
}

/** Values that plain JavaScript may pass. */
// oxlint-disable-next-line typescript/no-explicit-any -- types do not allow these options
const plain = (options: object): any => options

/** Calls with a misspelled option, which the error corrects. wrong-shapes.test.ts checks the options of each call. */
const CALLS: [string, (kalends: Kalends) => unknown, string, string?][] = [
  [
    'open',
    () => Kalends.open('sqlite::memory:', plain({ pollIntervall: 50 })),
    'pollIntervall',
    'pollInterval',
  ],
  [
    'open',
    () => Kalends.open('sqlite::memory:', plain({ externalQueue: { sumbit: () => {} } })),
    'externalQueue.sumbit',
    'externalQueue.submit',
  ],
  ['start', (kalends) => kalends.start(plain({ executor: false })), 'executor'],
  [
    'create',
    ({ schedules }) => schedules.create(plain({ task: mail, timer: 'daily', overlapp: 'skip' })),
    'overlapp',
    'overlap',
  ],
  [
    'put',
    ({ schedules }) => schedules.put('a', plain({ task: mail, timer: 'daily', Enabled: true })),
    'Enabled',
    'enabled',
  ],
  ['submit', ({ jobs }) => jobs.submit(mail, {}, plain({ overlap: 'skip' })), 'overlap'],
  ['cancelMany', ({ jobs }) => jobs.cancelMany(plain({ ids: [], filter: {} })), 'filter'],
  ['on', (kalends) => kalends.on(plain({ name: 'setled' }).name, () => {}), 'setled', 'settled'],
  ['http', (kalends) => http(kalends, plain({ authorise: () => null })), 'authorise', 'authorize'],
  ['http', (kalends) => http(kalends, plain({ events: { perUsr: 1 } })), 'events.perUsr', 'events.perUser'],
  ['testing', () => openTest(() => undefined, plain({ nwo: '2026-01-01' })), 'nwo', 'now'],
  ['testing', () => openTest(() => undefined, plain({ migrate: false })), 'migrate'],
]

test.each(CALLS)('%s rejects an unknown option: %2$s', async (_, call, field, meant) => {
  const kalends = await opened()
  await kalends.schedules.create({ id: 'there', task: mail, timer: 'daily' })
  const error = await Promise.resolve(kalends)
    .then(call)
    .catch((thrown: unknown) => thrown)
  if (!(error instanceof InvalidInputError)) throw error
  expect(error).toMatchObject({ code: 'KALENDS_INVALID_INPUT', field })
  expect(error.message).toContain(
    meant === undefined ? 'unknown; the options are ' : `did you mean ${meant}?`,
  )
  expect((await kalends.schedules.list()).total).toBe(1)
  expect((await kalends.jobs.list()).total).toBe(0)
})

test('unknown options in a declaration are reported with its other problems, once for each option', async () => {
  const kalends = await opened()
  kalends.handle(mail, () => undefined)
  kalends.declare('set', [plain({ task: mail, timer: 'dayly', overlapp: 'skip', id: 'a', declaredBy: 'x' })])
  await expect(kalends.check()).rejects.toMatchObject({
    problems: [
      expect.stringContaining('dayly'),
      expect.stringContaining('overlapp: unknown; did you mean overlap?'),
      expect.stringContaining('declaredBy: unknown'),
    ],
  })
})

test('contradictory options are errors', async () => {
  const kalends = await opened()
  const { schedules, jobs } = kalends
  const submit = async () => undefined
  const external = await Kalends.open('sqlite::memory:', { externalQueue: { submit } })
  onTestFinished(() => external.stop({ grace: 0 }))
  await expect(external.start({ concurrency: 3 })).rejects.toThrow(/^concurrency: .*external queue/)
  await expect(kalends.start({ scheduler: false, concurrency: 0 })).rejects.toThrow(/^concurrency: .*nothing/)
  await expect(kalends.start(plain({ scheduler: { submit } }))).rejects.toThrow(
    /^scheduler: must be true or false/,
  )
  await expect(jobs.submit(mail, {}, { delay: 5000, runAt: new Date() })).rejects.toThrow(/^delay: /)
  const paris = { task: mail, timer: 'daily Europe/Paris', zone: 'Europe/Berlin' }
  await expect(schedules.create(paris)).rejects.toThrow(/^zone: .*its own, Europe\/Paris/)
  await schedules.create({ id: 'daily', task: mail, timer: 'daily' })
  await expect(schedules.update('daily', { zone: 'Europe/Berlin' })).rejects.toThrow(/^zone: .*timer/)
})

test('putting back what `get` returned changes nothing, or only the field that was edited', async () => {
  const kalends = await Kalends.open('sqlite::memory:', { zone: 'Asia/Tokyo' })
  onTestFinished(() => kalends.stop({ grace: 0 }))
  const { schedules } = kalends
  await schedules.create({
    id: 'a',
    task: mail,
    timer: 'daily',
    zone: 'UTC',
    retries: 3,
    jitter: '1s',
    starts: new Date(),
  })
  await schedules.pause('a')
  const read = await schedules.get('a')
  if (read === null) throw new Error('schedule not found')
  expect(await schedules.put('a', { ...read })).toEqual({ result: 'unchanged', schedule: read })
  const changed = await schedules.put('a', { ...read, summary: 'x', enabled: true })
  expect(changed).toEqual({ result: 'changed', schedule: { ...read, summary: 'x' } })
  await expect(schedules.put('b', { ...read })).rejects.toThrow(/^id: .*'b' cannot be changed/)
})

test('zone is added to the timer, and delay is relative to now', async () => {
  await using testing = await openTest(() => undefined, { zone: 'Asia/Tokyo' })
  const { schedules, jobs } = testing.kalends
  const created = await schedules.create({ id: 'a', task: mail, timer: '09:00', zone: 'Europe/Berlin' })
  expect(created.timer).toBe('09:00 Europe/Berlin')
  expect((await schedules.update('a', { timer: '10:00', zone: 'UTC' })).timer).toBe('10:00')
  expect((await schedules.update('a', { timer: '10:00' })).timer).toBe('10:00 Asia/Tokyo')
  const job = await jobs.get(await jobs.submit(mail, {}, { delay: '1h' }))
  expect(job?.runAt).toEqual(new Date(testing.now().getTime() + 3_600_000))
})

test.each<[string, (kalends: Kalends) => unknown, string]>([
  ['cancel', ({ jobs }) => plain(jobs).cancel('x', { tx: {} }), 'tx'],
  ['retry', ({ jobs }) => plain(jobs).retry('x', { tx: {} }), 'tx'],
  [
    'a zone for a time span',
    ({ schedules }) => schedules.create({ task: mail, timer: 'every 5min', zone: 'Europe/Berlin' }),
    'zone',
  ],
])('%s: an option that does not apply is rejected, and the error names it', async (_, call, field) => {
  const kalends = await opened()
  const error = await Promise.resolve(kalends)
    .then(call)
    .catch((thrown: unknown) => thrown)
  expect(error).toMatchObject({ code: 'KALENDS_INVALID_INPUT', field })
})
