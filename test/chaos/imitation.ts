/**
 * A simulated run: rows of schedules and jobs, planned by the real planner and advanced by a simulated clock. Its
 * record has the format of a real run's record, and is correct by construction, even with edits, outages and nights
 * when the clocks change.
 */
import { finish } from '../../src/model/settle.ts'
import { occurrenceId } from '../../src/model/occurrence.ts'
import { plan, UnreadableTimerError } from '../../src/model/plan.ts'
import type { OpenJobs, Plan, PlannedSkip } from '../../src/model/planning.ts'
import { type PlannableRow, plannedFrom, toPlannable } from '../../src/store/sql/rows.ts'
import type { JournalEntry, RowText, RunLine, RunRecord } from '../../bench/chaos/record.ts'

export const LEASE_MS = 4000
export const POLL_INTERVAL_MS = 1000
/** How far the database's clock is ahead of the harness's clock. The monotonic clock is another second behind. */
const OFFSET_MS = 7_000_000
const WORKER = 'w1/1'

type Columns = Readonly<Record<string, string | number | null>>

interface ScheduleState extends PlannableRow {
  group_: string
  args: string
  subject: string | null
  submitter: string | null
  priority: number
  timeout: number | null
  max_retries: number | null
  retry_delay: number | null
  retry_backoff: string | null
  mark_ends: string | null
  last_run: string | null
  last_finished: string | null
  last_job: string | null
}

interface JobState {
  readonly id: string
  readonly schedule: string
  readonly uid: string
  slot: number
  missed: number
  state: string
  reason: string | null
  submitted: number
  started: number | null
  finished: number | null
  readonly copied: Columns
}

const text = (ms: number | null) =>
  ms === null ? null : new Date(ms).toISOString().replace('T', ' ').slice(0, 23)

export interface ImitationOptions {
  /** By the database's clock. */
  readonly begin: number
  /** The duration of a run, by task. */
  readonly runMs?: Readonly<Record<string, number>>
}

export class Imitation {
  now: number
  readonly journal: JournalEntry[] = []
  readonly runs: RunLine[] = []
  readonly #schedules = new Map<string, ScheduleState>()
  readonly #jobs = new Map<string, JobState>()
  readonly #pruned: string[] = []
  #uids = 0
  readonly #runMs: Readonly<Record<string, number>>

  constructor({ begin, runMs = {} }: ImitationOptions) {
    this.now = begin
    this.#runMs = runMs
    this.journal.push({ kind: 'clock', offsetMs: OFFSET_MS, ...this.#stamp() })
    this.journal.push({ kind: 'phase', phase: 'begin', at: begin, ...this.#stamp() })
  }

  add(id: string, given: Columns): void {
    const columns = { task: 'tick', timer: '*:*:*', ...given }
    this.#schedules.set(id, state({ id, uid: this.#newUid(id), created: text(this.now) ?? '', ...columns }))
    this.journal.push({ kind: 'schedule', id, columns, from: this.now, until: this.now, ...this.#stamp() })
  }

  edit(id: string, columns: Columns | ((row: RowText) => Columns) | 'delete'): void {
    const found = this.#schedules.get(id)
    const before = found === undefined ? null : this.#row(found)
    const newest = [...this.#jobs.values()]
      .filter((job) => job.schedule === id)
      .toSorted((a, b) => b.slot - a.slot)[0]
    const wanted = typeof columns === 'function' ? columns(before ?? {}) : columns
    if (wanted === 'delete') this.#schedules.delete(id)
    else
      this.#schedules.set(
        id,
        state({ uid: this.#newUid(id), created: text(this.now) ?? '', ...before, id, ...wanted }),
      )
    const after = this.#schedules.get(id)
    this.journal.push({
      kind: 'edit',
      table: 'periodic_task',
      id,
      columns: wanted,
      before,
      row: after === undefined ? null : this.#row(after),
      from: this.now,
      until: this.now,
      newest: newest === undefined ? null : jobText(newest),
      ...this.#stamp(),
    })
    this.now += 1
  }

  /** Deletes the finished jobs of a schedule, except the newest. */
  prune(schedule: string): void {
    const old = [...this.#jobs.values()]
      .filter((job) => job.schedule === schedule && job.finished !== null)
      .toSorted((a, b) => a.slot - b.slot)
      .slice(0, -1)
    this.journal.push({ kind: 'prune', jobs: old.map(jobText), ...this.#stamp() })
    for (const { id } of old) {
      this.#pruned.push(id)
      this.#jobs.delete(id)
    }
  }

  /** Lets this time pass without any work. The journal records the outage as a fault. */
  outage(ms: number): void {
    const from = this.now
    this.now += ms
    this.journal.push({
      kind: 'fault',
      name: 'worker.stop',
      from: from - OFFSET_MS,
      until: this.now - OFFSET_MS,
      hit: 'all',
      detail: '',
      trouble: null,
      seen: null,
      scope: 'whole',
      ...this.#stamp(),
    })
  }

  /** Performs a pass every `everyMs` for `ms`. */
  pass(ms: number, everyMs = 250): void {
    for (const until = this.now + ms; this.now < until; this.now += everyMs) {
      this.#endRuns()
      for (const schedule of this.#schedules.values()) this.#planOne(schedule)
      this.#beginRuns()
    }
  }

  end(): RunRecord {
    this.journal.push({ kind: 'phase', phase: 'end', at: this.now, ...this.#stamp() })
    for (const schedule of this.#schedules.values()) {
      schedule.enabled = 0
      schedule.definition = definitionOf(schedule)
    }
    do this.pass(1000, 1000)
    while ([...this.#jobs.values()].some(({ finished }) => finished === null))
    return {
      target: 'imitation',
      seed: 1,
      leaseMs: LEASE_MS,
      pollIntervalMs: POLL_INTERVAL_MS,
      journal: this.journal,
      runs: this.runs,
      schedules: [...this.#schedules.values()].map((schedule) => this.#row(schedule)),
      jobs: [...this.#jobs.values()].map(jobText),
      attempts: [...this.#jobs.values()]
        .filter((job) => job.state === 'failed')
        .map(({ id }) => ({ job_id: id, claim: 1 })),
      workers: [{ id: WORKER }],
      queue: null,
      deadlocks: 0,
    }
  }

  /** A schedule whose timer this worker cannot read is left to other workers if somebody has planned it. */
  #plan(schedule: ScheduleState, open: OpenJobs): Plan | null {
    try {
      return plan(toPlannable(schedule), {
        now: new Date(this.now),
        open,
        missedAfterMs: LEASE_MS + POLL_INTERVAL_MS,
      })
    } catch (error) {
      if (error instanceof UnreadableTimerError) return null
      throw error
    }
  }

  #planOne(schedule: ScheduleState): void {
    const open = this.#open(schedule.uid)
    const planned = this.#plan(schedule, open)
    if (planned === null) return
    if (planned.replaces) this.#giveWay(schedule.uid)
    planned.skips.forEach((skip, index) => {
      if (!(index === 0 && this.#fold(schedule, skip, planned.runs[0]?.slot))) this.#skip(schedule, skip)
    })
    for (const run of planned.runs)
      this.#insert(schedule, run.slot.getTime(), { missed: run.missed, state: run.state })
    const newest = planned.runs.at(-1)
    if (newest !== undefined) {
      schedule.last_run = text(this.now)
      schedule.last_job = occurrenceId(schedule.uid, newest.slot)
    }
    schedule.nextrun = text(planned.nextRunAt?.getTime() ?? null)
    schedule.idle = planned.idle
    schedule.last_slot = text(planned.lastSlot?.getTime() ?? null)
    schedule.last_error = planned.lastError
    Object.assign(schedule, plannedFrom(schedule.definition, planned))
    schedule.worker = null
    schedule.marked = null
    schedule.mark_ends = null
  }

  #fold(schedule: ScheduleState, skip: PlannedSkip, firstRun: Date | undefined): boolean {
    const into = [...this.#jobs.values()].find(
      (job) =>
        job.uid === schedule.uid &&
        text(job.slot) === schedule.last_slot &&
        job.state === 'skipped' &&
        job.reason === skip.reason,
    )
    if (into === undefined || (firstRun !== undefined && firstRun < skip.slot)) return false
    into.slot = skip.slot.getTime()
    into.missed += skip.count
    into.submitted = this.now
    into.finished = this.now
    return true
  }

  #skip(schedule: ScheduleState, { slot, reason, count }: PlannedSkip): void {
    this.#insert(schedule, slot.getTime(), { missed: count, state: 'skipped', reason, finished: this.now })
  }

  #insert(
    schedule: ScheduleState,
    slot: number,
    given: Pick<JobState, 'missed' | 'state'> & Partial<JobState>,
  ): void {
    const id = occurrenceId(schedule.uid, new Date(slot))
    if (this.#jobs.has(id) || this.#pruned.includes(id)) return
    const { task, group_, subject, submitter, priority, timeout, max_retries, retry_delay, retry_backoff } =
      schedule
    const policy = { timeout, max_retries: max_retries ?? 3, retry_delay, retry_backoff }
    this.#jobs.set(id, {
      id,
      schedule: schedule.id,
      uid: schedule.uid,
      slot,
      reason: null,
      submitted: this.now,
      started: null,
      finished: null,
      copied: {
        task,
        group_,
        subject,
        submitter,
        priority,
        ...policy,
        args: given.state === 'skipped' ? '{}' : schedule.args,
        exclusive: schedule.overlap === 'allow' ? 0 : 1,
      },
      ...given,
    })
  }

  #giveWay(uid: string): void {
    for (const job of this.#jobs.values()) {
      if (job.uid !== uid || (job.state !== 'waiting' && job.state !== 'blocked')) continue
      job.state = 'cancelled'
      job.reason = 'replaced'
      job.finished = this.now
    }
  }

  #beginRuns(): void {
    for (const job of this.#jobs.values()) {
      const others = [...this.#jobs.values()].filter(
        (other) => other.uid === job.uid && (other.state === 'running' || other.state === 'waiting'),
      )
      if (job.state === 'blocked' && others.length === 0) job.state = 'waiting'
      if (job.state !== 'waiting') continue
      job.state = 'running'
      job.started = this.now
      this.#log('start', job)
    }
  }

  #endRuns(): void {
    for (const job of this.#jobs.values()) {
      if (job.state !== 'running' || job.started === null) continue
      const task = String(job.copied['task'])
      if (this.now - job.started < (this.#runMs[task] ?? 0)) continue
      const failed = task === 'throw'
      this.#log(failed ? 'throw' : 'end', job)
      job.state = failed ? 'failed' : 'success'
      job.finished = this.now
      this.#finish(job, failed)
    }
  }

  #finish(job: JobState, failed: boolean): void {
    const schedule = this.#schedules.get(job.schedule)
    if (schedule?.uid !== job.uid) return
    schedule.run_count += 1
    schedule.error_count += Number(failed)
    schedule.last_finished = text(job.finished)
    const { waiting, blocked, running } = this.#open(job.uid)
    const next = finish(toPlannable(schedule), failed, waiting + blocked + running, new Date(this.now))
    if (next === null) return
    schedule.nextrun = text(next.nextRunAt?.getTime() ?? null)
    schedule.idle = next.idle
    Object.assign(schedule, plannedFrom(schedule.definition, { ...next, isByHand: false }))
  }

  #open(uid: string): OpenJobs {
    const of = (wanted: string) =>
      [...this.#jobs.values()].filter((job) => job.uid === uid && job.state === wanted).length
    return { waiting: of('waiting'), blocked: of('blocked'), running: of('running'), retrying: 0 }
  }

  #log(event: RunLine['event'], job: JobState): void {
    this.runs.push({
      event,
      mono: this.now - OFFSET_MS - 1000,
      job: job.id,
      task: String(job.copied['task']),
      schedule: job.schedule,
      slot: job.slot,
      attempt: 1,
      worker: WORKER,
    })
  }

  #row(schedule: ScheduleState): RowText {
    return { ...schedule, definition: definitionOf(schedule), clock: null }
  }

  #newUid(id: string): string {
    this.#uids += 1
    return `${id} ${this.#uids}`
  }

  #stamp(): { host: number; mono: number } {
    return { host: this.now - OFFSET_MS, mono: this.now - OFFSET_MS - 1000 }
  }
}

function state(columns: Columns): ScheduleState {
  const row = {
    id: '',
    uid: '',
    enabled: 1,
    task: 'tick',
    timer: '*:*:*',
    nextrun: null,
    idle: null,
    last_slot: null,
    last_error: null,
    created: '',
    starts: null,
    ends: null,
    jitter: 0,
    catch_up: 1,
    yields: 0,
    overlap: 'skip' as const,
    on_exhausted: 'continue' as const,
    max_runs: null,
    run_count: 0,
    error_count: 0,
    failed_attempts: 0,
    retry_at: null,
    frozen_until: null,
    pause_reason: null,
    retry: null,
    retry_limit: null,
    planned_from: null,
    planned_nextrun: null,
    planned_by_hand: 0,
    worker: null,
    marked: null,
    mark_ends: null,
    clock: '',
    group_: '',
    args: '{}',
    subject: null,
    submitter: null,
    priority: 0,
    timeout: null,
    // Each run has one attempt.
    max_retries: 0,
    retry_delay: null,
    retry_backoff: null,
    last_run: null,
    last_finished: null,
    last_job: null,
    ...columns,
  }
  return { ...row, definition: definitionOf(row) }
}

/** The definition, computed as in the generated column. */
function definitionOf(
  row: Pick<PlannableRow, 'enabled' | 'timer' | 'jitter' | 'starts' | 'ends' | 'max_runs'>,
): string {
  return [row.enabled, row.timer, row.jitter, row.starts ?? '', row.ends ?? '', row.max_runs ?? ''].join('|')
}

function jobText({
  id,
  schedule,
  uid,
  slot,
  missed,
  state: now,
  reason,
  submitted,
  started,
  finished,
  copied,
}: JobState): RowText {
  return {
    ...copied,
    id,
    periodic_task_id: schedule,
    periodic_task_uid: uid,
    slot: text(slot),
    missed,
    state: now,
    reason,
    worker: started === null ? null : WORKER,
    attempt: started === null ? 0 : 1,
    claim: started === null ? 0 : 1,
    submitted: text(submitted),
    run_at: null,
    started: text(started),
    finished: text(finished),
  }
}
