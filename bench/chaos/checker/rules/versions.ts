/** Schedules whose declarations differ between versions of the code: each slot belongs to one of their timers. */
import { timer } from '../../../../src/timer/index.ts'
import { fleetDeclarations } from '../../declared.ts'
import { jobText, type ScheduleEvidence } from '../evidence.ts'

const timersOf = (id: string): readonly string[] => [
  ...new Set(
    Object.values(fleetDeclarations).flatMap((declared) =>
      declared.filter((one) => one.id === id).map((one) => one.timer),
    ),
  ),
]

/** Whether the versions differ in this schedule. If all versions declare it with the same timer, missing slots are violations. */
export function isOfTwoVersions(id: string): boolean {
  const declaring = Object.values(fleetDeclarations).filter((declared) =>
    declared.some((one) => one.id === id),
  )
  return (
    declaring.length > 0 &&
    (declaring.length < Object.keys(fleetDeclarations).length || timersOf(id).length > 1)
  )
}

/** The rows do not show when each version was active, so missing slots cannot be detected. */
export function versionFaults({ id, jobs, last }: ScheduleEvidence): { text: string; at: number }[] {
  const created = last?.created ?? 0
  // If the clock goes back to before the creation time, slots also occur at whole intervals before that time.
  const courses = timersOf(id).flatMap((text) => {
    const parsed = timer(text)
    const spanMs = parsed.spanMs ?? 1
    return [created, (created % spanMs) - spanMs].map((anchor) => parsed.elapses(new Date(anchor)))
  })
  return jobs.flatMap((job) => {
    const { slot } = job
    const isOne =
      slot !== null && courses.some((course) => course.next(new Date(slot - 1))?.getTime() === slot)
    return isOne
      ? []
      : [{ text: `not a slot of '${timersOf(id).join("' or '")}': ${jobText(job)}`, at: slot ?? 0 }]
  })
}
