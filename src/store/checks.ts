/**
 * The allowed values of the columns, on every database. The CHECKs of both schemas derive from these lists, so that an
 * invalid row is rejected when it is written, manual SQL included. Only the schemas import it.
 */
import { STORED_OUTCOMES } from '../model/attempt.ts'
import { FINAL_STATES, OPEN_STATES } from '../model/job.ts'
import { JOB_SETTING_NAMES, SETTING_NAMES, type SettingName, settingOf } from '../model/settings.ts'

type Range = readonly [least: number, most: number]

/** By column. */
export interface TableChecks {
  readonly whole: Readonly<Record<string, Range>>
  readonly oneOf: Readonly<Record<string, readonly string[]>>
  /** Most characters. Servers know them from the type of the column; null: any number. */
  readonly text: Readonly<Record<string, number | null>>
}

/** The largest number of an INT column. */
export const INT = 2_147_483_647
const FLAG: Range = [0, 1]
const COUNT: Range = [0, INT]
const LARGE_COUNT: Range = [0, Number.MAX_SAFE_INTEGER]

export const NAME = 190
export const WORKER = 255

/** All that decides the next run, as SQL that is never null. */
export const DEFINITION_COLUMNS: readonly string[] = SETTING_NAMES.map((name) => settingOf(name))
  .filter(({ replans }) => replans === true)
  .map(({ column, default: value }) => (value === null ? `coalesce(\`${column}\`, '')` : `\`${column}\``))

/** What the columns of these settings take. */
function settingChecks(names: readonly SettingName[]): TableChecks {
  const whole: Record<string, Range> = {}
  const oneOf: Record<string, readonly string[]> = {}
  const text: Record<string, number | null> = {}
  for (const name of names) {
    const setting = settingOf(name)
    const { column } = setting
    if (setting.kind === 'flag') whole[column] = FLAG
    if (setting.kind === 'whole' || setting.kind === 'span') whole[column] = [setting.least, setting.most]
    if (setting.kind === 'choice') oneOf[column] = Object.keys(setting.values)
    if (setting.kind === 'text') text[column] = setting.most
    if (setting.kind === 'json') text[column] = null
  }
  return { whole, oneOf, text }
}

const ofSchedule = settingChecks(SETTING_NAMES)
const ofJob = settingChecks(JOB_SETTING_NAMES)

export const PERIODIC_TASK_CHECKS: TableChecks = {
  whole: { ...ofSchedule.whole, run_count: LARGE_COUNT, error_count: LARGE_COUNT },
  oneOf: { ...ofSchedule.oneOf, idle: ['awaiting finish', 'done', 'dead', 'invalid', 'retired'] },
  text: { id: NAME, ...ofSchedule.text, declared_by: NAME, worker: WORKER },
}

export const JOB_CHECKS: TableChecks = {
  whole: {
    missed: COUNT,
    run: LARGE_COUNT,
    exclusive: FLAG,
    attempt: COUNT,
    claim: COUNT,
    ...ofJob.whole,
  },
  oneOf: {
    state: [...OPEN_STATES, ...FINAL_STATES],
    // Of skipped, failed and cancelled jobs, and of those that a person asked for.
    // biome-ignore format: by state
    reason: [
      'overlap', 'missed', 'max runs', 'unsubmittable',
      'exhausted', 'permanent', 'lost',
      'replaced',
      'run now',
    ],
    ...ofJob.oneOf,
  },
  text: { id: NAME, periodic_task_id: NAME, ...ofJob.text, worker: WORKER },
}

export const JOB_LOG_CHECKS: TableChecks = {
  whole: {},
  oneOf: { level: ['debug', 'info', 'warn', 'error'] },
  text: { job_id: NAME },
}

export const ATTEMPT_CHECKS: TableChecks = {
  whole: { claim: COUNT, attempt: COUNT },
  oneOf: { outcome: STORED_OUTCOMES },
  text: { job_id: NAME, worker: WORKER },
}

export const WORKER_CHECKS: TableChecks = {
  whole: {},
  oneOf: {},
  text: { id: WORKER, name: NAME },
}

export const DECLARED_SET_CHECKS: TableChecks = {
  whole: {},
  oneOf: {},
  text: { name: NAME, hash: 64 },
}

export interface Check {
  readonly column: string
  readonly condition: string
}

/** On servers, whose columns have a type. */
export function serverChecks({ whole, oneOf }: TableChecks): Check[] {
  return [
    ...Object.entries(whole).map(([column, range]) => ({ column, condition: between(column, range) })),
    ...Object.entries(oneOf).map(([column, values]) => ({ column, condition: among(column, values) })),
  ]
}

/** On SQLite, whose columns take values of any type, and texts of any length that drivers end at NUL. */
export function sqliteChecks({ whole, oneOf, text }: TableChecks): Check[] {
  return [
    ...Object.entries(whole).map(([column, range]) => ({
      column,
      condition: `typeof(\`${column}\`) in ('integer', 'null') and ${between(column, range)}`,
    })),
    ...Object.entries(oneOf).map(([column, values]) => ({ column, condition: among(column, values) })),
    ...Object.entries(text).map(([column, most]) => ({
      column,
      condition: [
        `typeof(\`${column}\`) in ('text', 'null')`,
        `instr(\`${column}\`, char(0)) = 0`,
        ...(most === null ? [] : [`length(\`${column}\`) <= ${most}`]),
      ].join(' and '),
    })),
  ]
}

function between(column: string, [least, most]: Range): string {
  return `\`${column}\` between ${least} and ${most}`
}

function among(column: string, values: readonly string[]): string {
  return `\`${column}\` in (${values.map((value) => `'${value}'`).join(', ')})`
}
