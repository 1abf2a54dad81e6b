/** What can go wrong, and what a fault gets hold of to make it so. */
import type { Random } from './random.ts'
import type {
  EditEntry,
  FaultEntry,
  JournalEntry,
  PruneEntry,
  Reach,
  RowText,
  ScheduleEntry,
  Scope,
} from './record.ts'

export interface Fault {
  /** `worker.kill`, `network.cut`: where, and what. */
  readonly name: string
  /** How often it is drawn, against the others. */
  readonly weight: number
  /**
   * How long it may take in all, in ms: what the script leaves room for. No two faults that take `whole` run at
   * the same time, because they affect what all workers need; `single` ones never run in a burst with `whole` ones.
   */
  readonly lastsMs: number
  readonly scope: Scope
  /**
   * Breaks it, waits, mends it, and returns when everything is as before but for what the workers must mend
   * themselves. Must mend in any case, also when it throws.
   */
  run(ground: Ground, random: Random): Promise<FaultReport>
}

export interface FaultReport {
  readonly hit: string
  readonly detail: string
  readonly trouble?: string
  readonly seen?: boolean
  /** What it affects, if that is known: the checker judges everything else as if there were no fault. */
  readonly reach?: Reach
}

/** What a run is played on. */
export interface Ground {
  readonly target: Target
  readonly fleet: Fleet
  readonly journal: Journal
  readonly leaseMs: number
  readonly pollIntervalMs: number
  /** Waits; sooner when the run is called off. */
  pause(ms: number): Promise<void>
}

/** Writes `journal.jsonl`. Stamps what it is given. */
export interface Journal {
  write(entry: Unstamped<JournalEntry>): void
}
type Unstamped<Entry> = Entry extends JournalEntry ? Omit<Entry, 'host' | 'mono'> : never
export type { EditEntry, FaultEntry, PruneEntry, Reach, ScheduleEntry }

/** Those of our own, from begin to end. */
export const TARGETS = ['sqlite', 'mariadb', 'mysql', 'galera', 'group', 'group-multi', 'replica'] as const

/** A database that a run can be on, with the faults that only its owner can make. */
export interface Target {
  readonly kind: (typeof TARGETS)[number]
  /** As people read it: 'MariaDB 10.11.19, three nodes'. */
  readonly name: string
  /** The ways to it that workers take, one each in turn: each a proxy of its own where there is a network. */
  readonly ways: readonly Way[]
  /** The environment of processes that must have the database's machine's clock: libfaketime, where it is used. */
  readonly environment: Readonly<Record<string, string>>
  /** As the harness sees it, past all proxies and on a node that answers; tried again while it is down. */
  query(this: void, sql: string, params?: readonly (string | number | null)[]): Promise<RowText[]>
  /** The same in one transaction, READ COMMITTED; begun anew after a deadlock. */
  transaction<Result>(work: (query: Target['query']) => Promise<Result>): Promise<Result>
  /** What the server counts itself; null: it does not. */
  deadlocks(): Promise<number | null>
  readonly faults: readonly Fault[]
  /** Why faults are missing from that list, by the first part of their names: `clock`, `disk`, `haproxy`. */
  readonly leftOut: LeftOut
  close(): Promise<void>
}

export type LeftOut = Readonly<Partial<Record<'clock' | 'disk' | 'haproxy', string>>>

export interface Way {
  /** As Kalends.open takes it. */
  readonly url: string
  /** null: no network in between. */
  readonly proxy: WayProxy | null
}

/** A TCP proxy between one worker and the database. */
export interface WayProxy {
  /** Ends every connection and refuses new ones. */
  cut(): void
  /** Half-open: nothing comes through in either direction, and nobody is told. */
  stall(): void
  /** Connections that there are die without a word; new ones come through. */
  strand(): void
  /** Every packet comes later by this. */
  slow(ms: number): void
  mend(): void
}

/** The worker processes. There are always the same number of places; a place is never empty for long. */
export interface Fleet {
  readonly members: readonly Member[]
  /**
   * A member that no other fault has in its hands; held until `release`. null: all are taken.
   *
   * @param isLent  only one that uses a pool of its application
   */
  take(random: Random, isLent?: boolean): Member | null
  release(member: Member): void
}

/** `leak`: a transaction with a locked schedule is left open; `session`: USE and SET; `exhaust`: all connections. */
export type Misuse = 'leak' | 'session' | 'exhaust'

export interface Misused {
  readonly detail: string
  /** Schedules that it has locked. */
  readonly schedules: readonly string[]
}

export interface Member {
  /** The place, and the worker's name: `w1`. */
  readonly name: string
  readonly way: Way
  readonly pid: number
  /** A worker of this version's declared schedules. */
  readonly version: 'old' | 'new'
  signal(signal: NodeJS.Signals): void
  /** kill -9, and waits for its end. */
  kill(): Promise<void>
  /** Stops it in an orderly way. */
  stop(): Promise<void>
  /** Starts it again (also under libfaketime with a clock that is off by `clockMs`), and waits until it is ready. */
  start(options?: { readonly version?: 'old' | 'new'; readonly clockMs?: number }): Promise<void>
  /** Moves the clock of the process while it runs; it was started with a `clockMs`. */
  moveClock(clockMs: number): void
  /** What its health() says, over IPC; null: it did not answer within 2 s. */
  health(): Promise<unknown>
  /** Whether it uses a pool of mysql2 that its application has opened. */
  readonly isLent: boolean
  /** Lets its application misuse that pool, and returns what it did; null: the process did not answer. */
  misuse(how: Misuse, ms: number): Promise<Misused | null>
}
