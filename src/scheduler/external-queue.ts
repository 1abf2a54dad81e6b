/**
 * An external queue: the scheduler decides what runs, and the jobs go to the application's own table, to BullMQ or to
 * another queue.
 *
 * No transaction covers both: the jobs are submitted first, then the schedules advance. After a crash in between, the
 * same jobs are submitted again with the same ids, so that the queue can detect duplicates. If so many slots have
 * passed by then that `catch_up` drops the submitted one, it is recorded as missed although the external queue has it,
 * because no record of the hand-over exists here.
 */
import { betweenParts } from '../event-loop.ts'
import { occurrenceId } from '../model/occurrence.ts'
import { elapsesOf, NO_OPEN_JOBS, type Plan, type Plannable, plan } from '../model/plan.ts'
import type { Mark, MarkedSchedule, SchedulingStore, SubmitResult } from '../store/scheduling-store.ts'

/** One run for an external queue. */
export interface ExternalJob {
  /** Always the same for one occurrence: a queue that already has it ignores the job. */
  readonly id: string
  readonly scheduleId: string
  readonly task: string
  readonly args: unknown
  readonly slot: Date
  /** How many earlier slots were missed and are not made up. */
  readonly missed: number
  readonly group: string
  readonly subject: string | null
  readonly submitter: string | null
  readonly priority: number
}

/**
 * Submits all of the jobs to an external queue, or throws. After an error, the jobs are submitted again, schedule by
 * schedule, so that a schedule whose jobs the queue rejects does not affect others.
 *
 * @returns the ids of jobs that the queue refused because the previous run of their schedule has not ended; they are
 *   recorded as skipped
 */
export type SubmitToQueue = (jobs: readonly ExternalJob[]) => Promise<Iterable<string> | void>

/** After this many consecutive errors, the cause is assumed to be the queue and not the schedules. */
const MOST_CONSECUTIVE_ERRORS = 3

/** @throws the error of `submit` when the external queue seems to be unavailable */
export async function submitToQueue(
  store: SchedulingStore,
  worker: string,
  marks: readonly Mark[],
  submit: SubmitToQueue,
  missedAfterMs: number,
): Promise<SubmitResult> {
  const marked = await store.readMarked(worker, marks)
  const planned = new Map<string, { readonly before: Plannable; readonly plan: Plan | null }>()
  const pause = betweenParts()
  for (const one of marked) {
    planned.set(one.schedule.id, { before: one.plannable, plan: planFor(one, missedAfterMs) })
    await pause()
  }
  const batches = marked
    .map((one) => jobsOf(one, planned.get(one.schedule.id)?.plan ?? null))
    .filter((jobs) => jobs.length > 0)
  const { refused, failed } = await handOver(batches, submit)
  const notSubmitted = new Set(failed.map(({ id }) => id))
  const result = await store.submit(
    worker,
    // The others keep their marks, and are due again when the marks end.
    marks.filter(({ id }) => !notSubmitted.has(id)),
    (schedule) => {
      const decided = planned.get(schedule.id)
      if (decided === undefined || isEdited(decided.before, schedule)) return 'again'
      return decided.plan === null ? null : withoutRefused(schedule.id, decided.plan, refused)
    },
    { where: 'external' },
  )
  return { ...result, failed: [...result.failed, ...failed] }
}

/** @param batches  the jobs of each schedule */
async function handOver(
  batches: readonly (readonly ExternalJob[])[],
  submit: SubmitToQueue,
): Promise<{ refused: ReadonlySet<string>; failed: SubmitResult['failed'] }> {
  if (batches.length === 0) return { refused: new Set(), failed: [] }
  try {
    return { refused: new Set((await submit(batches.flat())) ?? []), failed: [] }
  } catch (error) {
    if (batches.length === 1) throw error
  }
  const refused = new Set<string>()
  const failed: { id: string; error: unknown }[] = []
  let consecutiveErrors = 0
  // In random order, so that schedules whose jobs are rejected do not always delay the same others.
  for (const jobs of shuffled(batches)) {
    try {
      for (const id of (await submit(jobs)) ?? []) refused.add(id)
      consecutiveErrors = 0
    } catch (error) {
      failed.push({ id: jobs[0]?.scheduleId ?? '', error })
      consecutiveErrors += 1
      if (consecutiveErrors === Math.min(MOST_CONSECUTIVE_ERRORS, batches.length)) throw error
    }
  }
  return { refused, failed }
}

function shuffled<Item>(items: readonly Item[]): Item[] {
  return items
    .map((item) => ({ item, at: Math.random() }))
    .toSorted((a, b) => a.at - b.at)
    .map(({ item }) => item)
}

function planFor({ plannable, now, freezes }: MarkedSchedule, missedAfterMs: number): Plan | null {
  const decided = plan(plannable, { now, open: NO_OPEN_JOBS, missedAfterMs, freezes })
  // The external queue does not report when a run ends: the next run is counted from now.
  if (decided?.idle !== 'awaiting-finish') return decided
  const nextRunAt = elapsesOf(plannable, now).next(now)
  return { ...decided, nextRunAt, idle: nextRunAt === null ? 'done' : null }
}

function jobsOf({ schedule }: MarkedSchedule, decided: Plan | null): ExternalJob[] {
  const { id, task, args, group, subject, submitter, priority } = schedule
  return (decided?.runs ?? []).map(({ slot, missed }) => ({
    id: occurrenceId(id, slot),
    scheduleId: id,
    task,
    args,
    slot,
    missed,
    group,
    subject,
    submitter,
    priority,
  }))
}

function isEdited(before: Plannable, now: Plannable): boolean {
  return before.definition !== now.definition || before.nextRunAt?.getTime() !== now.nextRunAt?.getTime()
}

function withoutRefused(scheduleId: string, decided: Plan, refused: ReadonlySet<string>): Plan {
  const isRefused = ({ slot }: { readonly slot: Date }) => refused.has(occurrenceId(scheduleId, slot))
  const skipped = decided.runs.filter(isRefused)
  const newest = skipped.at(-1)
  if (newest === undefined) return decided
  return {
    ...decided,
    runs: decided.runs.filter((run) => !isRefused(run)),
    skips: [...decided.skips, { slot: newest.slot, reason: 'overlap', count: skipped.length, error: null }],
  }
}
