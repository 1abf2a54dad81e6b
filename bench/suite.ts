/** What a suite is and what it finds out. */
import type { Servers } from './servers.ts'

export interface Suite {
  readonly name: string
  readonly title: string
  readonly run: (bench: Bench) => Promise<Findings>
}

/** What a suite is given. */
export interface Bench {
  /** How often each subject is measured. */
  readonly runs: number
  /** A tenth of everything: shows that it works, and roughly where it stands. */
  readonly quick: boolean
  readonly servers: Servers
  /** Tells the person who waits what goes on. */
  readonly say: (line: string) => void
}

export interface Findings {
  readonly measures: readonly Measure[]
  readonly targets: readonly Target[]
  /** What the page shows of the measures; without it and a plot, only the targets are on the page. */
  readonly table?: Table
  readonly plots?: readonly Plot[]
  /** What the reader should know: what could not be had, and why. */
  readonly notes?: readonly string[]
}

/** One work done by one subject, several times. */
export interface Measure {
  readonly work: string
  readonly subject: string
  readonly unit: string
  readonly values: readonly number[]
}

/** Medians, one row for each subject or for each work. */
export interface Table {
  readonly rows: 'subject' | 'work'
  readonly columns: readonly {
    readonly head: string
    /** Only of this work; without it, of the row. */
    readonly work?: string
    readonly unit: string
  }[]
}

export interface Target {
  readonly text: string
  readonly measured: string
  readonly reached: boolean
}

export interface Plot {
  /** Of its file, too. */
  readonly name: string
  readonly title: string
  readonly x: string
  readonly y: string
  readonly lines: readonly {
    readonly label: string
    readonly points: readonly (readonly [number, number])[]
  }[]
}

/** `full` in a whole run, a tenth of it in a quick one. */
export function scaled({ quick }: Bench, full: number): number {
  return quick ? Math.ceil(full / 10) : full
}
