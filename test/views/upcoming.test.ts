import * as fc from 'fast-check'
import { beforeEach, expect, it } from 'vitest'
import { Kalends } from '../../src/index.ts'
import { elapsesOf } from '../../src/model/plan.ts'
import { UpcomingRuns } from '../../src/views/upcoming.ts'
import { standingClock } from '../kalends/movable-timers.ts'
import { eachDatabase } from '../support/databases.ts'

// The clock stands still, because a view that exceeds its time limit returns incomplete results.
beforeEach(standingClock)

eachDatabase(({ fresh }) => {
  it('the earliest run comes first, even if its schedule is read last', async () => {
    const database = await fresh()
    await using kalends = await Kalends.open(database.url, { retention: false })
    // The schedules are read in several pieces. The last schedule runs first, and again at the same time as the others.
    const others = Array.from({ length: 1200 }, (_, index) => `('a${1000 + index}', 'noop', '*-*-* 10:00')`)
    await database.query(
      `INSERT INTO periodic_task (id, task, timer) VALUES ${others.join(', ')}, ('z', 'noop', '*-*-* 9,10:00')`,
    )

    const day = { from: new Date('2030-01-01T00:00:00Z'), to: new Date('2030-01-02T00:00:00Z') }
    const { items, complete } = await kalends.views.upcoming({ ...day, limit: 3 })

    expect(
      items.map(({ at, scheduleId: schedule }) => `${schedule} ${at.toISOString().slice(11, 16)}`),
    ).toEqual(['z 09:00', 'a1000 10:00', 'a1001 10:00'])
    expect(complete).toBe(false)
    await database.drop()
  })

  it('the next run is found even if its schedule follows thousands of inactive ones', async () => {
    const database = await fresh()
    await using kalends = await Kalends.open(database.url, { retention: false })
    // Active and paused schedules alternate at first; many paused and then many active ones follow, so that the read
    // strategy changes in between.
    const rows = Array.from({ length: 4500 }, (_, index) => {
      const isActive = index < 500 ? index % 2 === 0 : index >= 2500
      const hours = isActive ? 10 : 8
      return `('a${1000 + index}', '${isActive ? 'on' : 'off'}', 'x', '*-*-* ${hours}:00', ${isActive ? 1 : 0})`
    })
    await database.query(
      `INSERT INTO periodic_task (id, task, group_, timer, enabled) VALUES ${rows.join(', ')}, ('z', 'on', 'x', '*-*-* 9:00', 1)`,
    )

    const day = { from: new Date('2030-01-01T00:00:00Z'), to: new Date('2030-01-02T00:00:00Z') }
    for (const conditions of [{}, { group: 'x' }, { task: 'on' }]) {
      const { items, complete } = await kalends.views.upcoming({ ...day, ...conditions, limit: 300 })
      expect(items.map(({ scheduleId: schedule }) => schedule)).toEqual([
        'z',
        ...Array.from({ length: 250 }, (_, index) => `a${1000 + 2 * index}`),
        ...Array.from({ length: 49 }, (_, index) => `a${3500 + index}`),
      ])
      expect(complete).toBe(false)
    }
    const off = await kalends.views.upcoming({ ...day, task: 'off' })
    expect(off).toEqual({ items: [], complete: true })
    await database.drop()
  })

  it('at most 20,000 active schedules are read; if there are more, `complete` is false', async () => {
    const database = await fresh()
    await using kalends = await Kalends.open(database.url, { retention: false })
    // One of the first schedules is paused, so that the 20,000th active schedule is not the last of the piece with which it is read.
    for (let from = 0; from < 20_001; from += 5000) {
      const rows = Array.from(
        { length: Math.min(5000, 20_001 - from) },
        (_, index) =>
          `('s${10_000 + from + index}', 'noop', '2029-01-01 10:00', ${from + index === 7 ? 0 : 1})`,
      )
      await database.query(`INSERT INTO periodic_task (id, task, timer, enabled) VALUES ${rows.join(', ')}`)
    }
    const insert = (id: string) =>
      database.query(`INSERT INTO periodic_task (id, task, timer) VALUES ('${id}', 'noop', '*-*-* 9:00')`)
    const day = { from: new Date('2030-01-01T00:00:00Z'), to: new Date('2030-01-02T00:00:00Z') }
    const seen = async () => {
      const { items, complete } = await kalends.views.upcoming(day)
      return { seen: items.map(({ scheduleId: schedule }) => schedule), complete }
    }

    await insert('z')
    expect(await seen()).toEqual({ seen: [], complete: false })
    await database.query("DELETE FROM periodic_task WHERE id IN ('s10008', 's10009')")
    expect(await seen()).toEqual({ seen: ['z'], complete: true })
    await database.drop()
  })

  it('if more than 20,000 schedules are planned, only those with the earliest next runs are read', async () => {
    const database = await fresh()
    await using kalends = await Kalends.open(database.url, { retention: false })
    const timer = '2029..2030-*-* 10:00'
    const planned = (id: string, nextrun: string, isByHand = 0) =>
      `('${id}', 'noop', '${timer}', '${nextrun}', '1|${timer}|0|||', '${nextrun}', ${isByHand})`
    const insert = (rows: readonly string[]) =>
      database.query(
        `INSERT INTO periodic_task (id, task, timer, nextrun, planned_from, planned_nextrun, planned_by_hand) VALUES ${rows.join(', ')}`,
      )
    for (let from = 0; from < 20_500; from += 500) {
      const ids = Array.from({ length: 500 }, (_, index) => `s${10_000 + from + index}`)
      await insert(ids.map((id) => planned(id, '2030-06-01 10:00:00.000', 1)))
    }
    // The next run of the schedule z is set manually to a time at which its timer does not elapse.
    await insert([planned('y', '2030-01-01 10:00:00.000'), planned('z', '2030-01-01 09:59:00.000', 1)])
    const wrong = await database.query("SELECT id FROM periodic_task WHERE wake_at < '2000-01-01'")
    expect(wrong).toEqual([])

    const from = new Date('2030-01-01T00:00:00Z')
    const runs = async (to: string, limit?: number) => {
      const { items, complete } = await kalends.views.upcoming({ from, to: new Date(to), limit })
      return {
        runs: items.map(({ at, scheduleId }) => `${scheduleId} ${at.toISOString().slice(5, 16)}`),
        complete,
      }
    }
    expect(await runs('2030-01-03T00:00:00Z')).toEqual({
      runs: ['z 01-01T09:59', 'z 01-01T10:00', 'y 01-01T10:00', 'z 01-02T10:00', 'y 01-02T10:00'],
      complete: true,
    })
    expect(await runs('2030-12-01T00:00:00Z', 2)).toEqual({
      runs: ['z 01-01T09:59', 'z 01-01T10:00'],
      complete: false,
    })
    await database.drop()
  })
})

it('the reported run times are the earliest of all run times, in order', () => {
  const from = new Date('2030-03-30T22:00:00Z')
  const within = (hours: number) => new Date(from.getTime() + hours * 3_600_000)
  const hour = fc.integer({ min: -30, max: 30 }).map(within)
  const row = fc.record({
    timer: fc.constantFrom(
      'hourly',
      '*-*-* *:00/20',
      '*-*-* 2:30 Europe/Berlin',
      '2030-03-31 00:00',
      'cron 5 * * * *',
      'every 7min',
      'every 5min after finish',
      'no timer at all',
    ),
    jitter: fc.constantFrom(0, 0, 600_000),
    starts: fc.option(hour, { freq: 4 }),
    ends: fc.option(hour, { freq: 4 }),
    createdAt: hour,
    // Planned or set manually; null if neither.
    nextRunAt: fc.option(hour, { freq: 2 }),
  })
  const rows = fc
    .array(row, { maxLength: 12 })
    .map((some) => some.map((one, index) => ({ ...one, id: `s${index}`, task: 'noop' })))
  const pieces = fc.integer({ min: 1, max: 12 })
  const lasting = fc.integer({ min: 0, max: 24 }).map(within)
  fc.assert(
    fc.property(rows, pieces, lasting, fc.integer({ min: 1, max: 40 }), (all, size, to, limit) => {
      const upcoming = new UpcomingRuns(from, to, limit)
      // A schedule can be read twice if its position changes during the read.
      const read = [...all, ...all.slice(0, 2)]
      for (let start = 0; start < read.length; start += size) upcoming.add(read.slice(start, start + size))

      const before = new Date(from.getTime() - 1)
      const readable = all.filter((one) => one.timer !== 'no timer at all')
      const expected = readable.flatMap((one) => {
        const isOnce = one.timer === 'every 5min after finish'
        const event = isOnce ? null : elapsesOf(one, from)
        const isAhead = one.nextRunAt !== null && one.nextRunAt >= from
        const found = []
        const first = isAhead ? one.nextRunAt : event?.next(before)
        for (let at = first ?? null; at !== null && at < to; at = event?.next(at) ?? null)
          found.push({ at, scheduleId: one.id, task: one.task })
        return found
      })
      expect(upcoming.found()).toEqual({
        items: expected.toSorted((one, other) => one.at.getTime() - other.at.getTime()).slice(0, limit),
        isAll: expected.length <= limit,
      })
    }),
  )
})
