/** Formats the findings of a suite for the terminal and the page. */
import { round } from './numbers.ts'
import type { Findings, Suite } from './suite.ts'
import type { Measure } from './measure.ts'
import { median, spread } from './statistics.ts'

export interface Report {
  readonly suite: Pick<Suite, 'name' | 'title'>
  readonly findings: Findings
  readonly seconds: number
}

/** For the terminal. */
export function tellReport(report: Report): string {
  const { suite, findings, seconds } = report
  return [
    `${suite.title} (${suite.name}, ${round(seconds)} s)`,
    ...table(measureRows(findings.measures)),
    ...(findings.notes ?? []).map((note) => `note: ${note}`),
    ...findings.targets.map(
      ({ text, measured, reached }) => `${reached ? 'reached    ' : 'NOT REACHED'}  ${text}: ${measured}`,
    ),
  ].join('\n')
}

const MEASURE_HEAD = ['work', 'subject', 'median', 'unit', 'spread', 'Kalends is']

/** One row per measure. The last cell compares Kalends on MariaDB with the subject in the same run. */
export function measureRows(measures: readonly Measure[]): string[][] {
  return [
    MEASURE_HEAD,
    ...measures.map(({ work, subject, unit, values }) => {
      const middle = median(values)
      const ours = measures.find(
        (other) =>
          other.work === work && other.unit === unit && /^Kalends( on MariaDB)?$/.test(other.subject),
      )
      const isPeer = ours !== undefined && ours.subject !== subject && middle !== 0
      return [
        work,
        subject,
        round(middle),
        unit,
        values.length > 1 ? `${Math.round(spread(values) * 100)} %` : '',
        isPeer ? `${round(median(ours.values) / middle)} times` : '',
      ]
    }),
  ]
}

function table(rows: readonly (readonly string[])[]): string[] {
  const widths = (rows[0] ?? []).map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)))
  return rows.map((row) =>
    row
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join('  ')
      .trimEnd(),
  )
}
