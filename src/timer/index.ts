/**
 * Timers, as stored in `periodic_task.timer`: calendar events, cron expressions and time spans.
 *
 * @module
 */
export { at, type BuilderOptions, daily, every, hourly, monthly, type Weekday, weekly } from './builders.ts'
export {
  type CheckedElapse,
  type CheckOptions,
  checkTimer,
  type TimerCheck,
  type TimerError,
} from './check.ts'
export { localText } from './clock-changes.ts'
export { fromCrontab } from './crontab.ts'
export { CronSyntaxError, InvalidTimeSpanError } from './error.ts'
export { timeSpan } from './span.ts'
export type { Elapses, Timer } from './elapses.ts'
export { type Bounds, checkedZone, elapsesWithin, timer, withZone } from './timer.ts'
export { inWords } from './words.ts'
