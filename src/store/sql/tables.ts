import type { Dialect } from '../database.ts'

const NAMES = {
  schedule: 'periodic_task',
  job: 'job',
  log: 'job_log',
  attempt: 'attempt',
  worker: 'worker',
  declaredSet: 'declared_set',
  freeze: 'schedule_freeze',
  taskQueue: 'task_queue',
  migration: 'kalends_migration',
  wakeIndex: 'periodic_task_wake_at',
  claimIndex: 'job_claim',
  dueIndex: 'job_due',
  openIndex: 'job_open',
  scheduleStatusIndex: 'periodic_task_status',
  scheduleTaskIndex: 'periodic_task_task',
  scheduleGroupIndex: 'periodic_task_group',
  scheduleSubmitterIndex: 'periodic_task_submitter',
  declaredByIndex: 'periodic_task_declared_by',
  jobStateIndex: 'job_state',
  jobTaskIndex: 'job_task',
  jobGroupIndex: 'job_group',
  jobSubmitterIndex: 'job_submitter',
  jobOpenGroupIndex: 'job_open_group',
  jobOpenSubmitterIndex: 'job_open_submitter',
  occurrenceIndex: 'job_occurrence',
  heldIndex: 'job_held',
} as const

/** All tables except the bookkeeping of migrations. */
export const TABLE_NAMES = [
  'periodic_task',
  'job',
  'job_log',
  'attempt',
  'worker',
  'declared_set',
  'schedule_freeze',
  'task_queue',
] as const

/** Quoted names with the application's prefix; table names include the schema. */
export type Tables = Readonly<Record<keyof typeof NAMES, string>>

export function tables(prefix: string, { quoted, table }: Pick<Dialect, 'quoted' | 'table'>): Tables {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the keys are those of NAMES
  return Object.fromEntries(
    Object.entries(NAMES).map(([key, name]) => [
      key,
      key.endsWith('Index') ? quoted(`${prefix}${name}`) : table(`${prefix}${name}`),
    ]),
  ) as Tables
}

export function keyOf({ job }: Tables, { jobId }: Pick<Dialect, 'jobId'>, table: string): string {
  return table === job ? jobId : '?'
}
