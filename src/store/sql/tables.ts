/** Names of the tables and of the indexes that statements insist on, quoted, with the application's prefix. */
export interface Tables {
  readonly schedule: string
  readonly job: string
  readonly log: string
  readonly worker: string
  readonly declaredSet: string
  readonly wakeIndex: string
  readonly claimIndex: string
  readonly dueIndex: string
  readonly stateIndex: string
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
    wakeIndex: quoted('periodic_task_wake_at'),
    claimIndex: quoted('job_claim'),
    dueIndex: quoted('job_due'),
    stateIndex: quoted('job_state_schedule'),
  }
}

/** Placeholders for a list of values: `?, ?, ?`. */
export function placeholders(values: readonly unknown[]): string {
  return values.map(() => '?').join(', ')
}
