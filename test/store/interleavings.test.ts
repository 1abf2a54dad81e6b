/**
 * Interleaves the statements of concurrent workers and people on the real store in different orders, with a crash at
 * any step. The invariants of the design hold in every intermediate state, and nothing is lost at the end.
 *
 * For every pair of actors, the test runs three random orders, each with at most one crash. For two workers, it also
 * runs all orders in which one of them pauses once. KALENDS_INTERLEAVINGS=all adds every distinguishable order; a
 * number sets how many random orders to run instead of three. KALENDS_SEED sets the seed, which is printed.
 */
import { inspect } from 'node:util'
import { beforeAll, it } from 'vitest'
import { randomOf } from '../../bench/chaos/random.ts'
import { openStore } from '../support/open-store.ts'
import { eachDatabase, type TestDatabase } from '../support/databases.ts'
import { expectNoFault } from '../support/fault.ts'
import { Actor, type Clock, Crash } from './interleavings-actors.ts'
import {
  AllOrders,
  type Choose,
  inTurns,
  interleave,
  OnePause,
  randomOrder,
} from './interleavings-explore.ts'
import {
  countEnded,
  look,
  type Picture,
  wrongAtEnd,
  wrongChange,
  wrongNow,
} from './interleavings-invariants.ts'
import { PEOPLE, type Program, recover, reset, START, WORKERS } from './interleavings-scene.ts'

const amount = process.env['KALENDS_INTERLEAVINGS'] ?? ''
const isAll = amount === 'all'
const ORDERS_OF_A_PAIR = isAll || amount === '' ? 3 : Number(amount)
const ORDERS_OF_THREE = ORDERS_OF_A_PAIR * 30
const SEED = Number(process.env['KALENDS_SEED'] ?? 20261121)

const everyone = [...WORKERS, ...PEOPLE]
/** At least one actor of each pair is a worker. The pairs of `a/1 submits` also cover those of `b/1 submits`. */
const pairs = WORKERS.flatMap((one, index) =>
  everyone.slice(index + 1).map((other): [Program, Program] => [one, other]),
).filter(([one]) => one.name !== 'b/1 submits')

/** Whether to run the orders in which one actor pauses: only for two workers. */
const isPaused = (programs: readonly Program[]) => programs.every(({ worker }) => worker !== null)

eachDatabase(({ kind, fresh }) => {
  const clock: Clock = { now: START }
  let database: TestDatabase
  let actors: Actor[] = []
  let last: Actor
  const tally = { orders: 0, steps: 0, crashes: 0, givenUp: 0 }

  beforeAll(async () => {
    database = await fresh()
    await (await openStore(database.url)).close()
    if (kind === 'sqlite') await database.query('PRAGMA synchronous = OFF')
    for (const name of ['one', 'two', 'three']) actors.push(await Actor.open(name, database, clock))
    last = await Actor.open('last', database, clock)
    last.release()
    return async () => {
      for (const actor of [...actors, last]) await actor.close()
      await database.drop()
      console.log(
        `${kind}: ${tally.orders} orders of ${tally.steps} steps, ${tally.crashes} with a crash, ${tally.givenUp} given up as equivalent to another; seed ${SEED}`,
      )
    }
  })

  /** @returns the violations */
  async function runOrder(programs: readonly Program[], crashes: number, choose: Choose): Promise<string[]> {
    await reset(database, clock)
    const taking = actors.slice(0, programs.length)
    const byActor = new Map(programs.map((program, index) => [taking[index]?.name ?? '', program]))
    const begin = await look(database)
    let before: Picture = begin
    const wrong: string[] = []
    const ended = new Map<string, { runs: number; errors: number }>()
    for (const actor of taking)
      await actor.begin(async (self) => await byActor.get(self.name)?.run(self, clock))
    let hasCrashed = false
    const order = await interleave(taking, crashes, choose, async (actor, choice) => {
      tally.steps += 1
      hasCrashed ||= choice.crash
      // A read changes nothing, and a write in a transaction becomes visible only at the commit.
      if (choice.kind === 'read' || choice.kind === 'lock') return
      const after = await look(database)
      const program = byActor.get(actor.name)
      if (program !== undefined) wrong.push(...wrongChange(program, before, after, clock))
      wrong.push(...wrongNow(after, clock))
      countEnded(before, after, ended)
      before = after
    })
    if (order === null) {
      tally.givenUp += 1
      return []
    }
    tally.orders += 1
    if (hasCrashed) tally.crashes += 1
    for (const actor of taking)
      if (actor.failure !== null && !(actor.failure instanceof Crash))
        wrong.push(`${byActor.get(actor.name)?.name} failed: ${inspect(actor.failure)}`)
    const left = await look(database)
    wrong.push(...wrongNow(left, clock))
    await recover(last, clock)
    const end = await look(database)
    countEnded(left, end, ended)
    const changed = new Set(programs.flatMap((program) => program.changes ?? []))
    wrong.push(...wrongNow(end, clock), ...wrongAtEnd(begin, end, clock, ended, changed))
    if (!hasCrashed) wrong.push(...programs.flatMap((program) => program.wrongAtEnd?.(end.schedules) ?? []))
    return wrong.length === 0 ? [] : [...new Set(wrong), '', ...order]
  }

  async function expectAllRight(programs: readonly Program[], orders: number, name: string): Promise<void> {
    const random = randomOf(SEED).fork(name)
    for (let index = 0; index < orders; index += 1) {
      const chance = () => random.int(0, 999_999) / 1_000_000
      const wrong = await runOrder(programs, 1, randomOrder(chance))
      expectNoFault(wrong, `order ${index} of seed ${SEED}`)
    }
  }

  it.each(pairs.map(([one, other]) => ({ name: `${one.name}, ${other.name}`, programs: [one, other] })))(
    'every rule holds in any order: $name',
    { timeout: isAll ? 24 * 3_600_000 : 120_000 },
    async ({ name, programs }) => {
      const paused = new OnePause(['one', 'two'])
      while (isPaused(programs) && paused.next()) expectNoFault(await runOrder(programs, 0, paused.choose))
      await expectAllRight(programs, ORDERS_OF_A_PAIR, name)
      if (!isAll) return
      for (const crashes of [0, 1]) {
        const orders = new AllOrders()
        while (orders.next()) expectNoFault(await runOrder(programs, crashes, orders.choose))
      }
    },
  )

  it('a worker whose marks have expired and now belong to another worker submits nothing', async () => {
    const programs = ['a/1 submits', 'b/1 submits', 'time passes'].flatMap((name) =>
      everyone.filter((program) => program.name === name),
    )
    // The number of steps of the marking transaction: its statements and the commit.
    const marking = kind === 'sqlite' ? 1 : 3
    const turns = inTurns([
      ['one', marking],
      ['three', 1],
      ['two', marking],
      ['one', Infinity],
      ['two', Infinity],
    ])
    expectNoFault(await runOrder(programs, 0, turns))
  })

  it('a manual run does not start beside a failed job that is put back at the same time', async () => {
    const programs = PEOPLE.filter(({ name }) =>
      ['a failed job is put back', 'a run is asked for'].includes(name),
    ).toSorted((a) => (a.name === 'a run is asked for' ? 1 : -1))
    // The job is put back, but the commit is delayed until the other actor waits for the job's key.
    const choose: Choose = (choices) =>
      choices.find(({ actor, kind: step }) => actor === 'one' && step !== 'commit') ??
      choices.find(({ actor }) => actor === 'two') ??
      choices[0] ??
      null
    expectNoFault(await runOrder(programs, 0, choose))
  })

  it('every rule holds for three random programs in random order', {
    timeout: isAll ? 24 * 3_600_000 : 300_000,
  }, async () => {
    const random = randomOf(SEED).fork('three')
    for (let index = 0; index < ORDERS_OF_THREE; index += 1) {
      const programs = [random.pick(WORKERS), random.pick(everyone), random.pick(everyone)]
      if (new Set(programs).size < programs.length) continue
      const names = programs.map((program) => program.name).join(', ')
      const chance = () => random.int(0, 999_999) / 1_000_000
      const wrong = await runOrder(programs, index % 2, randomOrder(chance))
      expectNoFault(wrong, `${names}; number ${index} of seed ${SEED}`)
    }
  })
})
