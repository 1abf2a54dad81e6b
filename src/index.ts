export * from './errors.ts'
export type { Handler, HandlerContext, JobLogger } from './executor/handler.ts'
export type { Jobs, JobQuery, SubmitOptions } from './jobs/jobs.ts'
export {
  type Health,
  Kalends,
  type KalendsEvents,
  type KalendsOptions,
  type StartOptions,
} from './kalends.ts'
export type { Logger } from './logger.ts'
export type { LoopHealth } from './loop.ts'
export type { FinalState, Job, JobState, SkipReason } from './model/job.ts'
export type { PlannedRun, PlannedSkip, Plan } from './model/plan.ts'
export type { Idle, Schedule, ScheduleStatus } from './model/schedule.ts'
export type { Settlement } from './model/settle.ts'
export type { StandardSchema } from './model/standard-schema.ts'
export { type RetryBackoff, type RunPolicy, type Task, task, type TaskOptions } from './model/task.ts'
export type { Declaration } from './schedules/declared.ts'
export type { Schedules, ScheduleQuery } from './schedules/schedules.ts'
export type { ScheduleChanges, ScheduleInput, ScheduleOptions } from './schedules/settings.ts'
export type { LogLevel, LogLine, Settled } from './store/executing-store.ts'
export type { DatabaseTarget } from './store/open.ts'
export type { Page } from './store/schedule-store.ts'
export type { Submission } from './store/scheduling-store.ts'
