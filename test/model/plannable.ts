import {
  type Circumstances,
  NO_OPEN_JOBS,
  type OpenJobs,
  type Plan,
  type Plannable,
} from '../../src/model/planning.ts'

/** The default lease plus the default poll interval. */
export const MISSED_AFTER_MS = 61_000

/** A planned, unedited schedule with the given changes. */
export function schedule(given: Partial<Plannable> & { readonly timer: string }): Plannable {
  const definition = `enabled ${given.timer}`
  return {
    id: 'report',
    enabled: true,
    createdAt: new Date('2020-01-01T00:00Z'),
    jitter: 0,
    starts: null,
    ends: null,
    overlap: 'skip',
    yields: false,
    task: 'report',
    group: '',
    frozenUntil: null,
    maxRuns: null,
    onExhausted: 'continue',
    successes: 0,
    nextRunAt: null,
    idle: null,
    lastSlot: null,
    lastError: null,
    catchUp: 1,
    definition,
    plannedDefinition: definition,
    plannedRun: given.nextRunAt ?? null,
    isByHand: false,
    ...given,
  }
}

/** A row after INSERT, never planned. */
export function inserted(given: Partial<Plannable> & { readonly timer: string }): Plannable {
  return schedule({ plannedDefinition: null, plannedRun: null, ...given })
}

/** The row once the plan has been written to it. */
export function applied(row: Plannable, written: Plan): Plannable {
  const { nextRunAt, isByHand, idle, lastSlot, lastError, frozenUntil } = written
  const planned = { plannedDefinition: row.definition, plannedRun: nextRunAt, isByHand }
  return { ...row, nextRunAt, idle, lastSlot, lastError, frozenUntil, ...planned }
}

/** The row after UPDATE … SET timer = … */
export function edited(row: Plannable, timer: string): Plannable {
  return { ...row, timer, definition: `${row.enabled ? 'enabled' : 'disabled'} ${timer}` }
}

/** @param active  whether one job is running, or the counts of unfinished jobs */
export function at(now: string | Date, active: boolean | Partial<OpenJobs> = false): Circumstances {
  const jobs = typeof active === 'boolean' ? { running: Number(active) } : active
  return { now: new Date(now), open: { ...NO_OPEN_JOBS, ...jobs }, missedAfterMs: MISSED_AFTER_MS }
}

/** The plan in a compact form. Runs are shown as `slot`, with `after n` (missed slots) and `blocked` if they apply. */
export function shown(plan: Plan | null): unknown {
  if (plan === null) return 'not due'
  const { runs, skips, nextRunAt, idle } = plan
  return {
    runs: runs.map(({ slot, missed, state }) =>
      [text(slot), ...(missed > 0 ? [`after ${missed}`] : []), ...(state === 'blocked' ? [state] : [])].join(
        ' ',
      ),
    ),
    skips: skips.map(({ slot, reason, count }) => `${count} ${reason} to ${text(slot)}`),
    next: nextRunAt === null ? idle : text(nextRunAt),
  }
}

function text(instant: Date): string {
  return instant
    .toISOString()
    .replace(/:00\.000Z$/, '')
    .replace(/\.000Z$/, '')
    .replace('T', ' ')
}
