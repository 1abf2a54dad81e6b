/** The types of suites and their findings. */
import type { Measure } from './measure.ts'
import type { Servers } from './servers.ts'

export interface Suite {
  readonly name: string
  readonly title: string
  readonly run: (bench: Bench) => Promise<Findings>
}

/** The parameters of a suite. */
export interface Bench {
  /** The number of measurements of each subject. */
  readonly runs: number
  /** Whether to run only a tenth of the work: a smoke test with rough figures. */
  readonly quick: boolean
  readonly servers: Servers
  /** Reports progress. */
  readonly say: (line: string) => void
}

export interface Findings {
  readonly measures: readonly Measure[]
  readonly targets: readonly Target[]
  /** The table on the page. Without a table or plot, the page shows only the targets. */
  readonly table?: Table
  readonly plots?: readonly Plot[]
  /** Notes for the reader, such as which servers are missing and why. */
  readonly notes?: readonly string[]
}

/** Medians, with one row per subject or per kind of work. */
export interface Table {
  readonly rows: 'subject' | 'work'
  readonly columns: readonly {
    readonly head: string
    /** The work whose figures the column shows; by default the row's own work. */
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
  /** Also the name of the plot's file. */
  readonly name: string
  readonly title: string
  readonly x: string
  readonly y: string
  readonly lines: readonly {
    readonly label: string
    readonly points: readonly (readonly [number, number])[]
  }[]
}

/** `full` in a complete run, a tenth of it in a quick one. */
export function scaled({ quick }: Bench, full: number): number {
  return quick ? Math.ceil(full / 10) : full
}
