import { createHash } from 'node:crypto'
import { isDeepStrictEqual } from 'node:util'
import type { RetryBackoff } from './task.ts'

/** Why nothing is to come, although the schedule is enabled. */
export type Idle = 'done' | 'dead' | 'invalid' | 'retired' | 'running'

/** For people: `idle` where it is not running, and else whether it is enabled. */
export type ScheduleStatus = 'active' | 'paused' | Exclude<Idle, 'running'>

/** What happens when a slot comes while a job of the schedule is not final. */
export type Overlap = 'skip' | 'queue_one' | 'replace' | 'allow'

/** What happens when a run has failed for good. */
export type OnExhausted = 'continue' | 'stop'

/** When and with which args a task runs: a row of `periodic_task`. */
export interface Schedule {
  readonly id: string
  /** Belongs to people: Kalends never changes it on an existing row. */
  readonly enabled: boolean
  readonly status: ScheduleStatus
  readonly task: string
  readonly group: string
  readonly args: unknown
  readonly subject: string | null
  readonly submitter: string | null
  readonly summary: string | null
  /** Larger goes first; default 0. */
  readonly priority: number
  /** A calendar event of systemd.time(7), `cron …` or `every …`. */
  readonly timer: string
  /** The next slot; null while paused, or when nothing is to come. */
  readonly nextRun: Date | null
  /** Why nothing is to come; `running`: the next run is counted from the end of the current one. */
  readonly idle: Idle | null
  readonly starts: Date | null
  readonly ends: Date | null
  /** In milliseconds. */
  readonly jitterMs: number
  /** Most missed slots that are made up. */
  readonly catchUp: number
  readonly overlap: Overlap
  readonly onExhausted: OnExhausted
  readonly maxRuns: number | null
  /** In milliseconds; null: as the task says. */
  readonly timeoutMs: number | null
  readonly maxRetries: number | null
  readonly retryDelayMs: number | null
  readonly retryBackoff: RetryBackoff | null
  /** The declared set that the schedule belongs to; null when people made it. */
  readonly declaredBy: string | null
  readonly created: Date
  /** The high-water mark: slots at or before it are decided. */
  readonly lastSlot: Date | null
  readonly runCount: number
  readonly errorCount: number
  readonly lastRun: Date | null
  readonly lastFinished: Date | null
  readonly lastJob: string | null
  readonly lastError: string | null
  /** The worker that is submitting it right now. */
  readonly markedBy: string | null
}

/** What people decide about a schedule. */
export interface ScheduleSettings
  extends Pick<
    Schedule,
    | 'task'
    | 'timer'
    | 'enabled'
    | 'group'
    | 'subject'
    | 'submitter'
    | 'summary'
    | 'priority'
    | 'starts'
    | 'ends'
    | 'jitterMs'
    | 'catchUp'
    | 'overlap'
    | 'onExhausted'
    | 'maxRuns'
    | 'timeoutMs'
    | 'maxRetries'
    | 'retryDelayMs'
    | 'retryBackoff'
    | 'declaredBy'
  > {
  /** JSON text. */
  readonly args: string
}

export const DEFAULT_SETTINGS: Omit<ScheduleSettings, 'task' | 'timer'> = {
  enabled: true,
  group: '',
  args: '{}',
  subject: null,
  submitter: null,
  summary: null,
  priority: 0,
  starts: null,
  ends: null,
  jitterMs: 0,
  catchUp: 1,
  overlap: 'skip',
  onExhausted: 'continue',
  maxRuns: null,
  timeoutMs: null,
  maxRetries: null,
  retryDelayMs: null,
  retryBackoff: null,
  declaredBy: null,
}

/** Of all settings of a schedule: 22 characters of base64url, others after each edit. */
export function settingsHash(schedule: Schedule): string {
  const settings = Object.keys({ ...DEFAULT_SETTINGS, task: '', timer: '' }).toSorted()
  const values = settings.map((key): unknown => Reflect.get(schedule, key))
  return createHash('sha256').update(JSON.stringify(values)).digest('base64url').slice(0, 22)
}

/** The settings that differ from what a schedule has. Args are compared as JSON values. */
export function changedSettings(
  current: Schedule,
  wanted: Partial<ScheduleSettings>,
): Partial<ScheduleSettings> {
  const { args, ...rest } = wanted
  const changed = Object.entries(rest).filter(
    ([key, value]) => !isDeepStrictEqual(Reflect.get(current, key), value),
  )
  const argsDiffer = args !== undefined && !isDeepStrictEqual(current.args, JSON.parse(args))
  return { ...Object.fromEntries(changed), ...(argsDiffer && { args }) }
}
