/**
 * The record of a run, the checker's only input: a journal of what the harness did, a log that the handlers wrote, and
 * the rows at the end.
 *
 * It uses three clocks and never mixes them. `host` is the harness's Date.now(), which no fault moves. `mono` is the
 * machine's CLOCK_MONOTONIC in ms (process.hrtime), which is the same in every process and never faked. It determines
 * the order of what processes did. `at` is Unix ms by the database's clock, which faults move. Slots, submissions and
 * edits use it.
 */

/** One line of `journal.jsonl`. */
export type JournalEntry = ScheduleEntry | EditEntry | FaultEntry | ClockEntry | PruneEntry | PhaseEntry

interface Stamped {
  readonly host: number
  readonly mono: number
}

/** The start of a phase. Recovery is measured from `begin` until `end`; no slots are required after `end`. */
export interface PhaseEntry extends Stamped {
  readonly kind: 'phase'
  readonly phase: 'begin' | 'calm' | 'end'
  /** The database's clock. */
  readonly at: number
}

/** A schedule that the harness wrote, with the columns that it set (other columns have their defaults). */
export interface ScheduleEntry extends Stamped {
  readonly kind: 'schedule'
  readonly id: string
  readonly columns: Readonly<Record<string, string | number | null>>
  /** The database's clock before and after the write, read in the same transaction. */
  readonly from: number
  readonly until: number
}

/**
 * An SQL edit of a row in `periodic_task` or `job`. It took effect between `from` and `until` (the database's clock
 * before the statement and after the commit). `row` is the row right after the edit, read in the same transaction; null
 * if it was deleted.
 */
export interface EditEntry extends Stamped {
  readonly kind: 'edit'
  readonly table: 'periodic_task' | 'job'
  readonly id: string
  readonly columns: Readonly<Record<string, string | number | null>> | 'delete'
  readonly before: RowText | null
  readonly row: RowText | null
  readonly from: number
  readonly until: number
  /**
   * For `periodic_task`: the schedule's job with the latest slot before the edit. Later skips may still be added to it.
   */
  readonly newest?: RowText | null
  /** If this is more than 1, the transaction was retried, and an earlier attempt may have been committed unnoticed. */
  readonly tries?: number
}

/** Old final jobs that an administrator deleted. They are recorded because the checker still needs them. */
export interface PruneEntry extends Stamped {
  readonly kind: 'prune'
  readonly jobs: readonly RowText[]
}

/** The workers and rows that a fault affects. Everything else continues as if there were no fault. */
export interface Reach {
  /** Names of workers. */
  readonly workers: readonly string[]
  /** If absent, any row may be delayed, for example because a worker that died had marked it. */
  readonly rows?: { readonly schedules: readonly string[]; readonly jobs: readonly string[] }
}

/**
 * What a fault can affect: one worker, everything, rows, or a single locked row. With `rows`, the affected rows belong
 * to schedules that are exempt from other faults and from rules about time. With `single`, the fault reports which rows
 * it affects.
 */
export type Scope = 'worker' | 'whole' | 'rows' | 'single'

/** A fault, written when it has ended. Its times are by the clock of `host`. */
export interface FaultEntry extends Stamped {
  readonly kind: 'fault'
  readonly name: string
  readonly from: number
  readonly until: number
  /** What it affected, as text for display, such as 'database' or the name of a worker or node. */
  readonly hit: string
  readonly detail: string
  /** An unwanted consequence, such as a server that did not restart. */
  readonly trouble: string | null
  /** Whether health() reported it; null if health() cannot detect this kind of fault, or if no worker responded. */
  readonly seen: boolean | null
  readonly scope: Scope
  /** If absent, the reach is unknown, so the fault excuses everything. */
  readonly reach?: Reach
}

/** From this point on, the database's clock is the host's clock plus this offset. */
export interface ClockEntry extends Stamped {
  readonly kind: 'clock'
  readonly offsetMs: number
}

/** Every column as the database returns it, with instants as 'YYYY-MM-DD HH:MM:SS.mmm' in UTC. */
export type RowText = Readonly<Record<string, string | number | null>>

/**
 * One line of `runs-<worker>-<pid>.jsonl`, appended by a handler with one write(2), so that kill -9 cannot leave a
 * partial line.
 */
export interface RunLine {
  readonly event: 'start' | 'end' | 'throw' | 'aborted'
  readonly mono: number
  readonly job: string
  readonly task: string
  readonly schedule: string | null
  /** Unix ms. */
  readonly slot: number | null
  readonly attempt: number
  readonly worker: string
}

export interface RunRecord {
  readonly target: string
  readonly seed: number
  readonly leaseMs: number
  readonly pollIntervalMs: number
  readonly journal: readonly JournalEntry[]
  readonly runs: readonly RunLine[]
  /** These rows were read at the end, after all work had ended. */
  readonly schedules: readonly RowText[]
  readonly jobs: readonly RowText[]
  readonly attempts: readonly RowText[]
  readonly workers: readonly RowText[]
  /** The rows of the application's own queue; null if it has none. */
  readonly queue: readonly RowText[] | null
  /**
   * Deadlocks that the server counted, minus those that faults caused on purpose; null if the server has no such
   * counter.
   */
  readonly deadlocks: number | null
}
