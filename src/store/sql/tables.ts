import type { Dialect } from '../database.ts'
import { quoted } from '../literals.ts'

const TABLES = {
  schedule: 'periodic_task',
  job: 'job',
  log: 'job_log',
  attempt: 'attempt',
  worker: 'worker',
  declaredSet: 'declared_set',
  freeze: 'schedule_freeze',
  taskQueue: 'task_queue',
} as const

/** The indexes that statements name. */
const INDEXES = {
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
  jobScheduleIndex: 'job_schedule',
  heldIndex: 'job_held',
} as const

/** All tables except the bookkeeping of migrations. */
export const TABLE_NAMES = Object.values(TABLES)

/** Quoted names with the application's prefix; table names include the schema. */
export type Tables = Readonly<ReturnType<typeof tables>>

export function tables(prefix: string, { table }: Pick<Dialect, 'table'>) {
  const named = <Key extends string>(names: Readonly<Record<Key, string>>, quote: (name: string) => string) =>
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the keys are those of `names`
    Object.fromEntries(
      Object.entries<string>(names).map(([key, name]) => [key, quote(`${prefix}${name}`)]),
    ) as Record<Key, string>
  return { ...named({ ...TABLES, migration: 'kalends_migration' }, table), ...named(INDEXES, quoted) }
}

export function keyOf({ job }: Tables, { jobId }: Pick<Dialect, 'jobId'>, table: string): string {
  return table === job ? jobId : '?'
}
