/**
 * The database's clock was in 2098 for a while and is correct again: how this is reported, and how schedules continue.
 */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { type Kalends, task } from '../../src/index.ts'
import { open, type TestKalends } from '../../src/testing/index.ts'

const report = task('report')
/** Schedules whose next runs depend on `created` and the last slot in different ways. */
const TIMERS = {
  calendar: 'hourly',
  jittered: 'hourly',
  every: 'every 1h',
  'after-finish': 'every 1h after finish',
} as const
const IDS = Object.keys(TIMERS)

/** @returns a function that reopens the application on the same file at another time */
async function machine(): Promise<(now: string) => Promise<TestKalends>> {
  const folder = await mkdtemp(join(tmpdir(), 'kalends-clock-'))
  onTestFinished(() => rm(folder, { recursive: true, force: true }))
  return async (now) => {
    const application = await open((kalends) => kalends.handle(report, () => {}), {
      database: `sqlite:${join(folder, 'test.db')}`,
      now,
    })
    onTestFinished(() => application.close())
    return application
  }
}

async function createAll({ schedules }: Kalends): Promise<void> {
  for (const [id, timer] of Object.entries(TIMERS))
    await schedules.create({ id, task: report, timer, jitter: id === 'jittered' ? '10min' : 0 })
}

const found = async ({ kalends }: TestKalends) => {
  const code = 'slot-in-the-future'
  const finding = (await kalends.doctor()).find((one) => one.code === code)
  return {
    doctor: finding?.subjects.toSorted() ?? [],
    health: kalends.health().warnings.filter((one) => one.code === code).length,
    explained: (
      await Promise.all(IDS.map(async (id) => [id, (await kalends.schedules.explain(id)).reasons] as const))
    )
      .filter(([, reasons]) => reasons.some((reason) => reason.includes('clock was ahead')))
      .map(([id]) => id)
      .toSorted(),
  }
}

const slots = async ({ kalends }: TestKalends, id: string, from: string) =>
  (await kalends.schedules.history(id))
    .flatMap(({ slot, state }) =>
      slot === null || slot < new Date(from) ? [] : [`${slot.toISOString()} ${state}`],
    )
    .toReversed()

test('schedules that ran in 2098 stop, are reported, and continue after a pause and a resume [S14, L68]', async () => {
  const start = await machine()
  const before = await start('2026-03-01T08:30:00Z')
  await createAll(before.kalends)
  await before.advance('1h')
  expect(await found(before)).toEqual({ doctor: [], health: 0, explained: [] })
  await before.close()
  const ahead = await start('2098-01-01T00:30:00Z')
  await ahead.advance('2h')
  expect(await found(ahead)).toEqual({ doctor: [], health: 0, explained: [] })
  await ahead.close()

  const application = await start('2026-03-01T09:45:00Z')
  const { kalends } = application
  const ran = () => kalends.jobs.list({ limit: 1000 })
  const until2098 = await ran()
  await application.advance('3h')
  expect(await ran()).toEqual(until2098)
  expect(await found(application)).toEqual({ doctor: IDS.toSorted(), health: 1, explained: IDS.toSorted() })
  expect(kalends.health()).toMatchObject({ ok: true })

  for (const id of IDS) {
    await kalends.schedules.pause(id)
    await kalends.schedules.resume(id)
  }
  await application.advance('3h')
  for (const id of IDS) {
    const later = (await slots(application, id, '2026-03-01T12:45:00Z')).filter((slot) => slot < '2090')
    expect(later).toHaveLength(3)
    expect(later.every((slot) => slot.endsWith('success'))).toBe(true)
  }
  expect(await found(application)).toMatchObject({ doctor: [], explained: [] })
  await application.close()
  const restarted = await start('2026-03-01T15:50:00Z')
  expect(await found(restarted)).toEqual({ doctor: [], health: 0, explained: [] })
})

test('schedules created in 2098 are reported, and continue after a pause and a resume [S14]', async () => {
  const start = await machine()
  const ahead = await start('2098-01-01T00:30:00Z')
  await createAll(ahead.kalends)
  await ahead.drain()
  await ahead.close()
  const after = await start('2026-03-01T09:45:00Z')
  expect(await found(after)).toEqual({ doctor: IDS.toSorted(), health: 1, explained: IDS.toSorted() })
  for (const id of IDS) {
    await after.kalends.schedules.pause(id)
    await after.kalends.schedules.resume(id)
  }
  await after.advance('3h')
  for (const id of IDS) expect(await slots(after, id, '2026-03-01')).toHaveLength(3)
  expect(await found(after)).toMatchObject({ doctor: [], explained: [] })
  expect(
    (await after.kalends.schedules.elapses('every', { limit: 1 })).map((at) => at.toISOString()),
  ).toEqual(['2026-03-01T13:30:00.000Z'])
})

test('a schedule that was marked done too early, while the clock showed 2098, is reported and continues after a reset [S14]', async () => {
  const start = await machine()
  const before = await start('2026-03-01T08:30:00Z')
  const ends = new Date('2026-03-02T00:00:00Z')
  const { schedules } = before.kalends
  await schedules.create({ id: 'ending', task: report, timer: 'hourly', ends })
  await schedules.create({ id: 'used up', task: report, timer: 'hourly', maxRuns: 1 })
  await before.drain()
  await before.close()
  const ahead = await start('2098-01-01T00:30:00Z')
  await ahead.drain()
  await ahead.close()
  const after = await start('2026-03-01T09:45:00Z')
  const { kalends } = after
  const code = 'slot-in-the-future'
  expect(kalends.health().warnings).toMatchObject([{ code, subject: 'ending' }])
  expect(await kalends.doctor()).toContainEqual(expect.objectContaining({ code, subjects: ['ending'] }))
  expect((await kalends.schedules.explain('ending')).reasons[0]).toMatch(/clock was ahead\. Reset it/)
  expect((await kalends.schedules.explain('used up')).reasons[0]).toMatch(/it has succeeded once/)
  await kalends.schedules.reset('ending')
  await after.advance('1h')
  expect(await slots(after, 'ending', '2026-03-01T09:45:00Z')).toContain('2026-03-01T10:00:00.000Z success')
})

test('if a schedule is resumed after the clock has been three days ahead, each slot runs exactly once [S14]', async () => {
  const start = await machine()
  const before = await start('2026-03-01T08:30:00Z')
  await before.kalends.schedules.create({ id: 's', task: report, timer: 'hourly', catchUp: 1 })
  await before.advance('1h')
  await before.close()
  const ahead = await start('2026-03-04T08:55:00Z')
  await ahead.advance('10min')
  await ahead.close()
  const after = await start('2026-03-01T09:45:00Z')
  await after.kalends.schedules.pause('s')
  await after.kalends.schedules.resume('s')
  await after.advance('4d')
  const ran = (await after.kalends.schedules.history('s', { limit: 1000 }))
    .map(({ slot, state }) => [slot?.getTime() ?? 0, state] as const)
    .toReversed()
  const first = Date.parse('2026-03-01T09:00:00Z')
  expect(ran).toEqual(Array.from({ length: 97 }, (_, hour) => [first + hour * 3_600_000, 'success']))
})

test('setting the clock back by an hour repeats no slot, even after a resume or an edit [S14]', async () => {
  const start = await machine()
  const before = await start('2026-03-01T08:59:30Z')
  for (const id of ['left', 'resumed', 'edited'])
    await before.kalends.schedules.create({ id, task: report, timer: 'minutely' })
  await before.advance('1h')
  await before.close()
  const after = await start('2026-03-01T08:59:30Z')
  await after.kalends.schedules.pause('resumed')
  await after.kalends.schedules.resume('resumed')
  await after.kalends.schedules.update('edited', { timer: '*:0/2' })
  expect((await after.kalends.doctor()).map(({ code }) => code)).toContain('slot-in-the-future')
  await after.advance('2h')
  for (const id of ['left', 'resumed', 'edited']) {
    const history = await after.kalends.schedules.history(id, { limit: 1000 })
    expect(new Set(history.map(({ slot }) => slot?.getTime())).size).toBe(history.length)
    expect(history.every(({ state }) => state === 'success')).toBe(true)
    expect(history).toHaveLength(id === 'edited' ? 90 : 120)
  }
  expect((await after.kalends.doctor()).map(({ code }) => code)).not.toContain('slot-in-the-future')
})

test('runNow uses the current time as the slot, even if a future slot was already decided [S14]', async () => {
  const start = await machine()
  const ahead = await start('2098-01-01T00:30:00Z')
  await createAll(ahead.kalends)
  await ahead.advance('2h')
  await ahead.close()
  const after = await start('2026-03-01T09:45:00Z')
  for (const id of IDS) {
    const job = await after.waitFor(await after.kalends.schedules.runNow(id))
    expect(job).toMatchObject({ state: 'success', slot: after.now() })
    const again = await after.waitFor(await after.kalends.schedules.runNow(id))
    expect(again.slot).toEqual(new Date(after.now().getTime() + 1))
  }
})
