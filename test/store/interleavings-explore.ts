/**
 * Orders of steps: all distinguishable orders, those with one pause, or random ones.
 *
 * To try all orders, a depth-first search runs the programs again for each order, because a database cannot be restored
 * to an earlier state. It uses sleep sets: of the orders that differ only in the order of independent steps, it runs
 * only one.
 */
import { type Actor, areDependent, type StepKind } from './interleavings-actors.ts'

/** The next choice: a step of an actor, or a crash before it. */
export interface Choice {
  readonly actor: string
  readonly crash: boolean
  readonly kind: StepKind
}

/** Chooses the next step; returns null if this order need not be completed. */
export type Choose = (choices: readonly Choice[]) => Choice | null

const nameOf = ({ actor, crash }: Choice) => `${actor}${crash ? '!' : ''}`

/**
 * Runs the actors' programs to their ends, one step at a time.
 *
 * @param crashes  the number of actors that may crash
 * @param afterStep  called after each step when all actors are at rest
 * @returns the order, or null if it was given up
 */
export async function interleave(
  actors: readonly Actor[],
  crashes: number,
  choose: Choose,
  afterStep: (actor: Actor, choice: Choice, text: string) => Promise<void>,
): Promise<string[] | null> {
  const order: string[] = []
  let crashesLeft = crashes
  for (;;) {
    for (const actor of actors) await actor.atRest()
    const able = actors.filter((actor) => actor.wants !== null)
    if (able.length === 0) {
      // If an actor still waits for a lock, the lock has already been released.
      if (actors.every((actor) => actor.hasEnded)) {
        for (const actor of actors) await actor.over()
        return order
      }
      continue
    }
    const choices = able.flatMap((actor): Choice[] => {
      const kind = actor.wants?.kind ?? 'read'
      const step = { actor: actor.name, crash: false, kind }
      return crashesLeft > 0 && actor.mayCrash ? [step, { ...step, crash: true }] : [step]
    })
    const choice = choose(choices)
    if (choice === null) {
      await giveUp(actors)
      return null
    }
    const actor = able.find(({ name }) => name === choice.actor)
    if (actor === undefined) throw new Error(`${choice.actor} cannot continue`)
    const text = actor.wants?.text ?? ''
    order.push(`${nameOf(choice)}: ${text.slice(0, 60)}`)
    if (choice.crash) {
      crashesLeft -= 1
      await actor.crash()
    } else actor.go()
    for (const each of actors) await each.atRest()
    await afterStep(actor, choice, text)
  }
}

async function giveUp(actors: readonly Actor[]): Promise<void> {
  for (const actor of actors) actor.abandon()
  for (const actor of actors) await actor.over()
}

interface Node {
  readonly choices: readonly Choice[]
  readonly sleeping: readonly Choice[]
  readonly done: Choice[]
  todo: Choice[]
}

/** Visits all distinguishable orders. */
export class AllOrders {
  readonly #path: Node[] = []
  /** How often a program has behaved differently in the same order. */
  diverged = 0
  #depth = 0

  /** @returns whether there is another order to run */
  next(): boolean {
    this.#depth = 0
    if (this.#path.length === 0) return true
    for (let last = this.#path.at(-1); last !== undefined; last = this.#path.at(-1)) {
      const [chosen] = last.todo
      if (chosen !== undefined) {
        last.done.push(chosen)
        last.todo = last.todo.slice(1)
        if (last.todo.length > 0) return true
      }
      this.#path.pop()
    }
    return false
  }

  readonly choose: Choose = (choices) => {
    const depth = this.#depth
    this.#depth += 1
    const known = this.#path[depth]
    if (known !== undefined) {
      const wanted = known.todo[0]
      const found = choices.find((choice) => wanted !== undefined && nameOf(choice) === nameOf(wanted))
      if (found !== undefined) return found
      // This happens after a deadlock, for which the server chooses the victim.
      this.diverged += 1
      this.#path.length = depth
    }
    const parent = this.#path[depth - 1]
    const before = parent?.todo[0]
    const sleeping =
      parent === undefined || before === undefined
        ? []
        : [...parent.sleeping, ...parent.done].filter(
            (asleep) =>
              asleep.actor !== before.actor &&
              !asleep.crash &&
              !before.crash &&
              !areDependent(asleep.kind, before.kind),
          )
    const todo = choices.filter((choice) => !sleeping.some((asleep) => nameOf(asleep) === nameOf(choice)))
    if (todo.length === 0) return null
    this.#path.push({ choices, sleeping, done: [], todo })
    return todo[0] ?? null
  }
}

/** A single order, given as the number of steps that each actor takes in turn. */
export function inTurns(turns: readonly (readonly [actor: string, steps: number])[]): Choose {
  const left = turns.map(([actor, steps]) => ({ actor, steps }))
  return (choices) => {
    for (;;) {
      const [turn] = left
      if (turn === undefined) return choices[0] ?? null
      const choice = choices.find(({ actor, crash }) => actor === turn.actor && !crash)
      if (choice !== undefined && turn.steps > 0) {
        turn.steps -= 1
        return choice
      }
      left.shift()
    }
  }
}

/**
 * All orders in which one actor runs up to some step, then the others run as far as possible, and then the first one
 * continues. This reveals most concurrency errors.
 */
export class OnePause {
  readonly #actors: readonly string[]
  #first = 0
  #steps = -1
  #taken = 0
  #hasPaused = true

  constructor(actors: readonly string[]) {
    this.#actors = actors
  }

  /** @returns whether there is another order to run */
  next(): boolean {
    if (this.#hasPaused) this.#steps += 1
    else {
      this.#first += 1
      // At least one step: otherwise, the others would run completely first.
      this.#steps = 1
    }
    this.#taken = 0
    this.#hasPaused = false
    return this.#first < this.#actors.length
  }

  readonly choose: Choose = (choices) => {
    const steps = choices.filter(({ crash }) => !crash)
    const first = steps.find(({ actor }) => actor === this.#actors[this.#first])
    const other = steps.find((choice) => choice !== first)
    if (first !== undefined && (this.#taken < this.#steps || other === undefined)) {
      this.#taken += 1
      return first
    }
    if (this.#taken === this.#steps && first !== undefined) this.#hasPaused = true
    return other ?? first ?? null
  }
}

/** Random orders: a worker usually continues for a few steps before another one gets its turn. */
export function randomOrder(random: () => number): Choose {
  let last: string | null = null
  const eagerness = 0.2 + 0.7 * random()
  return (choices) => {
    const steps = choices.filter(({ crash }) => !crash)
    const crashes = choices.filter(({ crash }) => crash)
    if (crashes.length > 0 && random() < 0.06) return crashes[Math.floor(random() * crashes.length)] ?? null
    const same = steps.find(({ actor }) => actor === last)
    const chosen =
      same !== undefined && random() < eagerness ? same : steps[Math.floor(random() * steps.length)]
    last = chosen?.actor ?? null
    return chosen ?? null
  }
}
