import { expect, it } from 'vitest'
import { Kalends } from '../../src/index.ts'
import { eachDatabase } from '../support/databases.ts'

eachDatabase(({ fresh }) => {
  it('what comes next is the earliest of all schedules, also of those that are looked at last', async () => {
    const database = await fresh()
    await using kalends = await Kalends.open(database.url, { retention: false })
    // More than are looked at in one piece; the very last goes off first, and once more at the time of the others.
    const others = Array.from({ length: 1200 }, (_, index) => `('a${1000 + index}', 'noop', '*-*-* 10:00')`)
    await database.query(
      `INSERT INTO periodic_task (id, task, timer) VALUES ${others.join(', ')}, ('z', 'noop', '*-*-* 9,10:00')`,
    )

    const day = { from: new Date('2030-01-01T00:00:00Z'), to: new Date('2030-01-02T00:00:00Z') }
    const { items, complete } = await kalends.views.upcoming({ ...day, limit: 3 })

    expect(items.map(({ at, schedule }) => `${schedule} ${at.toISOString().slice(11, 16)}`)).toEqual([
      'z 09:00',
      'a1000 10:00',
      'a1001 10:00',
    ])
    expect(complete).toBe(false)
    await database.drop()
  })
})
