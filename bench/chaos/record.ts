/**
 * What a run leaves behind, and all that the checker looks at: a journal of what the harness did, a log that
 * the handlers wrote, and the rows at the end.
 *
 * Three clocks, never mixed. `host` is the harness's own Date.now(), which no fault moves. `mono` is the
 * machine's CLOCK_MONOTONIC in ms (process.hrtime), the same in every process and never faked: it orders what
 * processes did. `at` is the database's clock, Unix ms, which faults do move: slots, submissions and edits are
 * told by it.
 */

/** One line of `journal.jsonl`. */
export type JournalEntry = ScheduleEntry | EditEntry | FaultEntry | ClockEntry | PruneEntry | PhaseEntry

interface Stamped {
  readonly host: number
  readonly mono: number
}

/** The whole run's shape: from `begin` on slots count, from `end` on they do not. */
export interface PhaseEntry extends Stamped {
  readonly kind: 'phase'
  readonly phase: 'begin' | 'calm' | 'end'
  /** The database's clock. */
  readonly at: number
}

/** A schedule that the harness wrote, with the columns it gave (others have the tables' defaults). */
export interface ScheduleEntry extends Stamped {
  readonly kind: 'schedule'
  readonly id: string
  readonly columns: Readonly<Record<string, string | number | null>>
  /** The database's clock before and after the write, read in the same transaction. */
  readonly from: number
  readonly until: number
}

/**
 * An edit in SQL of rows of `periodic_task` or `job`. It took effect at some instant between `from` and `until`
 * (the database's clock before the statement and after the commit); `row` is the row as it stood right after,
 * read in the same transaction, null: deleted.
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
  /** Of `periodic_task`: the schedule's job with the latest slot at that moment, whose skips may still be added to. */
  readonly newest?: RowText | null
  /** More than 1: the transaction was begun anew, and an earlier one of the same may have come through unseen. */
  readonly tries?: number
}

/** Old final jobs that an administrator deletes: the checker must know them all the same. */
export interface PruneEntry extends Stamped {
  readonly kind: 'prune'
  readonly jobs: readonly RowText[]
}

/** What a fault affects. Everything else continues as if there were no fault. */
export interface Reach {
  /** By their names. */
  readonly workers: readonly string[]
  /** Absent: any may be delayed, for example because a worker that died had marked it. */
  readonly rows?: { readonly schedules: readonly string[]; readonly jobs: readonly string[] }
}

/**
 * What a fault can affect: one worker, everything, or rows. `rows` are those of schedules that no other fault and no
 * rule about time concerns; for `single` rows, the fault tells its reach.
 */
export type Scope = 'worker' | 'whole' | 'rows' | 'single'

/** A fault, written when it has passed. Times are of `host`. */
export interface FaultEntry extends Stamped {
  readonly kind: 'fault'
  readonly name: string
  readonly from: number
  readonly until: number
  /** What it hit: a worker's name, 'database', a node. For people. */
  readonly hit: string
  readonly detail: string
  /** What came of it that should not, such as a server that did not come up again. */
  readonly trouble: string | null
  /** Whether health() told of it while it lasted; null: nothing to tell, by its nature. */
  readonly seen: boolean | null
  readonly scope: Scope
  /** Absent: not known, so that it excuses everything. */
  readonly reach?: Reach
}

/** From here on the database's clock is the host's plus this. */
export interface ClockEntry extends Stamped {
  readonly kind: 'clock'
  readonly offsetMs: number
}

/** Every column as the database tells it, instants as 'YYYY-MM-DD HH:MM:SS.mmm' in UTC. */
export type RowText = Readonly<Record<string, string | number | null>>

/** One line of `runs-<worker>-<pid>.jsonl`, appended by a handler with one write(2), so that kill -9 tears none. */
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
  /** At the end, after all work has come to rest. */
  readonly schedules: readonly RowText[]
  readonly jobs: readonly RowText[]
  readonly attempts: readonly RowText[]
  readonly workers: readonly RowText[]
  /** The rows of the application's own queue; null: it has none. */
  readonly queue: readonly RowText[] | null
  /**
   * Deadlocks that the server counted, minus those that faults caused on purpose; null if the server has no such
   * counter.
   */
  readonly deadlocks: number | null
}
