/**
 * What the columns take, on every database: the CHECKs of both schemas are made from these lists, so that a row that
 * cannot be worked with is refused when it is written, also by hand. Only the schemas import it.
 */
import { FINAL_STATES, OPEN_STATES } from '../model/job.ts'

type Range = readonly [least: number, most: number]

/** By column. */
export interface TableChecks {
  readonly whole: Readonly<Record<string, Range>>
  readonly oneOf: Readonly<Record<string, readonly string[]>>
  /** Most characters. Servers know them from the type of the column; null: any number. */
  readonly text: Readonly<Record<string, number | null>>
}

const FLAG: Range = [0, 1]
const COUNT: Range = [0, 2_147_483_647]
const LARGE_COUNT: Range = [0, Number.MAX_SAFE_INTEGER]
const MILLISECONDS: Range = [0, 2_147_483_647]
/** Without the smallest number of the column, which has no negative: the queue orders by that. */
const PRIORITY: Range = [-2_147_483_647, 2_147_483_647]
const BACKOFFS = ['exponential', 'fixed']

export const NAME = 190
export const GROUP = 100
export const WORKER = 255
export const SUBJECT = 255
export const SUMMARY = 1000
export const TIMER = 512

/** Of schedules and of jobs. */
const POLICY = {
  timeout: [1, MILLISECONDS[1]],
  max_retries: COUNT,
  retry_delay: MILLISECONDS,
} as const

export const PERIODIC_TASK_CHECKS: TableChecks = {
  whole: {
    enabled: FLAG,
    priority: PRIORITY,
    jitter: MILLISECONDS,
    catch_up: [0, 1000],
    max_runs: [1, Number.MAX_SAFE_INTEGER],
    ...POLICY,
    run_count: LARGE_COUNT,
    error_count: LARGE_COUNT,
  },
  oneOf: {
    overlap: ['skip', 'queue_one', 'replace', 'allow'],
    on_exhausted: ['continue', 'stop'],
    retry_backoff: BACKOFFS,
    idle: ['running', 'done', 'dead', 'invalid', 'retired'],
  },
  text: {
    id: NAME,
    task: NAME,
    group_: GROUP,
    args: null,
    subject: SUBJECT,
    submitter: NAME,
    summary: SUMMARY,
    timer: TIMER,
    declared_by: NAME,
    worker: WORKER,
  },
}

export const JOB_CHECKS: TableChecks = {
  whole: {
    missed: COUNT,
    run: LARGE_COUNT,
    priority: PRIORITY,
    exclusive: FLAG,
    attempt: COUNT,
    claim: COUNT,
    ...POLICY,
  },
  oneOf: {
    state: [...OPEN_STATES, ...FINAL_STATES],
    // Of skipped, failed and cancelled jobs, and of those that a person asked for.
    // biome-ignore format: by state
    reason: [
      'overlap', 'missed', 'max runs', 'fault',
      'exhausted', 'permanent', 'lost',
      'replaced',
      'run now',
    ],
    retry_backoff: BACKOFFS,
  },
  text: {
    id: NAME,
    periodic_task_id: NAME,
    task: NAME,
    group_: GROUP,
    args: null,
    subject: SUBJECT,
    submitter: NAME,
    worker: WORKER,
  },
}

export const JOB_LOG_CHECKS: TableChecks = {
  whole: {},
  oneOf: { level: ['debug', 'info', 'warn', 'error'] },
  text: { job_id: NAME },
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
