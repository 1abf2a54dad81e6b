/** Detects problems of schedules. Pure. */
import { durationText, retryText } from '../duration.ts'
import { firstLine } from '../errors.ts'
import { elapsesWithin, timer } from '../timer/index.ts'
import {
  counted,
  type DoctorInput,
  type DoctorSchedule,
  type Finding,
  findings,
  findingsOfEach,
  LATE_MS,
  quoted,
} from './diagnosis.ts'
import { plannedInFuture } from './future-slots.ts'
import { toText } from './instant.ts'

const FREQUENT_MS = 60_000

export function scheduleFindings(seen: DoctorInput): Finding[] {
  const { schedules, behind } = seen
  return [
    ...invalidSchedules(schedules),
    ...findingsOfEach(
      'dead-schedule',
      schedules.filter(({ idle }) => idle === 'dead'),
      ({ id, lastError }) => ({
        problem: `the schedule '${id}' is dead after a run that failed permanently: ${firstLine(lastError ?? 'no error was recorded')}`,
        fix: `when the cause is fixed: \`kalends schedules reset ${quoted(id)}\``,
      }),
    ),
    ...retryingSchedules(seen),
    ...lateSchedules(seen),
    ...findings('cannot-keep-up', behind, () => ({
      problem: `the slots of ${counted(behind, 'schedule', 'schedules')} come faster than they can be submitted, so some are missed each time`,
      fix: "give them timers with longer intervals: `kalends schedules edit … --timer '…'`",
    })),
    ...slotsInFuture(seen),
  ]
}

function invalidSchedules(schedules: DoctorInput['schedules']): Finding[] {
  const invalid = schedules.flatMap(({ id, timer: text, idle, lastError }) => {
    if (idle === 'invalid') return [{ id, error: lastError ?? 'no reason was recorded' }]
    const error = idle === null ? syntaxErrorOf(text) : null
    return error === null ? [] : [{ id, error }]
  })
  return findingsOfEach('invalid-schedule', invalid, ({ id, error }) => ({
    problem: `the timer of the schedule '${id}' cannot be read: ${firstLine(error)}`,
    fix: `edit it: \`kalends schedules edit ${quoted(id)} --timer '…'\``,
  }))
}

function syntaxErrorOf(text: string): string | null {
  try {
    timer(text)
    return null
  } catch (error) {
    return error instanceof Error ? error.message : String(error)
  }
}

function retryingSchedules({ schedules }: DoctorInput): Finding[] {
  const retrying = schedules
    .flatMap(({ retryAt, ...schedule }) => (retryAt === null ? [] : [{ ...schedule, retryAt }]))
    .toSorted((a, b) => a.retryAt.getTime() - b.retryAt.getTime())
  return findings('retrying-schedule', retrying, (first) => ({
    problem: `the last attempt of ${counted(retrying, 'schedule', 'schedules')} failed; '${first.id}' is ${retryText(first, toText(first.retryAt))}: ${firstLine(first.lastError ?? 'no error was recorded')}`,
    fix: `nothing to do if the cause is temporary; otherwise: \`kalends schedules explain ${quoted(first.id)}\``,
  }))
}

function lateSchedules({ schedules, now }: DoctorInput): Finding[] {
  const late = schedules
    .filter(({ isDue, idle }) => isDue && idle === null)
    .map(({ id, nextRunAt, createdAt }) => ({
      id,
      lateMs: now.getTime() - (nextRunAt ?? createdAt).getTime(),
    }))
    .filter(({ lateMs }) => lateMs > LATE_MS)
    .toSorted((a, b) => b.lateMs - a.lateMs)
  return findings('late-schedule', late, (worst) => ({
    problem: `${counted(late, 'schedule is', 'schedules are')} due and not submitted; '${worst.id}' for ${durationText(worst.lateMs)}`,
    fix: 'start a worker that schedules; if one is running, look for an open transaction that locks the row',
  }))
}

/** Whether the next two slots of a timer are so close together that workers may miss some. */
export function isFrequent(
  { timer: text, createdAt: created }: Pick<DoctorSchedule, 'timer' | 'createdAt'>,
  now: Date,
): boolean {
  try {
    const event = elapsesWithin(timer(text), { anchor: created, shiftMs: 0, starts: null, ends: null })
    const first = event.next(now)
    const second = first && event.next(first)
    return first !== null && second !== null && second.getTime() - first.getTime() <= FREQUENT_MS
  } catch {
    return false
  }
}

function slotsInFuture({ furthest, now }: DoctorInput): Finding[] {
  const ahead = furthest
    .flatMap((schedule) => {
      const slot = plannedInFuture(schedule, now)
      return slot === null ? [] : [{ id: schedule.id, slot }]
    })
    .toSorted((a, b) => b.slot.getTime() - a.slot.getTime())
  return findings('slot-in-the-future', ahead, (worst) => {
    const id = quoted(worst.id)
    return {
      problem: `${counted(ahead, 'schedule has a slot that its timer does not explain', 'schedules have slots that their timers do not explain')}, and ${ahead.length === 1 ? 'submits' : 'submit'} nothing before that time; '${worst.id}': ${worst.slot.toISOString()}. The database's clock was ahead, or was set back`,
      fix: `correct the clock of the database; then plan each of them from now: \`kalends schedules pause ${id} && kalends schedules resume ${id}\`, or \`nextrun = NULL\` in SQL; reset a schedule that is done`,
    }
  })
}
