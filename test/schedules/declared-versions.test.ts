/** Declared sets during deploys: removed schedules, concurrent versions, rollbacks, deleted rows, first starts. */
/* oxlint-disable unicorn/consistent-function-scoping -- keep helpers inside their test */
import { describe, expect, it } from 'vitest'
import { type Kalends, task } from '../../src/index.ts'
import type { Declaration, OnRemoved } from '../../src/schedules/declared.ts'
import { LEASE_MS, movableTimers } from '../kalends/movable-timers.ts'
import { collectingLogger, ended, gate, type Scene, scene, signal, until } from '../kalends/scene.ts'
import { type DatabaseUnderTest, eachDatabase } from '../support/databases.ts'

const report = task('report')
type Schedules = readonly (Declaration<Record<string, unknown>> & { readonly id: string })[]
const monthly = (id: string) => ({ id, task: report, timer: 'monthly' })
const yearly = (id: string) => ({ id, task: report, timer: 'yearly' })

interface Deployed {
  readonly kalends: Kalends
  readonly messages: () => string[]
}

/** Starts a worker with this version of the code. */
async function live(
  { open }: Scene,
  worker: string,
  schedules: Schedules,
  options: {
    readonly set?: string
    readonly onRemoved?: OnRemoved
    readonly handler?: () => unknown
    readonly concurrency?: 0
  } = {},
): Promise<Deployed> {
  const { logger, messages } = collectingLogger()
  const kalends = await open({ lease: LEASE_MS, worker, logger })
  kalends.handle(report, options.handler ?? (() => {}))
  kalends.declare(
    options.set ?? 'set',
    [...schedules],
    options.onRemoved === undefined ? {} : { onRemoved: options.onRemoved },
  )
  await kalends.start({ concurrency: options.concurrency })
  return { kalends, messages }
}

/**
 * A scene that can run later passes over the declared sets, which happen once per lease. The test advances the time.
 */
async function deploys(under: Pick<DatabaseUnderTest, 'fresh'>) {
  const on = await scene(under)
  const { beat, beatUntil } = movableTimers(on)
  /** Waits for a pass over the declared sets that begins after this call. */
  const laterPass = async ({ kalends }: Deployed): Promise<void> => {
    const last = () =>
      kalends
        .health()
        .loops.find(({ name }) => name === 'declared sets')
        ?.lastGoodPassAt?.getTime() ?? 0
    for (let round = 0; round < 2; round += 1) {
      const before = last()
      await beat()
      await beatUntil(async () => (last() > before ? true : null))
    }
  }
  const becomes = (deployed: Deployed, id: string, status: string) =>
    beatUntil(async () => ((await statusOf(deployed, id)) === status ? true : null))
  return { ...on, beatUntil, laterPass, becomes }
}

const statusOf = async ({ kalends }: Deployed, id: string) =>
  (await kalends.schedules.get(id))?.status ?? 'none'
const timerOf = async ({ kalends }: Deployed, id: string) => (await kalends.schedules.get(id))?.timer
const isPlanned = ({ kalends }: Deployed, id: string) =>
  until(async () => ((await kalends.schedules.get(id))?.nextRunAt == null ? null : true))

eachDatabase((under) => {
  describe('schedules that no live worker declares any longer', () => {
    const deployTwice = async (onRemoved?: OnRemoved) => {
      const on = await deploys(under)
      const old = await live(
        on,
        'w',
        [monthly('stays'), monthly('goes')],
        onRemoved === undefined ? {} : { onRemoved },
      )
      await isPlanned(old, 'goes')
      await on.database.query("UPDATE periodic_task SET run_count = 7 WHERE id = 'goes'")
      await old.kalends.stop()
      const now = await live(on, 'w', [monthly('stays')], onRemoved === undefined ? {} : { onRemoved })
      return { on, now }
    }

    it('a schedule that is no longer declared is retired: it stops running and is reported, and its row is kept [D5]', async () => {
      const { on, now } = await deployTwice()
      expect(await now.kalends.schedules.get('goes')).toMatchObject({
        status: 'retired',
        enabled: true,
        nextRunAt: null,
        runCount: 7,
        timer: 'monthly',
      })
      expect(now.messages()).toContain("warn: Schedule 'goes' is no longer declared: it is retired")
      expect(await statusOf(now, 'stays')).toBe('active')
      // Planning does not reactivate it, and later passes report nothing.
      await on.laterPass(now)
      expect(await statusOf(now, 'goes')).toBe('retired')
      expect(now.messages().filter((message) => message.includes('is no longer declared'))).toHaveLength(1)
    })

    it('a retired schedule is reactivated when it is declared again: it is planned from now, and keeps its run count', async () => {
      const { on, now } = await deployTwice()
      // With this last slot, many slots would have been due if the schedule had not been retired.
      await on.database.query(
        "UPDATE periodic_task SET last_slot = '2020-01-01 00:00:00.000' WHERE id = 'goes'",
      )
      await now.kalends.stop()
      const again = await live(on, 'w', [monthly('stays'), { ...monthly('goes'), catchUp: 100 }])
      await isPlanned(again, 'goes')
      const goes = await again.kalends.schedules.get('goes')
      expect(goes).toMatchObject({ status: 'active', waitingFor: null, runCount: 7, catchUp: 100 })
      expect(goes?.nextRunAt?.getTime()).toBeGreaterThan(Date.now())
      expect(again.messages()).toContain("info: Declared schedule 'goes' is declared again: it continues")
      expect(await on.database.query('SELECT id FROM job')).toEqual([])
    })

    it('a schedule that an admin has paused stays paused when it is retired and reactivated [D4]', async () => {
      const on = await deploys(under)
      const old = await live(on, 'w', [monthly('goes')])
      await on.database.query('UPDATE periodic_task SET enabled = 0')
      await old.kalends.stop()
      const without = await live(on, 'w', [])
      expect(await statusOf(without, 'goes')).toBe('paused')
      await without.kalends.stop()
      const again = await live(on, 'w', [monthly('goes')])
      expect(await again.kalends.schedules.get('goes')).toMatchObject({ status: 'paused', enabled: false })
    })

    it("a retired schedule's running job finishes, and the schedule stays retired", async () => {
      const on = await deploys(under)
      const release = gate()
      const runs = await live(on, 'runs', [], { set: 'other', handler: () => release.promise })
      const old = await live(on, 'w', [{ ...monthly('goes'), timer: 'every 1h after finish' }], {
        concurrency: 0,
      })
      const started = signal(runs.kalends, 'started')
      const id = await old.kalends.schedules.runNow('goes')
      await started
      await old.kalends.stop()
      const now = await live(on, 'w', [], { concurrency: 0 })
      expect(await statusOf(now, 'goes')).toBe('retired')
      release.open()
      expect(await ended(now.kalends, id)).toMatchObject({ state: 'success' })
      expect(await now.kalends.schedules.get('goes')).toMatchObject({
        status: 'retired',
        runCount: 1,
        nextRunAt: null,
      })
    })

    it("with onRemoved 'delete', the schedule is deleted, and its history stays [D5]", async () => {
      const on = await deploys(under)
      const old = await live(on, 'w', [monthly('stays'), monthly('goes')], { onRemoved: 'delete' })
      await ended(old.kalends, await old.kalends.schedules.runNow('goes'))
      await old.kalends.stop()
      const now = await live(on, 'w', [monthly('stays')], { onRemoved: 'delete' })
      expect(await statusOf(now, 'goes')).toBe('none')
      expect(await now.kalends.jobs.list({ scheduleId: 'goes' })).toMatchObject({ total: 1 })
      expect(now.messages()).toContain("warn: Schedule 'goes' is no longer declared: it is deleted")
    })

    it("with onRemoved 'keep', the schedule continues [D5]", async () => {
      const { on, now } = await deployTwice('keep')
      await on.laterPass(now)
      expect(await now.kalends.schedules.get('goes')).toMatchObject({ status: 'active', waitingFor: null })
      expect(now.messages().filter((message) => message.includes("'goes'"))).toEqual([
        "warn: Schedule 'goes' is no longer declared: it is kept",
      ])
    })
  })

  describe('a rolling deploy', () => {
    it('an older version never undoes a newer one; schedules that only the older one declares continue until its last worker is gone [D5, L15]', async () => {
      const on = await deploys(under)
      const old = await live(on, 'old-1', [monthly('a'), monthly('b')])
      await isPlanned(old, 'b')
      const next = await live(on, 'new-1', [yearly('a'), yearly('c')])
      expect([await timerOf(next, 'a'), await statusOf(next, 'b'), await statusOf(next, 'c')]).toEqual([
        'yearly',
        'active',
        'active',
      ])
      // Later passes of the old version, and another worker with that version, only read.
      await on.laterPass(old)
      const another = await live(on, 'old-2', [monthly('a'), monthly('b')])
      expect(another.messages()).toContain(
        "warn: Another live worker has a newer version of the set 'set': this worker does not change the schedules of the set",
      )
      await on.laterPass(another)
      await on.laterPass(next)
      expect([await timerOf(next, 'a'), await statusOf(next, 'b'), await statusOf(next, 'c')]).toEqual([
        'yearly',
        'active',
        'active',
      ])
      // The workers wrote nothing in between, because there was nothing to repair.
      const changes = next.messages().filter((message) => message.includes('was changed'))
      expect(changes).toEqual(["info: Declared schedule 'a' was changed: timer"])
      await Promise.all([old.kalends.stop(), another.kalends.stop()])
      await on.becomes(next, 'b', 'retired')
      expect(await timerOf(next, 'a')).toBe('yearly')
    })

    it('after a rollback, the older version takes over in a later pass once the last worker with the newer one is gone', async () => {
      const on = await deploys(under)
      const old = await live(on, 'old', [monthly('a'), monthly('b')])
      const next = await live(on, 'new', [yearly('a'), yearly('c')])
      expect(await timerOf(old, 'a')).toBe('yearly')
      await next.kalends.stop()
      await on.becomes(old, 'c', 'retired')
      expect([await timerOf(old, 'a'), await statusOf(old, 'b')]).toEqual(['monthly', 'active'])
      // Logged after the write.
      const told = "info: Declared schedule 'a' was changed: timer"
      await until(() => Promise.resolve(old.messages().includes(told) || null))
      expect(await on.database.query('SELECT id FROM job')).toEqual([])
      // The newer version starts again, and counts as the newer one again.
      const again = await live(on, 'new', [yearly('a'), yearly('c')])
      expect([await timerOf(again, 'a'), await statusOf(again, 'c')]).toEqual(['yearly', 'active'])
    })

    it('after a rollback, a crashed worker with the newer version delays the older one by at most the lease', async () => {
      const on = await deploys(under)
      const next = await live(on, 'new', [yearly('a')])
      const [sets] = await on.database.query('SELECT sets FROM worker')
      await next.kalends.stop()
      const old = await live(on, 'old', [monthly('a')])
      // As if the older version had been seen first, and a worker with the newer version had crashed.
      await on.database.query(
        'UPDATE declared_set SET first_seen = ? WHERE hash IN (SELECT hash FROM (SELECT hash FROM declared_set ORDER BY first_seen LIMIT 1) AS seen)',
        ['2199-01-01 00:00:00.000'],
      )
      await on.database.query(
        "INSERT INTO worker (id, name, host, pid, tasks, sets, heartbeat) VALUES ('new/dead', 'new', 'h', 1, '[]', ?, '2020-01-01 00:00:00.000')",
        [sets?.['sets']],
      )
      await on.database.query("UPDATE periodic_task SET timer = 'weekly'")
      await on.beatUntil(async () => ((await timerOf(old, 'a')) === 'monthly' ? true : null))
      expect(await on.database.query("SELECT id FROM worker WHERE id = 'new/dead'")).toEqual([])
    })

    it('two workers with different versions that start at the same moment agree on one version', async () => {
      const on = await deploys(under)
      const [one, two] = await Promise.all([
        live(on, 'one', [monthly('a'), monthly('b')]),
        live(on, 'two', [yearly('a'), yearly('c')]),
      ])
      await on.laterPass(one)
      await on.laterPass(two)
      const seen = await on.database.query('SELECT schedules FROM declared_set ORDER BY first_seen, hash')
      const isTwoNewest = String(seen.at(-1)?.['schedules']).includes('"c"')
      expect(await timerOf(one, 'a')).toBe(isTwoNewest ? 'yearly' : 'monthly')
      expect(await statusOf(one, isTwoNewest ? 'c' : 'b')).toBe('active')
      // The older version's schedule may or may not exist, but it is not retired while its worker is alive.
      expect(await statusOf(one, isTwoNewest ? 'b' : 'c')).not.toBe('retired')
    })
  })

  it('two services with separate sets never affect each other, whichever of them is running [D2, L15]', async () => {
    const on = await deploys(under)
    const mail = await live(on, 'mail', [yearly('send')], { set: 'mail' })
    const shop = await live(on, 'shop', [yearly('bill')], { set: 'shop', onRemoved: 'delete' })
    await isPlanned(mail, 'send')
    await isPlanned(shop, 'bill')
    const before = await on.database.query("SELECT * FROM periodic_task WHERE id = 'send'")
    await mail.kalends.stop()
    await on.laterPass(shop)
    await shop.kalends.stop()
    const next = await live(on, 'shop', [yearly('bill'), yearly('ship')], {
      set: 'shop',
      onRemoved: 'delete',
    })
    await on.laterPass(next)
    expect(await on.database.query("SELECT * FROM periodic_task WHERE id = 'send'")).toEqual(before)
  })

  describe('a declared row that is deleted or edited while workers run', () => {
    it('a deleted declared row is recreated in a later pass, without a backlog and without a first run [D6]', async () => {
      const on = await deploys(under)
      const up = await live(on, 'w', [{ ...monthly('a'), catchUp: 100, firstRun: 'now' as const }])
      await until(async () => ((await up.kalends.schedules.get('a'))?.runCount === 1 ? true : null))
      await on.database.query('DELETE FROM periodic_task')
      await on.becomes(up, 'a', 'active')
      await isPlanned(up, 'a')
      expect(await up.kalends.schedules.get('a')).toMatchObject({ runCount: 0, declaredBy: 'set' })
      // The recreated row has no first run.
      expect(await on.database.query('SELECT id FROM job')).toHaveLength(1)
    })

    it('an edited declared row is restored in a later pass, except for enabled', async () => {
      const on = await deploys(under)
      const up = await live(on, 'w', [monthly('a')])
      await on.database.query("UPDATE periodic_task SET timer = 'yearly', enabled = 0")
      await on.beatUntil(async () => ((await timerOf(up, 'a')) === 'monthly' ? true : null))
      expect(await statusOf(up, 'a')).toBe('paused')
    })
  })

  describe('the first run', () => {
    const runsOf = async ({ kalends }: Deployed, id: string) =>
      (await kalends.jobs.list({ scheduleId: id })).items.filter(({ state }) => state !== 'skipped').length

    it('a new schedule waits for its next run time by default; with `firstRun: now`, it runs at once, but only if the row is new [D8]', async () => {
      const on = await deploys(under)
      const code = [
        { ...monthly('a'), timer: 'yearly' },
        { ...monthly('b'), timer: 'yearly', firstRun: 'now' as const },
      ]
      const first = await live(on, 'w', code)
      await until(async () => ((await first.kalends.schedules.get('b'))?.runCount === 1 ? true : null))
      await isPlanned(first, 'a')
      await isPlanned(first, 'b')
      await first.kalends.stop()
      const again = await live(on, 'w', code)
      await on.laterPass(again)
      expect([await runsOf(again, 'a'), await runsOf(again, 'b')]).toEqual([0, 1])
      expect(await again.kalends.schedules.get('b')).toMatchObject({ status: 'active' })
    })

    it('with `firstRun: if-due`, a schedule runs at once only if its timer has elapsed in the current minute [D8]', async () => {
      const on = await deploys(under)
      const [clock] = await on.database.query(
        under.kind === 'sqlite'
          ? "SELECT strftime('%H:%M', 'now') AS hm"
          : "SELECT DATE_FORMAT(UTC_TIMESTAMP(), '%H:%i') AS hm",
      )
      const [hours = 0, minutes = 0] = String(clock?.['hm']).split(':').map(Number)
      const firstRun = 'if-due' as const
      const up = await live(on, 'w', [
        // The minute may change before the worker starts.
        {
          ...monthly('due'),
          timer: `*:${Array.from({ length: 10 }, (_, index) => (minutes + index) % 60).join()}`,
          firstRun,
        },
        { ...monthly('not'), timer: `${(hours + 12) % 24}:${minutes}`, firstRun },
        { ...monthly('over'), timer: '2020-01-01', firstRun },
      ])
      await until(async () => ((await up.kalends.schedules.get('due'))?.runCount ? true : null))
      await isPlanned(up, 'not')
      expect([await runsOf(up, 'not'), await runsOf(up, 'over')]).toEqual([0, 0])
      expect(await statusOf(up, 'over')).toBe('done')
    })
  })

  describe("Kalends' own housekeeping", () => {
    it('every worker with an executor declares the housekeeping set [D9]', async () => {
      const { open } = await scene(under)
      const kalends = await open({ retention: {} })
      await kalends.start()
      expect(await kalends.schedules.get('kalends.prune')).toMatchObject({
        task: 'kalends.prune',
        declaredBy: 'kalends',
        args: { ageMs: 30 * 86_400_000, perSchedule: 10_000 },
        status: 'active',
      })
      expect(() => kalends.declare('kalends', [])).toThrow()
    })
  })
})
