/** The facts about a run, indexed by schedule and by job, so that rules need not search. */
import { groupBy } from '../../../src/store/group-by.ts'
import type { EditEntry, PhaseEntry, RunLine, RunRecord, ScheduleEntry } from '../record.ts'
import { type JobRow, jobRow, type ScheduleRow, scheduleRow } from './rows.ts'
import { type Segment, segmentsOf } from './segments.ts'
import { instantText, Times } from './times.ts'

/** The facts about all schedules that had this id. */
export interface ScheduleEvidence {
  readonly id: string
  /** The row at the end; null if it was deleted. */
  readonly last: ScheduleRow | null
  readonly written: ScheduleEntry | null
  /** Edits to its row, in order. */
  readonly edits: readonly EditEntry[]
  /** Every job that it has ever had, ordered by slot, including pruned and manually deleted jobs. */
  readonly jobs: readonly JobRow[]
  /** The periods between edits, with the slots decided in each. */
  readonly segments: readonly Segment[]
}

export interface Evidence {
  readonly record: RunRecord
  readonly times: Times
  readonly schedules: readonly ScheduleEvidence[]
  readonly jobs: ReadonlyMap<string, JobRow>
  /** The jobs of each row of `periodic_task`, by its identity, ordered by slot. Its id may have changed. */
  readonly ofRow: ReadonlyMap<string, readonly JobRow[]>
  /** Edits to rows in the table `job`, by job, in order. */
  readonly jobEdits: ReadonlyMap<string, readonly EditEntry[]>
  /** The lines of the handlers, by job, in the order they were written. */
  readonly runs: ReadonlyMap<string, readonly RunLine[]>
  /** The same, by worker. */
  readonly runsBy: ReadonlyMap<string, readonly RunLine[]>
  /** Rows with the id of another row. They can exist only if no unique key is on the id alone. */
  readonly twins: readonly JobRow[]
  /** Slots after this time need not be decided. `at` is by the database's clock, `host` by the harness's clock. */
  readonly end: { readonly at: number; readonly host: number }
}

export function evidenceOf(record: RunRecord): Evidence {
  const edits = record.journal.filter((entry) => entry.kind === 'edit')
  const jobEdits = groupBy(
    edits.filter((entry) => entry.table === 'job'),
    (entry) => entry.id,
  )
  const jobs = new Map<string, JobRow>()
  const twins: JobRow[] = []
  for (const row of record.jobs) {
    const job = jobRow(row)
    if (jobs.has(job.id)) twins.push(job)
    else jobs.set(job.id, job)
  }
  const gone = record.journal.flatMap((entry) =>
    entry.kind === 'prune'
      ? entry.jobs
      : entry.kind === 'edit' && entry.table === 'job' && entry.columns === 'delete' && entry.before !== null
        ? [entry.before]
        : [],
  )
  for (const row of gone) {
    const job = jobRow(row)
    if (jobs.has(job.id)) twins.push(job)
    else jobs.set(job.id, job)
  }
  const occurrences = [...jobs.values()]
    .filter((job) => job.slot !== null)
    .toSorted((a, b) => (a.slot ?? 0) - (b.slot ?? 0))
  const bySchedule = groupBy(occurrences, (job) => job.schedule ?? '')
  const scheduleEdits = groupBy(
    edits.filter((entry) => entry.table === 'periodic_task'),
    (entry) => entry.id,
  )
  const written = new Map(
    record.journal.flatMap((entry) => (entry.kind === 'schedule' ? [[entry.id, entry] as const] : [])),
  )
  const last = new Map(record.schedules.map((row) => [String(row['id']), scheduleRow(row)]))
  const ids = new Set([...written.keys(), ...scheduleEdits.keys(), ...last.keys(), ...bySchedule.keys()])
  ids.delete('')
  const times = new Times(record.journal)
  const end = endOf(record)
  const runs = withoutUnavoidable(record, times)
  return {
    record,
    times,
    schedules: [...ids].map((id) => {
      const course = {
        id,
        last: last.get(id) ?? null,
        written: written.get(id) ?? null,
        edits: scheduleEdits.get(id) ?? [],
        jobs: bySchedule.get(id) ?? [],
      }
      return { ...course, segments: segmentsOf(course, end, times) }
    }),
    jobs,
    ofRow: groupBy(occurrences, (job) => job.scheduleUid ?? ''),
    jobEdits,
    runs: groupBy(runs, (line) => line.job),
    runsBy: groupBy(runs, (line) => line.worker),
    twins,
    end,
  }
}

/**
 * The lines of the handlers, in the order they were written. If a worker is stopped after its last check and before the
 * first statement of a handler, that handler starts when the worker resumes, and nothing can prevent this. So an attempt
 * is left out if its start is the first line of its worker after such a stop and the job started elsewhere meanwhile.
 */
function withoutUnavoidable({ runs, journal, leaseMs }: RunRecord, times: Times): RunLine[] {
  const lines = runs.toSorted((a, b) => a.mono - b.mono)
  const starts = groupBy(
    lines.filter(({ event }) => event === 'start'),
    ({ job }) => job,
  )
  const stops = journal.filter((entry) => entry.kind === 'fault' && entry.name === 'worker.stop')
  const unavoidable = new Set<string>()
  for (const [worker, of] of groupBy(lines, (line) => line.worker)) {
    for (const [index, line] of of.entries()) {
      const before = of[index - 1]
      if (before === undefined || line.event !== 'start' || line.mono - before.mono < leaseMs) continue
      const [from, until] = [before, line].map(({ mono }) => times.hostOfMono(mono))
      const wasStopped = stops.some(
        (stop) =>
          stop.kind === 'fault' &&
          stop.hit === worker.split('/')[0] &&
          stop.from < (until ?? 0) &&
          stop.until > (from ?? 0),
      )
      const wasTaken = starts
        .get(line.job)
        ?.some((other) => other.worker !== worker && other.mono > before.mono && other.mono < line.mono)
      if (wasStopped && wasTaken === true) unavoidable.add(keyOf(line))
    }
  }
  return unavoidable.size === 0 ? lines : lines.filter((line) => !unavoidable.has(keyOf(line)))
}

const keyOf = ({ job, attempt, worker }: RunLine) => [job, attempt, worker].join(' ')

function endOf(record: RunRecord): Evidence['end'] {
  const phase = record.journal.findLast(
    (entry): entry is PhaseEntry => entry.kind === 'phase' && entry.phase === 'end',
  )
  // A run without this phase was interrupted, so no slots are required.
  return phase === undefined
    ? { at: Number.NEGATIVE_INFINITY, host: Number.NEGATIVE_INFINITY }
    : { at: phase.at, host: phase.host }
}

/** Describes a job for the text of a violation. */
export function jobText({
  id,
  slot,
  state,
  reason,
  missed,
  attempt,
  submitted,
  started,
  finished,
}: JobRow): string {
  const facts = [
    `slot ${instantText(slot)}`,
    reason === null ? state : `${state} (${reason})`,
    ...(missed === 0 ? [] : [`missed ${missed}`]),
    `attempt ${attempt}`,
    `submitted ${instantText(submitted)}`,
    ...(started === null ? [] : [`started ${instantText(started)}`]),
    ...(finished === null ? [] : [`finished ${instantText(finished)}`]),
  ]
  return `job ${id} [${facts.join(', ')}]`
}

/** Describes the last edit of a schedule up to an instant, by the database's clock, and the first one after it. */
export function editsAround({ edits }: Pick<ScheduleEvidence, 'edits'>, at: number): string {
  const near = [edits.findLast(({ from }) => from <= at), edits.find(({ from }) => from > at)]
  const texts = near.flatMap((edit) =>
    edit === undefined
      ? []
      : [
          `${instantText(edit.from)} ${edit.columns === 'delete' ? 'deleted' : shortened(JSON.stringify(edit.columns))}`,
        ],
  )
  return texts.length === 0 ? '' : `; edits around it: ${texts.join(' and ')}`
}

function shortened(text: string): string {
  return text.length > 300 ? `${text.slice(0, 300)}…` : text
}
