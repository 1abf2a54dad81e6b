/** Converts instants between Unix ms (harness) and 'YYYY-MM-DD HH:MM:SS.mmm' in UTC (tables). */
import type { Target } from './fault.ts'
import type { RowText } from './record.ts'

/** @returns null if the value is null or not an instant */
export function msOf(text: string | number | null | undefined): number | null {
  if (typeof text !== 'string') return null
  const ms = Date.parse(`${text.replace(' ', 'T')}Z`)
  return Number.isNaN(ms) ? null : ms
}

export function textOf(ms: number): string {
  return new Date(ms).toISOString().replace('T', ' ').slice(0, 23)
}

/** The current time by the database's clock, in Unix ms. */
export async function databaseNow({ kind }: Pick<Target, 'kind'>, query: Target['query']): Promise<number> {
  const now = kind === 'sqlite' ? "strftime('%Y-%m-%d %H:%M:%f', 'now')" : 'UTC_TIMESTAMP(3)'
  const [row]: RowText[] = await query(`SELECT ${now} AS now`)
  const ms = msOf(row?.['now'])
  if (ms === null) throw new Error('the database did not return its time')
  return ms
}
