/** The Markdown report of a run, for the terminal and for a file in the record's folder. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Figures, Lateness } from './figures.ts'
import type { Gap } from './checker/rules/stalled.ts'
import type { Violation } from './judging.ts'
import type { RunRecord } from './record.ts'

const MAX_SHOWN = 20

export function reportText(
  record: RunRecord,
  figures: Figures,
  violations: readonly Violation[],
  command: string | null,
): string {
  const { occurrences, runs, skipped, states, attempts, attemptsMost, faults, deadlocks } = figures
  const { longestGap, longestGapBeside } = figures
  const played = faults.reduce((sum, { count }) => sum + count, 0)
  return [
    `# Chaos on ${record.target}, seed ${record.seed}`,
    '',
    violations.length === 0
      ? 'Nothing was lost, duplicated or early.'
      : `**${violations.length} violations**, by rule: ${counts(byRule(violations))}.`,
    '',
    ...(command === null ? [] : [`To repeat: \`${command}\``, '']),
    `- ${runTime(record)}`,
    `- ${occurrences} occurrences decided: ${runs} runs (${counts(states)}), skipped: ${counts(skipped)}`,
    `- ${attempts} attempts, at most ${attemptsMost} for one run`,
    `- ${played} faults of ${faults.length} kinds; deadlocks on the server: ${deadlocks ?? 'not counted'}`,
    `- longest time without a start on a worker that no fault affected: ${gapText(longestGap)}; while faults affected others: ${gapText(longestGapBeside)}`,
    '',
    '| fault | count | longest, s | longest recovery, s | reported by health() |',
    '| --- | ---: | ---: | ---: | ---: |',
    ...faults.map(
      ({ name, count, longest, recovery, seen, seeable }) =>
        `| ${name} | ${count} | ${seconds(longest)} | ${recovery === null ? '0' : seconds(recovery)} | ${seeable === 0 ? '' : `${seen} of ${seeable}`} |`,
    ),
    '',
    '| lateness, ms | slots | p50 | p90 | p99 | max |',
    '| --- | ---: | ---: | ---: | ---: | ---: |',
    ...figures.lateness.map(latenessRow),
    '',
    ...(violations.length === 0 ? [] : ['## Violations', '', ...violations.slice(0, MAX_SHOWN).map(item)]),
    ...(violations.length > MAX_SHOWN
      ? [`- … and ${violations.length - MAX_SHOWN} more, in violations.jsonl`]
      : []),
    '',
  ].join('\n')
}

export function saveReport(folder: string, text: string, violations: readonly Violation[]): void {
  writeFileSync(join(folder, 'report.md'), text)
  writeFileSync(
    join(folder, 'violations.jsonl'),
    violations.map((violation) => `${JSON.stringify(violation)}\n`).join(''),
  )
}

function item({ rule, schedule, text }: Violation): string {
  return `- ${rule}${schedule === null ? '' : `, ${schedule}`}: ${text}`
}

function gapText(gap: Gap | null): string {
  return gap === null
    ? 'not measured'
    : `${seconds(gap.until - gap.from)} s (${gap.worker}, ${new Date(gap.from).toISOString()})`
}

function byRule(violations: readonly Violation[]): Record<string, number> {
  const sums: Record<string, number> = {}
  for (const { rule } of violations) sums[rule] = (sums[rule] ?? 0) + 1
  return sums
}

function latenessRow({ what, count, p50, p90, p99, most }: Lateness): string {
  return `| ${what} | ${count} | ${p50} | ${p90} | ${p99} | ${most} |`
}

function counts(of: Readonly<Record<string, number>>): string {
  const entries = Object.entries(of)
  return entries.length === 0 ? 'none' : entries.map(([name, count]) => `${count} ${name}`).join(', ')
}

function runTime({ journal }: RunRecord): string {
  const phases = journal.filter((entry) => entry.kind === 'phase')
  const [begin, end] = [
    phases.find(({ phase }) => phase === 'begin'),
    phases.find(({ phase }) => phase === 'end'),
  ]
  if (begin === undefined || end === undefined) return 'the run was interrupted'
  return `${seconds(end.host - begin.host)} s, from ${new Date(begin.at).toISOString()} by the database's clock`
}

function seconds(ms: number): string {
  return (ms / 1000).toFixed(1)
}
