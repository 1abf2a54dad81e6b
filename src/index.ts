/**
 * Schedules in the application's own SQL database, and the jobs that they create.
 *
 * ```js
 * import { Kalends, task } from 'kalends'
 *
 * const greet = task('greet')
 * const kalends = await Kalends.open('sqlite:./app.db') // or mysql://root@localhost/app, or your mysql2 pool
 *
 * kalends.handle(greet, async ({ args, slot }) => {
 *   console.log(`Hello ${args.name}, it is ${slot.toISOString()}`)
 * })
 * kalends.declare('greetings', [{ task: greet, timer: '*:*:0/2', args: { name: 'world' } }]) // every two seconds
 *
 * await kalends.start({ signals: true }) // Ctrl-C and SIGTERM stop it cleanly
 * ```
 *
 * The protocol that every worker follows, without a leader:
 *
 * 1. **Mark.** A schedule is a row of `periodic_task`. Its generated column `wake_at` is the time at which it needs
 *    attention: at `nextrun`, immediately after an edit, or when a mark expires. A worker marks the earliest due rows
 *    with its id. A mark is a lease: no other worker plans the row until the mark ends.
 * 2. **Submit**, in one transaction: lock the marked rows again, plan each in its current state (a pure function of the
 *    row, its open jobs and the clock), insert a row of `job` for each slot that runs and one row for each series of
 *    skipped slots, advance `nextrun`, and end the marks. A crash leaves either all of this or nothing, and a unique
 *    key on the schedule's row and the slot prevents a second job for a slot.
 * 3. **Claim.** Workers claim jobs of the tasks that they handle, in batches. Groups take turns. Each claim of a job
 *    gets a higher number than the one before.
 * 4. **Run.** The handler's signal is aborted on timeout, on cancellation, when the lease is lost, and at the end of
 *    the grace period.
 * 5. **Settle.** The outcome is written only while the job still runs under this worker and this claim. The job is then
 *    final, or waits for its next attempt.
 * 6. **Sleep** exactly until the next row is due, and check once per poll interval for changes made by other processes.
 *
 * Each worker writes a heartbeat. If a worker is silent for the length of a lease, another worker takes over its marks
 * and jobs. A worker that was cut off for that long stops its handlers, writes nothing more for their jobs, and
 * continues under a new id.
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
  SnoozedError,
  SchemaError,
  StoppedError,
  StoreUnavailableError,
  TooSlowError,
  VersionError,
  WaitTimeoutError,
} from './errors.ts'
export type { Middleware, Handler, HandlerContext, JobLogger } from './executor/handler.ts'
export type { Jobs } from './jobs/jobs.ts'
export type { JobInput, JobOptions, SubmitOptions } from './jobs/new-job.ts'
export type { WaitOptions } from './jobs/wait.ts'
export type { ManyJobs, ManyOptions, ManyResult } from './jobs/many.ts'
export type { RetentionOptions } from './jobs/retention.ts'
export { Kalends } from './kalends.ts'
export type { Logger } from './logger.ts'
export type { LoopHealth } from './loop.ts'
export type { Attempt, AttemptOutcome } from './model/attempt.ts'
export type { GrantedTasks, OwnerLimits } from './model/authority.ts'
export type { Finding } from './model/diagnosis.ts'
export type { Job, JobId, Stored } from './model/job.ts'
export type { FinalState, JobState, SkipReason, ScheduleStatus, LogLevel } from './model/states.ts'
export type { Schedule } from './model/schedule.ts'
export type { Freeze } from './model/freeze.ts'
export type { FreezeOptions, FreezePreview, FreezeTarget } from './freezes.ts'
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
export type {
  ExternalQueueOptions,
  KalendsOptions,
  ScopeOptions,
  StartOptions,
  StopOptions,
} from './options.ts'
export type { ExternalSubmit, HandOverContext } from './executor/hand-over.ts'
export type { ExternalJobs, FinishOptions } from './jobs/external.ts'
export { PeriodicScheduler, type PeriodicSchedulerOptions } from './periodic-scheduler.ts'
export type { ListenOptions } from './events.ts'
export type { Declaration, OnRemoved } from './schedules/declared.ts'
export type { HistoryQuery, IfVersion, PauseOptions, WriteOptions } from './schedules/writes.ts'
export type { Explanation } from './schedules/explain.ts'
export type { Schedules } from './schedules/schedules.ts'
export type {
  AnyScheduleInput,
  CreateOptions,
  NewScheduleOptions,
  ScheduleChanges,
  ScheduleInput,
  ScheduleOptions,
} from './schedules/settings.ts'
export type { Scope } from './scopes.ts'
export type { Transaction, TransactionOption } from './store/job-store.ts'
export type {
  DatabaseTarget,
  MysqlPool,
  SqliteConnection,
  SqliteDriver,
} from './store/database.ts'
export type { MigrateOptions } from './store/open.ts'
export type { PutResult } from './store/schedule-store.ts'
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
export type { Upcoming } from './views/upcoming.ts'
export type { FailureGroup, LoadQuery, UpcomingQuery, Views } from './views/views.ts'
export type { Health } from './worker/health.ts'
export type { HealthNote } from './worker/health-notes.ts'
export type { KalendsEvents, SettledEvent, SubmittedEvent } from './worker/reporter.ts'
export type { WorkerStatus } from './worker/worker-status.ts'
