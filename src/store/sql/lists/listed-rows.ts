import type { Job } from '../../../model/job.ts'
import type { StoredSchedule } from '../../../model/schedule.ts'
import type { LargeColumn, Listed } from '../../list-store.ts'
import { integerLiteral } from '../../literals.ts'
import { type JobRow, type ScheduleRow, toJob, toSchedule } from '../rows.ts'

const LIST_BYTES = 4_000_000
const MAX_PREVIEW_BYTES = 2048
/** JSON cannot be shortened, so a long value is left out. Only the beginning of a long text is kept. */
const LARGE_JSON: readonly string[] = ['args', 'progress', 'result']
const LARGE_TEXT: readonly string[] = ['error', 'last_error']
const LARGE_COLUMNS = 4

/** The sizes in bytes of values that were left out or shortened; null for other values. */
export type ListedRow<Row> = Row & {
  readonly args_bytes: number | null
  readonly last_error_bytes?: number | null
  readonly result_bytes?: number | null
  readonly progress_bytes?: number | null
  readonly error_bytes?: number | null
}

export function listedColumns(expressions: readonly string[], rows: number): string {
  const most = Math.min(MAX_PREVIEW_BYTES, Math.floor(LIST_BYTES / LARGE_COLUMNS / rows))
  return expressions
    .flatMap((column) => {
      if (LARGE_JSON.includes(column)) return jsonPreview(column, most)
      return LARGE_TEXT.includes(column) ? textPreview(column, most) : [column]
    })
    .join(', ')
}

/** Columns: the JSON, or NULL and its size if it is too long. */
function jsonPreview(column: string, most: number): string[] {
  const isLonger = `OCTET_LENGTH(${column}) > ${integerLiteral(most)}`
  return [`CASE WHEN ${isLonger} THEN NULL ELSE ${column} END AS ${column}`, sizeIf(isLonger, column)]
}

/** Columns: the beginning of the text, and the size of the whole text if it is longer. */
export function textPreview(column: string, most: number): string[] {
  // The size in bytes does not show whether characters were cut off.
  const isLonger = `SUBSTR(${column}, ${integerLiteral(most + 1)}, 1) LIKE '_'`
  return [`SUBSTR(${column}, 1, ${integerLiteral(most)}) AS ${column}`, sizeIf(isLonger, column)]
}

function sizeIf(condition: string, column: string): string {
  return `CASE WHEN ${condition} THEN OCTET_LENGTH(${column}) END AS ${column}_bytes`
}

export function toListedSchedule(row: ListedRow<ScheduleRow>): Listed<StoredSchedule> {
  const schedule = toSchedule({
    ...row,
    args: row.args ?? 'null',
    last_error: wholeLines(row.last_error, row.last_error_bytes),
  })
  return { ...schedule, ...truncatedOf(row) }
}

export function toListedJob(row: ListedRow<JobRow>): Listed<Job> {
  const job = toJob({ ...row, args: row.args ?? 'null', error: wholeLines(row.error, row.error_bytes) })
  return { ...job, ...truncatedOf(row) }
}

function truncatedOf(row: ListedRow<object>): Pick<Listed<object>, 'truncated'> {
  const sizes: Readonly<Record<LargeColumn, number | null | undefined>> = {
    args: row.args_bytes,
    result: row.result_bytes,
    progress: row.progress_bytes,
    error: row.error_bytes,
    lastError: row.last_error_bytes,
  }
  const truncated = Object.fromEntries(
    Object.entries(sizes).filter(([, bytes]) => bytes !== null && bytes !== undefined),
  )
  return Object.keys(truncated).length === 0 ? {} : { truncated }
}

/** Removes the last line of a text that was cut: it may end with part of a secret, which might not be recognised. */
export function wholeLines(text: string | null, bytes: number | null | undefined): string | null {
  if (text === null || bytes === null || bytes === undefined) return text
  return text.slice(0, Math.max(0, text.lastIndexOf('\n')))
}
