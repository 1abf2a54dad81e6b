/** Names of the tables, quoted, with the application's prefix. */
export interface Tables {
  readonly schedule: string
  readonly job: string
  readonly log: string
  readonly worker: string
}

export const TABLE_NAMES = ['periodic_task', 'job', 'job_log', 'worker'] as const

export function tables(prefix: string): Tables {
  const quoted = (name: (typeof TABLE_NAMES)[number]) => `\`${prefix}${name}\``
  return { schedule: quoted('periodic_task'), job: quoted('job'), log: quoted('job_log'), worker: quoted('worker') }
}

/** Placeholders for a list of values: `?, ?, ?`. */
export function placeholders(values: readonly unknown[]): string {
  return values.map(() => '?').join(', ')
}
