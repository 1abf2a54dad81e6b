/**
 * Schedules in the application's own SQL database, and the jobs that they create.
 *
 * @module
 */
export {
  AttemptTimeoutError,
  CancelledError,
  ConflictError,
  DeclarationError,
  ForbiddenError,
  InvalidInputError,
  KalendsError,
  LeaseLostError,
  LimitError,
  NotFoundError,
  OverloadedError,
  PermanentError,
  SchemaError,
  StoppedError,
  StoreUnavailableError,
  TooSlowError,
  VersionError,
  WaitTimeoutError,
} from './errors.ts'
export type { Middleware, Handler, HandlerContext, JobLogger } from './executor/handler.ts'
export type { Jobs } from './jobs/jobs.ts'
export type { JobInput, JobOptions, SubmitOptions } from './jobs/options.ts'
export type { WaitOptions } from './jobs/wait.ts'
export type { ManyJobs, ManyOptions, ManyResult } from './jobs/many.ts'
export type { RetentionOptions } from './jobs/retention.ts'
export { Kalends, type PruneOptions } from './kalends.ts'
export type { Logger } from './logger.ts'
export type { LoopHealth } from './loop.ts'
export type { Attempt, AttemptOutcome } from './model/attempt.ts'
export type { GrantedTasks, OwnerLimits } from './model/authority.ts'
export type { Finding } from './model/doctor.ts'
export type { FinalState, Job, JobId, JobState, SkipReason, Stored } from './model/job.ts'
export type { Schedule, ScheduleStatus } from './model/schedule.ts'
export type { OnExhausted, Overlap, RetryBackoff } from './model/settings.ts'
export type { StandardSchema } from './model/standard-schema.ts'
export {
  type AnyArgs,
  type ArgsOption,
  type PolicyOptions,
  type RunPolicy,
  type Task,
  task,
  type TaskOptions,
} from './model/task.ts'
export type { KalendsOptions, ScopeOptions, StartOptions, StopOptions } from './options.ts'
export type { ExternalJob, SubmitToQueue } from './scheduler/external-queue.ts'
export type { ListenOptions } from './events.ts'
export type { Declaration, OnRemoved } from './schedules/declared.ts'
export type { HistoryQuery, IfVersion, WriteOptions } from './schedules/context.ts'
export type { Explanation } from './schedules/explain.ts'
export type { Schedules } from './schedules/schedules.ts'
export type {
  CreateOptions,
  IfExists,
  NewScheduleOptions,
  ScheduleChanges,
  ScheduleInput,
  ScheduleOptions,
  SchedulePolicy,
} from './schedules/settings.ts'
export type { Scope } from './scopes.ts'
export type { LogLevel } from './store/executing-store.ts'
export type { Transaction, TransactionOption } from './store/job-store.ts'
export type {
  DatabaseTarget,
  MysqlPool,
  SqliteClient,
  SqliteConnection,
} from './store/database.ts'
export type { MigrateOptions } from './store/open.ts'
export type { FirstRun } from './model/first-run.ts'
export type { WorkerRecord } from './store/worker-store.ts'
export type {
  Counts,
  HourCount,
  JobConditions,
  JobQuery,
  LargeColumn,
  Listed,
  ListPage,
  LogLine,
  PageQuery,
  RecentRun,
  ChangeTokens,
  ScheduleConditions,
  ScheduleQuery,
} from './store/list-store.ts'
export type { HourLoad, Load } from './views/load.ts'
export type {
  FailureGroup,
  LoadQuery,
  Upcoming,
  UpcomingQuery,
  Views,
} from './views/views.ts'
export type { Health, HealthNote } from './worker/health.ts'
export type { KalendsEvents, SettledEvent, SubmittedEvent } from './worker/reporter.ts'
export type { WorkerStatus } from './worker/worker-status.ts'
