/** Names of the tables and of the indexes that statements insist on, quoted, with the application's prefix. */
export interface Tables {
  readonly schedule: string
  readonly job: string
  readonly log: string
  readonly worker: string
  readonly declaredSet: string
  /** The bookkeeping of the migrations. */
  readonly migration: string
  readonly wakeIndex: string
  readonly claimIndex: string
  readonly dueIndex: string
  readonly stateIndex: string
  readonly scheduleStatusIndex: string
  readonly scheduleTaskIndex: string
  readonly scheduleGroupIndex: string
  readonly scheduleSubmitterIndex: string
  readonly declaredByIndex: string
  readonly jobStateIndex: string
  readonly jobTaskIndex: string
  readonly jobGroupIndex: string
  readonly jobSubmitterIndex: string
  readonly jobOpenGroupIndex: string
  readonly jobOpenSubmitterIndex: string
  readonly occurrenceIndex: string
  readonly heldIndex: string
  readonly finishedIndex: string
}

export const TABLE_NAMES = ['periodic_task', 'job', 'job_log', 'worker', 'declared_set'] as const

export function tables(prefix: string): Tables {
  const quoted = (name: string) => `\`${prefix}${name}\``
  return {
    schedule: quoted('periodic_task'),
    job: quoted('job'),
    log: quoted('job_log'),
    worker: quoted('worker'),
    declaredSet: quoted('declared_set'),
    migration: quoted('kalends_migration'),
    wakeIndex: quoted('periodic_task_wake_at'),
    claimIndex: quoted('job_claim'),
    dueIndex: quoted('job_due'),
    stateIndex: quoted('job_state_schedule'),
    scheduleStatusIndex: quoted('periodic_task_status'),
    scheduleTaskIndex: quoted('periodic_task_task'),
    scheduleGroupIndex: quoted('periodic_task_group'),
    scheduleSubmitterIndex: quoted('periodic_task_submitter'),
    declaredByIndex: quoted('periodic_task_declared_by'),
    jobStateIndex: quoted('job_state'),
    jobTaskIndex: quoted('job_task'),
    jobGroupIndex: quoted('job_group'),
    jobSubmitterIndex: quoted('job_submitter'),
    jobOpenGroupIndex: quoted('job_open_group'),
    jobOpenSubmitterIndex: quoted('job_open_submitter'),
    occurrenceIndex: quoted('job_occurrence'),
    heldIndex: quoted('job_held'),
    finishedIndex: quoted('job_finished'),
  }
}

/** Placeholders for a list of values: `?, ?, ?`. */
export function placeholders(values: readonly unknown[]): string {
  return values.map(() => '?').join(', ')
}

/** Ends a condition, and leaves out the rows with these ids. */
export function exceptFor(ids: readonly string[]): {
  readonly text: string
  readonly params: readonly string[]
} {
  return { text: ids.length === 0 ? '' : `AND id NOT IN (${placeholders(ids)})`, params: ids }
}
