/** The generated part of docs/contributing/benchmarks.md and its plots. The surrounding text is kept. */
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import type { RunDescription } from './machine.ts'
import { draw } from './plot.ts'
import { round } from './numbers.ts'
import type { Report } from './report.ts'
import { median } from './statistics.ts'
import type { Findings, Table } from './suite.ts'
import type { Measure } from './measure.ts'

const ROOT = join(import.meta.dirname, '..')
const PAGE = join(ROOT, 'docs/contributing/benchmarks.md')
const PLOTS = 'plots'
const BEGIN = '<!-- written by npm run bench: begin -->'
const END = '<!-- written by npm run bench: end -->'

export interface Results {
  readonly run: RunDescription & { readonly command: string; readonly runs: number; readonly quick: boolean }
  readonly reports: readonly Report[]
}

export async function writePage(results: Results): Promise<void> {
  const plots = join(dirname(PAGE), PLOTS)
  // Delete plots that are no longer drawn.
  await rm(plots, { recursive: true, force: true })
  await mkdir(plots, { recursive: true })
  for (const { findings } of results.reports)
    for (const plot of findings.plots ?? []) await writeFile(join(plots, `${plot.name}.svg`), draw(plot))
  const page = await readFile(PAGE, 'utf8')
  await writeFile(PAGE, splice(page, pageText(results)))
}

/** @throws Error if the page lacks the markers */
export function splice(page: string, generated: string): string {
  const begin = page.indexOf(BEGIN)
  const end = page.indexOf(END)
  if (begin === -1 || end < begin)
    throw new Error(`The page needs a line '${BEGIN}' and, below it, a line '${END}'`)
  return `${page.slice(0, begin + BEGIN.length)}\n\n${generated.trim()}\n\n${page.slice(end)}`
}

export function pageText({ run, reports }: Results): string {
  return [
    `\`${run.command}\` on ${run.at.slice(0, 10)}: ${run.machine}; Node.js ${run.node}. Medians of ${run.runs} runs; the subjects take turns.${run.quick ? ' A quick run with a tenth of the work: rough figures.' : ''}`,
    '',
    ...markdownTable([
      ['part', 'version', 'durability'],
      ...run.parts.map(({ name, version, durability }) => [name, version, durability]),
    ]),
    '',
    `Peers: ${run.peers.join(', ')}.`,
    '',
    ...run.missing.map((line) => `Not measured: ${line}\n`),
    ...bullets(
      reports
        .filter(({ findings }) => !isShown(findings))
        .flatMap(({ findings }) => findings.notes?.filter((note) => note.includes('was not measured')) ?? []),
    ),
    '### Targets',
    '',
    ...markdownTable([
      ['target', 'measured', ''],
      ...reports.flatMap(({ findings }) =>
        findings.targets.map(({ text, measured, reached }) => [
          text,
          measured,
          reached ? 'reached' : 'NOT REACHED',
        ]),
      ),
    ]),
    '',
    ...reports.flatMap(suiteText),
  ].join('\n')
}

function suiteText({ suite, findings }: Report): string[] {
  if (!isShown(findings)) return []
  const { notes = [], measures, table, plots = [] } = findings
  return [
    `### ${suite.title}`,
    '',
    ...bullets(notes),
    ...(table === undefined ? [] : [...markdownTable(tableRows(measures, table)), '']),
    ...plots.flatMap(({ name, title }) => [`![${title}](${PLOTS}/${name}.svg)`, '']),
  ]
}

/** Whether the page shows more of a suite than its targets. */
function isShown({ table, plots = [] }: Pick<Findings, 'table' | 'plots'>): boolean {
  return table !== undefined || plots.length > 0
}

/** Rows without any figure are left out. */
export function tableRows(measures: readonly Measure[], { rows, columns }: Table): string[][] {
  const cells = (name: string) =>
    columns.map(({ work, unit }) => {
      const found = measures.find(
        (each) => each[rows] === name && each.unit === unit && (work === undefined || each.work === work),
      )
      return found === undefined ? '' : round(median(found.values))
    })
  const names = [...new Set(measures.map((measure) => measure[rows]))]
  return [
    ['', ...columns.map(({ head }) => head)],
    ...names.map((name) => [name, ...cells(name)]).filter((row) => row.slice(1).some((cell) => cell !== '')),
  ]
}

function bullets(lines: readonly string[]): string[] {
  return lines.length === 0 ? [] : [...lines.map((line) => `- ${line}`), '']
}

/** @param rows  the first row is the header */
function markdownTable([head = [], ...rows]: readonly (readonly string[])[]): string[] {
  return [tableLine(head), `|${' --- |'.repeat(head.length)}`, ...rows.map(tableLine)]
}

function tableLine(cells: readonly string[]): string {
  return `| ${cells.map((cell) => cell.replaceAll('|', '\\|').replaceAll('*', '\\*')).join(' | ')} |`
}
