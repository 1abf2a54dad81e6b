/** What comes in and what goes out: checked by these schemas, and documented from them. */
import { z } from 'zod'
import { JOB_SETTING_NAMES, SETTING_NAMES, SETTINGS } from '../model/settings.ts'
import { instant, instantIn, settingsIn, settingsOut, text } from './setting-schemas.ts'

const orNull = <Schema extends z.ZodType>(schema: Schema) => schema.nullable()

/** A URL cannot name what is called like a step in a path. */
const addressable = (most: number) =>
  text(most, 1).refine((id) => id !== '.' && id !== '..', {
    error: 'an id that a URL can name is needed, neither . nor ..',
  })

export const scheduleId = addressable(190).meta({ description: 'Of your choosing, 1 to 190 characters' })
export const jobId = addressable(190)
const settings = settingsIn(SETTING_NAMES)
const taskName = text(SETTINGS.task.most, 1)
/** Filters of lists. */
const owners = {
  task: taskName.optional(),
  group: text(SETTINGS.group.most).optional(),
  submitter: text(SETTINGS.submitter.most).optional(),
}
const status = z.enum(['active', 'paused', 'done', 'dead', 'invalid', 'retired'])
const state = z.enum(['waiting', 'blocked', 'running', 'success', 'failed', 'cancelled', 'skipped'])
const anyJson = z.unknown().meta({ description: 'Any JSON' })

export const ScheduleInput = z.strictObject({
  ...settings,
  task: settings.task.unwrap(),
  timer: settings.timer.unwrap(),
  firstRun: z
    .enum(['next', 'now', 'if-due'])
    .optional()
    .meta({ description: 'When a new schedule runs first; default `next`' }),
})
export const NewSchedule = ScheduleInput.extend({ id: scheduleId.optional() })
const { task: _, ...changes } = settings
export const ScheduleChanges = z.strictObject(changes)
export const RunInput = z.strictObject({
  args: anyJson.optional().meta({ description: "For this run alone; needs the permission 'submit'" }),
})
export const Ids = z.strictObject({ ids: z.array(scheduleId).min(1).max(1000) })

export const NewJob = z.strictObject({
  id: jobId.optional(),
  ...settingsIn(JOB_SETTING_NAMES),
  task: settings.task.unwrap(),
  runAt: instantIn.optional(),
})

const jobFilter = {
  state: state.optional(),
  ...owners,
  schedule: scheduleId.optional(),
  worker: text(255, 1).optional().meta({ description: 'The worker that runs it now' }),
  id: jobId.optional().meta({ description: 'The beginning of the id' }),
  error: text(500, 1).optional().meta({ description: 'Part of the error, in any case' }),
  args: text(500, 1).optional().meta({ description: 'Part of the stored args, in any case' }),
  finishedFrom: instantIn.optional(),
  finishedTo: instantIn.optional(),
}

export const JobsAction = z
  .strictObject({
    ids: z.array(jobId).min(1).max(1000).optional(),
    filter: z.strictObject(jobFilter).optional(),
    dryRun: z.boolean().optional().meta({ description: 'Only says how many match' }),
    limit: z.int().min(1).max(1000).optional().meta({ description: 'Most jobs of a filter; default 1000' }),
  })
  .refine(({ ids, filter }) => (ids === undefined) !== (filter === undefined), {
    error: "either 'ids' or 'filter' is needed",
    path: ['ids'],
  })

/** Of a query, where everything is text. */
const whole = (least: number, most: number) =>
  z.coerce
    .number({ error: `a whole number from ${least} to ${most} is needed` })
    .int({ error: `a whole number from ${least} to ${most} is needed` })
    .min(least)
    .max(most)
    .optional()
const limit = whole(1, 1000)
const paging = { limit, offset: whole(0, 100_000) }

export const NoQuery = z.strictObject({})
export const SchedulesQuery = z.strictObject({
  status: status.optional(),
  ...owners,
  declaredBy: text(190, 1).optional(),
  text: text(190, 1)
    .optional()
    .meta({ description: 'Part of the id, summary, subject or task, in any case' }),
  order: z
    .enum(['id', 'nextRun'])
    .optional()
    .meta({ description: '`nextRun`: what comes next first, without what has nothing to come' }),
  after: scheduleId.optional().meta({ description: 'Only ids after this one: the last of the page before' }),
  runs: whole(1, 50).meta({
    description: 'With as many of the last runs of each schedule; limit at most 200',
  }),
  ...paging,
})
export const ScheduleCountsQuery = SchedulesQuery.pick({
  status: true,
  task: true,
  group: true,
  submitter: true,
  declaredBy: true,
  text: true,
})
export const JobsQuery = z.strictObject({
  ...jobFilter,
  before: jobId.optional().meta({
    description:
      'Only ids before this one: the last of the page before; not with schedule, finishedFrom or finishedTo',
  }),
  ...paging,
})
export const JobCountsQuery = z.strictObject(jobFilter)
export const HistoryQuery = z.strictObject({ limit, before: instantIn.optional() })
export const ElapsesQuery = z.strictObject({ limit, after: instantIn.optional() })
export const ExplainQuery = z.strictObject({ at: instantIn.optional() })
export const LogsQuery = z.strictObject({ limit, after: whole(0, Number.MAX_SAFE_INTEGER) })
export const CheckQuery = z.strictObject({
  timer: z.string().max(2000),
  zone: text(100, 1)
    .optional()
    .meta({ description: "Written into a timer that names none; default: the server's" }),
  after: instantIn.optional(),
  anchor: instantIn
    .optional()
    .meta({ description: 'Where the slots of `every` begin: the creation of the schedule' }),
  limit: whole(0, 1000).meta({ description: 'Elapses; default 10' }),
})
export const LoadQuery = z.strictObject({
  from: instantIn.optional().meta({ description: 'Rounded down to the hour; default the current hour' }),
  hours: whole(1, 744).meta({ description: 'Default 168' }),
  ...owners,
})
export const UpcomingQuery = z.strictObject({
  from: instantIn.optional().meta({ description: 'Default now' }),
  to: instantIn.optional().meta({ description: 'Default an hour after `from`; at most 31 days' }),
  limit,
  ...owners,
})

export const ScheduleParams = z.object({ id: scheduleId })
export const JobParams = z.object({ id: jobId })

const names = z.array(z.string())

export const Schedule = z.strictObject({
  id: z.string(),
  ...settingsOut(SETTING_NAMES),
  status,
  nextRun: orNull(instant),
  idle: orNull(z.enum(['done', 'dead', 'invalid', 'retired', 'awaiting finish'])),
  declaredBy: orNull(z.string()),
  created: instant,
  lastSlot: orNull(instant),
  runCount: z.int(),
  errorCount: z.int(),
  lastRun: orNull(instant),
  lastFinished: orNull(instant),
  lastJob: orNull(z.string()),
  lastError: orNull(z.string()),
  markedBy: orNull(z.string()),
})
/** Of a row of a list. */
const truncated = z
  .partialRecord(z.enum(['args', 'result', 'progress', 'error', 'lastError']), z.int())
  .optional()
  .meta({
    description:
      'Large values that the list leaves out (null) or shortens (errors, to their first lines), with their size in bytes. GET of the row shows them.',
  })
export const RecentRun = z.strictObject({
  id: z.string(),
  state,
  slot: orNull(instant),
  started: orNull(instant),
  finished: orNull(instant),
})
export const ListedSchedule = Schedule.extend({
  truncated,
  timerDescription: orNull(z.string()).meta({
    description: 'The timer in words; null when it cannot be read',
  }),
  runs: z.array(RecentRun).optional().meta({ description: 'Newest first, where asked for' }),
})
const total = {
  total: z.int().meta({ description: 'Of all pages' }),
  totalIsExact: z.boolean().meta({ description: 'False: there are more, or there may be' }),
}
export const SchedulePage = z.strictObject({ items: z.array(ListedSchedule), ...total })
export const Job = z.strictObject({
  id: z.string(),
  scheduleId: orNull(z.string()),
  slot: orNull(instant),
  missed: z.int(),
  run: orNull(z.int()),
  ...settingsOut(JOB_SETTING_NAMES),
  state,
  reason: orNull(z.string()),
  worker: orNull(z.string()),
  attempt: z.int(),
  submitted: instant,
  runAt: orNull(instant),
  started: orNull(instant),
  finished: orNull(instant),
  progress: anyJson,
  result: anyJson,
  error: orNull(z.string()),
  stopRequested: orNull(instant),
})
export const ListedJob = Job.extend({ truncated })
export const JobPage = z.strictObject({ items: z.array(ListedJob), ...total })
export const History = z.strictObject({ items: z.array(ListedJob) })
export const JobReference = z.strictObject({ job: z.string() })
export const JobStateAnswer = z.strictObject({ id: z.string(), state })
export const JobsActionAnswer = z.strictObject({
  matched: z.int().meta({ description: 'Jobs that match' }),
  matchedIsExact: z.boolean(),
  changed: z.array(z.string()).meta({ description: 'Their ids' }),
  refused: z.array(z.strictObject({ id: z.string(), detail: z.string() })),
  more: z.boolean().meta({ description: 'There may be more of the filter: do it again' }),
})
export const Elapse = z.strictObject({ at: instant, local: z.string() })
export const Elapses = z.strictObject({ zone: z.string(), items: z.array(Elapse) })
export const Explanation = z.strictObject({
  schedule: z.string(),
  status,
  nextRun: orNull(instant),
  reasons: names,
})
export const LogLines = z.strictObject({
  items: z.array(
    z.strictObject({
      id: z.int().meta({ description: 'For `after`' }),
      at: instant,
      level: z.enum(['debug', 'info', 'warn', 'error']),
      message: z.string(),
    }),
  ),
})
export const ScheduleCounts = z.strictObject({
  counts: z.partialRecord(status, z.int()),
  isExact: z.boolean().meta({ description: 'False: some are larger than said' }),
})
export const JobCounts = z.strictObject({ counts: z.partialRecord(state, z.int()), isExact: z.boolean() })
export const Failures = z.strictObject({
  items: z.array(
    z.strictObject({
      error: z.string().meta({ description: 'The first line' }),
      jobs: z.int(),
      tasks: names,
      lastJob: z.string(),
      lastFinished: orNull(instant),
    }),
  ),
  complete: z.boolean().meta({ description: 'False: there are more, or there may be' }),
})
export const Tasks = z.strictObject({
  items: z.array(
    z.strictObject({
      name: z.string(),
      workers: z.int().meta({ description: 'Live workers that run it' }),
    }),
  ),
})
export const Workers = z.strictObject({
  items: z.array(
    z.strictObject({
      id: z.string(),
      name: z.string(),
      host: z.string(),
      pid: z.int(),
      tasks: names,
      sets: z.record(z.string(), z.string()),
      started: instant,
      heartbeat: instant,
      silentMs: z.number(),
      alive: z.boolean(),
      running: z.int(),
    }),
  ),
})
export const TimerCheck = z.discriminatedUnion('valid', [
  z.strictObject({
    valid: z.literal(false),
    error: z.strictObject({
      code: z.enum(['CALENDAR_SYNTAX', 'CRON_SYNTAX', 'INVALID_TIME_SPAN']),
      message: z.string(),
      column: orNull(z.int()),
      token: orNull(z.string()),
      hint: orNull(z.string()),
    }),
  }),
  z.strictObject({
    valid: z.literal(true),
    kind: z.enum(['calendar', 'cron', 'every', 'after finish']),
    text: z.string().meta({ description: 'The normal form' }),
    zone: z.string(),
    description: z.string(),
    elapses: z.array(Elapse),
    warnings: names,
    events: names.meta({ description: 'Of cron: the calendar events that elapse at the same times' }),
  }),
])
export const Load = z.strictObject({
  from: instant,
  to: instant,
  hours: z.array(z.strictObject({ hour: instant, planned: z.int(), ended: z.partialRecord(state, z.int()) })),
  schedules: z.int().meta({ description: 'Active schedules that were counted' }),
  plannedIsExact: z.boolean(),
  endedIsComplete: z.boolean().meta({ description: 'False: the first hours are missing' }),
})
export const Upcoming = z.strictObject({
  from: instant,
  to: instant,
  items: z.array(z.strictObject({ at: instant, schedule: z.string(), task: z.string() })),
  complete: z.boolean().meta({ description: 'False: there are more' }),
})
export const Me = z.strictObject({
  role: z.enum(['read', 'operate', 'admin']),
  submit: z
    .boolean()
    .meta({ description: 'Whether you may submit jobs, and run a schedule with other args' }),
  tasks: orNull(names).meta({ description: 'The tasks that you may write; null: all but the built-in ones' }),
  user: orNull(z.string()),
  scope: z.strictObject({ group: orNull(z.string()), submitter: orNull(z.string()) }),
  zone: z.string().meta({ description: 'Written into timers that name none' }),
  now: instant,
})
const healthNotes = z.array(
  z.strictObject({ code: z.string(), subject: orNull(z.string()), text: z.string() }),
)
export const Health = z.strictObject({
  ok: z.boolean().meta({ description: 'Whether it does its work' }),
  live: z.boolean().meta({ description: 'False: it will not recover by itself, a new process is needed' }),
  worker: orNull(z.string()).optional(),
  running: z.int().optional(),
  unwritten: z.int().optional().meta({ description: 'Runs that have ended, and whose end is not written' }),
  locked: z
    .int()
    .optional()
    .meta({ description: 'Of those, how many wait for a row that someone else has locked' }),
  rejected: z
    .int()
    .optional()
    .meta({ description: 'Runs that have ended, and whose end the database rejects' }),
  clockAheadMs: orNull(z.number())
    .optional()
    .meta({ description: "How far the machine's clock is ahead of the database's" }),
  reasons: healthNotes.optional().meta({ description: 'Why it is not ok' }),
  warnings: healthNotes.optional(),
  loops: z
    .array(
      z.strictObject({
        name: z.string(),
        lastGoodPass: orNull(instant),
        busySince: orNull(instant),
        busyMs: orNull(z.number()),
        nextPass: orNull(instant),
        lateMs: z.number(),
        consecutiveErrors: z.int(),
        lastError: orNull(z.string()),
        lastErrorAt: orNull(instant),
      }),
    )
    .optional(),
})
export const Findings = z.strictObject({
  items: z.array(
    z.strictObject({
      code: z.string(),
      subjects: names.meta({ description: 'At most ten' }),
      count: z.int(),
      problem: z.string(),
      fix: z.string(),
    }),
  ),
})
export const ProblemDetails = z
  .looseObject({
    type: z.string(),
    title: z.string(),
    status: z.int(),
    detail: z.string().meta({ description: 'What was wrong and what to do' }),
    code: z.string(),
    field: z.string().optional().meta({ description: 'The first field that is wrong' }),
    errors: z
      .array(
        z.strictObject({
          field: z.string(),
          detail: z.string(),
          column: z.int().nullish(),
          token: z.string().nullish(),
          hint: z.string().nullish(),
        }),
      )
      .optional(),
    jobId: z.string().optional().meta({ description: 'The job that is in the way' }),
  })
  .meta({ description: 'RFC 9457' })

/** What the document gives a name of its own. */
export const NAMED = {
  ScheduleInput,
  NewSchedule,
  ScheduleChanges,
  RunInput,
  Ids,
  NewJob,
  JobsAction,
  Schedule,
  RecentRun,
  ListedSchedule,
  SchedulePage,
  Job,
  ListedJob,
  JobPage,
  History,
  JobReference,
  JobStateAnswer,
  JobsActionAnswer,
  Elapse,
  Elapses,
  Explanation,
  LogLines,
  ScheduleCounts,
  JobCounts,
  Failures,
  Tasks,
  Workers,
  TimerCheck,
  Load,
  Upcoming,
  Me,
  Health,
  Findings,
  ProblemDetails,
} as const
