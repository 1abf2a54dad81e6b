/** The order of work on SQLite's single connection, and the limits for the API. */
import { setImmediate as turn } from 'node:timers/promises'
import { expect, it, onTestFinished, vi } from 'vitest'
import { OverloadedError } from '../../src/errors.ts'
import { admitted } from '../../src/store/admission.ts'
import type { Database, Use } from '../../src/store/database.ts'
import { SqliteDatabase } from '../../src/store/sqlite/database.ts'
import { Turns } from '../../src/store/sqlite/turns.ts'
import { gate } from '../kalends/scene.ts'

const settled = async (promises: readonly Promise<unknown>[]) => {
  await Promise.all(promises)
}

it('loops come before calls, and calls before the API; each kind keeps its order', async () => {
  const turns = new Turns()
  const held = gate()
  const order: string[] = []
  const first = turns.take('calls', () => held.promise)
  const take = (use: Use, name: string) => turns.take(use, async () => void order.push(name))
  const rest = [take('api', 'api'), take('calls', 'call 1'), take('loops', 'loop'), take('calls', 'call 2')]
  held.open()
  await settled([first, ...rest])
  expect(order).toEqual(['loop', 'call 1', 'call 2', 'api'])
})

it('the API gets a turn even while many turns of loops are waiting', async () => {
  const turns = new Turns()
  const held = gate()
  const order: string[] = []
  const first = turns.take('loops', () => held.promise)
  const loops = Array.from({ length: 40 }, () => turns.take('loops', async () => void order.push('loop')))
  const api = turns.take('api', async () => void order.push('api'))
  held.open()
  await settled([first, ...loops, api])
  expect(order.indexOf('api')).toBeLessThan(20)
})

it('while loops are busy, the application and the API alternate in their reserved turns', async () => {
  const turns = new Turns()
  const held = gate()
  const order: Use[] = []
  const first = turns.take('loops', () => held.promise)
  const take = (use: Use, count: number) =>
    Array.from({ length: count }, () => turns.take(use, async () => void order.push(use)))
  const work = [...take('loops', 100), ...take('calls', 20), ...take('api', 20)]
  held.open()
  await settled([first, ...work])
  const whileBusy = order.slice(0, order.lastIndexOf('loops'))
  expect(whileBusy.filter((use) => use !== 'loops').slice(0, 6)).toEqual([
    'api',
    'calls',
    'api',
    'calls',
    'api',
    'calls',
  ])
})

it.each(['loops', 'calls', 'api'] as const)(
  'the event loop runs between two turns of %s, even if each result starts the next turn [L67]',
  async (use) => {
    const turns = new Turns()
    const order: string[] = []
    const work = async () => {
      for (let step = 0; step < 3; step += 1) await turns.take(use, async () => void order.push('work'))
    }
    const ticks = (async () => {
      for (let tick = 0; tick < 6; tick += 1) {
        await turn()
        order.push('tick')
      }
    })()
    await settled([work(), work(), ticks])
    expect(order.filter((what) => what === 'work')).toHaveLength(6)
    expect(order.join(' ')).not.toMatch(/work work/)
  },
)

it('the event loop runs between the statements of a long transaction, which no other work enters [L67]', async () => {
  const database = await SqliteDatabase.open(':memory:')
  await database.run('CREATE TABLE t (id INTEGER)')
  let now = 0
  vi.spyOn(performance, 'now').mockImplementation(() => (now += 60))
  onTestFinished(() => void vi.restoreAllMocks())
  const order: string[] = []
  const long = database.transaction(async (sql) => {
    for (let id = 1; id <= 3; id += 1) {
      await sql.run('INSERT INTO t VALUES (?)', [id])
      order.push('statement')
    }
    throw new Error('rolled back')
  })
  const other = database.run('INSERT INTO t VALUES (9)')
  void (async () => {
    while (order.length < 8) {
      await turn()
      order.push('tick')
    }
  })()
  await expect(long).rejects.toThrow('rolled back')
  await other
  expect(order.join(' ')).not.toMatch(/statement statement/)
  expect(await database.rows('SELECT id FROM t')).toEqual([{ id: 9 }])
  await database.close()
})

it('the database keeps working even if a test has replaced the timers', async () => {
  vi.stubGlobal('setImmediate', () => {})
  onTestFinished(() => void vi.unstubAllGlobals())
  const database = await SqliteDatabase.open(':memory:')
  for (const one of [1, 2, 3]) expect(await database.rows('SELECT ? AS one', [one])).toEqual([{ one }])
  await database.close()
})

it('an error in a turn frees the connection, and waits are reported while they last', async () => {
  const turns = new Turns()
  const held = gate()
  expect(turns.longestWaitMs('loops')).toBe(0)
  const first = turns.take('calls', async () => {
    await held.promise
    throw new Error('no')
  })
  const second = turns.take('loops', async () => 'yes')
  await turn()
  expect(turns.longestWaitMs('loops')).toBeGreaterThan(0)
  held.open()
  await expect(first).rejects.toThrow('no')
  expect(await second).toBe('yes')
  expect(turns.longestWaitMs('loops')).toBe(0)
})

it('beyond the limits, work is rejected at once; work that waits too long is rejected later', async () => {
  const database = await SqliteDatabase.open(':memory:')
  const limited = admitted(database, { atOnce: 1, waiting: 2, waitMs: 10_000 })
  const held = gate()
  const first = limited.transaction(() => held.promise)
  const waiting = [limited.rows('SELECT 1 AS one'), limited.rows('SELECT 2 AS one')]
  await expect(limited.rows('SELECT 3 AS one')).rejects.toThrow(OverloadedError)

  const hasty: Database = admitted(database, { atOnce: 0, waiting: 1, waitMs: 1 })
  await expect(hasty.rows('SELECT 1')).rejects.toThrow(/Other requests kept the database busy/)

  held.open()
  await first
  expect(await Promise.all(waiting)).toEqual([[{ one: 1 }], [{ one: 2 }]])
  expect(await limited.rows('SELECT 4 AS one')).toEqual([{ one: 4 }])
  await database.close()
})
