/**
 * Another queue: the scheduler decides, and the jobs go to the application's own table, to BullMQ or the like.
 *
 * There is no transaction across both: the jobs are submitted first, then the schedules are moved on. A crash in
 * between submits the same jobs once more, with the same ids, by which the other queue must know them. If so many slots
 * have come meanwhile that `catch_up` drops the one that was submitted, it is recorded as missed, although the other
 * queue has it: nothing here has seen it go.
 */
import { occurrenceId } from '../model/occurrence.ts'
import { elapsesOf, NO_OPEN_JOBS, type Plan, type Plannable, plan } from '../model/plan.ts'
import type { Mark, MarkedSchedule, SchedulingStore, SubmitResult } from '../store/scheduling-store.ts'

/** One run for another queue. */
export interface ElsewhereJob {
  /** Always the same for one occurrence: a queue that has it already does nothing. */
  readonly id: string
  readonly schedule: string
  readonly task: string
  readonly args: unknown
  readonly slot: Date
  /** Slots before this one that were missed and are not made up. */
  readonly missed: number
  readonly group: string
  readonly subject: string | null
  readonly submitter: string | null
  readonly priority: number
}

/**
 * Puts jobs into another queue: all of them, or it throws. Then the same jobs are submitted again, each schedule's by
 * themselves, so that one that the queue does not take keeps no other.
 *
 * @returns the ids of the jobs that were refused because a run of their schedule has not ended: recorded as skipped
 */
export type SubmitElsewhere = (jobs: readonly ElsewhereJob[]) => Promise<Iterable<string> | void>

/** So many schedules refused one after the other: not they are at fault, but the other queue. */
const FAILURES_OF_A_QUEUE = 3

/** @throws what `submit` threw, when the other queue seems to be away */
export async function submitElsewhere(
  store: SchedulingStore,
  worker: string,
  marks: readonly Mark[],
  submit: SubmitElsewhere,
  missedAfterMs: number,
): Promise<SubmitResult> {
  const marked = await store.readMarked(worker, marks)
  const planned = new Map(
    marked.map((one) => [
      one.schedule.id,
      { before: one.plannable, plan: planElsewhere(one, missedAfterMs) },
    ]),
  )
  const batches = marked
    .map((one) => jobsOf(one, planned.get(one.schedule.id)?.plan ?? null))
    .filter((jobs) => jobs.length > 0)
  const { refused, failed } = await handOver(batches, submit)
  const notTaken = new Set(failed.map(({ id }) => id))
  const result = await store.submit(
    worker,
    // Those that were not taken keep their marks: they are due again when these end.
    marks.filter(({ id }) => !notTaken.has(id)),
    (schedule) => {
      const decided = planned.get(schedule.id)
      if (decided === undefined || isEdited(decided.before, schedule)) return 'again'
      return decided.plan === null ? null : withoutRefused(schedule.id, decided.plan, refused)
    },
    { where: 'elsewhere' },
  )
  return { ...result, failed: [...result.failed, ...failed] }
}

/** @param batches  the jobs of each schedule */
async function handOver(
  batches: readonly (readonly ElsewhereJob[])[],
  submit: SubmitElsewhere,
): Promise<{ refused: ReadonlySet<string>; failed: SubmitResult['failed'] }> {
  if (batches.length === 0) return { refused: new Set(), failed: [] }
  try {
    return { refused: new Set((await submit(batches.flat())) ?? []), failed: [] }
  } catch (error) {
    if (batches.length === 1) throw error
  }
  const refused = new Set<string>()
  const failed: { id: string; error: unknown }[] = []
  let inARow = 0
  // In another order each time, so that some that are not taken do not keep the same others for ever.
  for (const jobs of shuffled(batches)) {
    try {
      for (const id of (await submit(jobs)) ?? []) refused.add(id)
      inARow = 0
    } catch (error) {
      failed.push({ id: jobs[0]?.schedule ?? '', error })
      inARow += 1
      if (inARow === Math.min(FAILURES_OF_A_QUEUE, batches.length)) throw error
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

function planElsewhere({ plannable, now }: MarkedSchedule, missedAfterMs: number): Plan | null {
  const decided = plan(plannable, { now, open: NO_OPEN_JOBS, missedAfterMs })
  // Nobody here learns of the end of a run: the next is counted from now.
  if (decided?.idle !== 'running') return decided
  const nextRun = elapsesOf(plannable).next(now)
  return { ...decided, nextRun, idle: nextRun === null ? 'done' : null }
}

function jobsOf({ schedule }: MarkedSchedule, decided: Plan | null): ElsewhereJob[] {
  const { id, task, args, group, subject, submitter, priority } = schedule
  return (decided?.runs ?? []).map(({ slot, missed }) => ({
    id: occurrenceId(id, slot),
    schedule: id,
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
  return before.definition !== now.definition || before.nextRun?.getTime() !== now.nextRun?.getTime()
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
