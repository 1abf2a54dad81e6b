/** Finds the schedules that an earlier import created, so that edits to a file change the right schedules. */
import { isDeepStrictEqual } from 'node:util'
import type { Schedule } from '../../index.ts'
import type { Candidate, CandidateSchedule } from './candidate.ts'

export type Named = Candidate & { readonly id: string }

export type Existing = Pick<Schedule, 'id' | 'timer' | 'args'>

/** The criteria for a match, strictest first. */
const LEVELS: readonly ((existing: Existing, wanted: CandidateSchedule) => boolean)[] = [
  ({ timer, args }, wanted) => timer === wanted.timer && isDeepStrictEqual(args, wanted.args),
  ({ args }, wanted) => isDeepStrictEqual(args, wanted.args),
  ({ timer, args }, wanted) =>
    timer === wanted.timer && isDeepStrictEqual(commandOf(args), commandOf(wanted.args)),
  ({ args }, wanted) => isDeepStrictEqual(commandOf(args), commandOf(wanted.args)),
  ({ timer }, wanted) => timer === wanted.timer,
]

/**
 * @param existing  schedules whose ids start with the prefix
 * @returns `stale` contains the ids of schedules whose entries no longer exist; a refused entry counts as existing
 */
export function matched(candidates: readonly Candidate[], existing: readonly Existing[], prefix: string) {
  const ids = new Map<Candidate, string>()
  const free = new Map(existing.map((one) => [one.id, one]))
  const freeOf = (name: string) => [...free.values()].filter(({ id }) => isNumbered(id, prefix + name))
  const waiting = () => candidates.filter((one) => one.schedule !== null && !ids.has(one))
  const take = (candidate: Candidate, found: Existing | undefined) => {
    if (found === undefined) return
    ids.set(candidate, found.id)
    free.delete(found.id)
  }
  for (const isSame of LEVELS)
    for (const candidate of waiting()) {
      const { name, schedule } = candidate
      take(candidate, schedule === null ? undefined : freeOf(name).find((one) => isSame(one, schedule)))
    }
  // A name that was unique and still is identifies the same schedule, even if its time and command have changed.
  for (const candidate of waiting()) {
    const [found, ...others] = existing.filter(({ id }) => isNumbered(id, prefix + candidate.name))
    const isOnly = candidates.filter(({ name }) => name === candidate.name).length === 1
    if (isOnly && others.length === 0 && found !== undefined && free.has(found.id)) take(candidate, found)
  }
  const used = new Set([...ids.values(), ...free.keys()])
  const named = candidates.map((candidate) => {
    const id = ids.get(candidate) ?? unused(prefix + candidate.name, used)
    if (candidate.schedule !== null) used.add(id)
    return { ...candidate, id }
  })
  const refused = candidates.filter(({ schedule }) => schedule === null)
  const stale = [...free.keys()].filter((id) => !refused.some(({ name }) => isNumbered(id, prefix + name)))
  return { named, stale }
}

/** Whether an id is `base`, or `base-2` and so on. */
export function isNumbered(id: string, base: string): boolean {
  return id.startsWith(base) && /^(?:-\d+)?$/.test(id.slice(base.length))
}

function unused(base: string, used: ReadonlySet<string>): string {
  let id = base
  for (let number = 2; used.has(id); number += 1) id = `${base}-${number}`
  return id
}

/** A command without its variables, folder and user. */
function commandOf(args: unknown): unknown {
  return typeof args === 'object' && args !== null
    ? [Reflect.get(args, 'shell'), Reflect.get(args, 'argv')]
    : args
}
