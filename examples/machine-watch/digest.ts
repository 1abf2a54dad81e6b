/** Formats the digest of a period as Markdown. */
import type { Runs, Series } from './history.ts'
import { bytes, clock, day, duration, percent } from './words.ts'

export interface DigestData {
  readonly title: string
  readonly from: Date
  readonly to: Date
  readonly series: readonly Series[]
  readonly runs: readonly Runs[]
}

export function digest({ title, from, to, series, runs }: DigestData): string {
  const hosts = [...new Set(series.map(({ host }) => host))]
  return [
    `# ${title}`,
    `${day(from)} ${clock(from)} to ${day(to)} ${clock(to)}`,
    ...(hosts.length === 0 ? ['No measurements in this period.'] : []),
    ...hosts.flatMap((host) =>
      machine(
        host,
        series.filter((one) => one.host === host),
      ),
    ),
    '## Jobs',
    runs.length === 0
      ? 'No job ended in this period.'
      : table(
          ['task', 'state', 'jobs'],
          runs.map(({ task, state, runs: count }) => [task, state, String(count)]),
        ),
    '',
  ].join('\n\n')
}

function machine(host: string, series: readonly Series[]): string[] {
  const busy = series.filter(({ kind }) => kind !== 'disk')
  const disks = series.filter(({ kind }) => kind === 'disk')
  return [
    `## ${host}`,
    ...(busy.length === 0 ? [] : [table(['', 'now', 'lowest', 'average', 'highest'], busy.map(busyRow))]),
    ...(disks.length === 0
      ? []
      : [table(['disk', 'used', 'free', 'size', 'change', 'full at this rate'], disks.map(diskRow))]),
  ]
}

function busyRow({ kind, last, lowest, average, highest, size }: Series): string[] {
  const shown = (value: number) => (kind === 'load' ? value.toFixed(2) : percent(value, size))
  const name = kind === 'load' ? `load on ${size} cores` : `memory of ${bytes(size)}`
  return [name, shown(last), shown(lowest), shown(average), shown(highest)]
}

function diskRow({ name, first, last, size, from, to }: Series): string[] {
  const change = last - first
  const sign = change > 0 ? '+' : ''
  return [
    name,
    percent(last, size),
    bytes(size - last),
    bytes(size),
    `${sign}${bytes(change)}`,
    fullIn(change, size - last, to - from),
  ]
}

/** The growth rate is not meaningful with less than ten minutes of data. */
const SHORTEST_PACE_MS = 600_000
const YEAR_MS = 365 * 86_400_000

function fullIn(change: number, free: number, ms: number): string {
  if (ms < SHORTEST_PACE_MS) return 'not enough data'
  const left = change > 0 ? (free / change) * ms : Number.POSITIVE_INFINITY
  return left > YEAR_MS ? 'not within a year' : `in ${duration(left)}`
}

function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  return [head, head.map(() => '---'), ...rows].map(tableLine).join('\n')
}

function tableLine(cells: readonly string[]): string {
  return `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`
}
