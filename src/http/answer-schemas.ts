/** Response bodies. Each export is a schema of the OpenAPI document, under the same name. */
import { z } from 'zod'
import { FREEZE_COLUMNS, JOB_COLUMNS, OCCURRENCE_COLUMNS, SCHEDULE_COLUMNS } from '../model/columns.ts'
import { JOB_SETTINGS, SETTINGS } from '../model/settings.ts'
import { LOG_LEVELS, STORED_OUTCOMES } from '../model/states.ts'
import { instant, columnsOut, state, status } from './field-schemas.ts'

const orNull = <Schema extends z.ZodType>(schema: Schema) => schema.nullable()
const list = <Shape extends z.ZodRawShape>(shape: Shape) =>
  z.strictObject({ items: z.array(z.strictObject(shape)) })
const names = z.array(z.string())

export const Schedule = z.strictObject({
  id: z.string(),
  ...columnsOut({ ...SETTINGS, ...SCHEDULE_COLUMNS }),
  status,
  waitingFor: orNull(z.enum(['finish'])).describe(
    'finish: active, but without a next run, because the time of the next run depends on when the current run ends',
  ),
})
const truncated = z
  .partialRecord(z.enum(['args', 'result', 'progress', 'error', 'lastError']), z.int())
  .optional()
  .describe(
    'Large values that the list omits (null) or shortens (errors, to their first lines), with their sizes in bytes. GET on the row returns them in full.',
  )
export const RecentRun = z.strictObject({
  id: z.string(),
  state,
  slot: orNull(instant),
  startedAt: orNull(instant),
  finishedAt: orNull(instant),
})
export const ListedSchedule = Schedule.extend({
  truncated,
  timerDescription: orNull(z.string()).describe('The timer in words; null if it cannot be parsed'),
  runs: z.array(RecentRun).optional().describe('Newest first, if requested'),
})
const paging = {
  total: orNull(z.int()).describe(
    'The total across all pages: 1000 means 1000 or more; null if the search stopped before the total was known',
  ),
  next: orNull(z.string()).describe(
    '`after` for the next page; null at the end. A search may return fewer rows than the limit, or none, even if there is a next page',
  ),
}
export const SchedulePage = z.strictObject({ items: z.array(ListedSchedule), ...paging })
export const Job = z.strictObject({
  id: z.string(),
  ...columnsOut({ ...OCCURRENCE_COLUMNS, ...JOB_SETTINGS, ...JOB_COLUMNS }),
  queue: orNull(z.string()).describe(
    'The external queue that the job goes to, or null if Kalends runs the job',
  ),
  scheduleDeleted: z
    .literal(true)
    .optional()
    .describe(
      'Set if the schedule that created the job was deleted, even if another one has the same id now',
    ),
})
const warning = z
  .string()
  .optional()
  .describe(
    'Set if no worker is known to handle the task; suggests the known task with the most similar name',
  )
export const SubmittedJob = Job.extend({ warning })
export const WrittenSchedule = Schedule.extend({ warning })
export const ShownJob = Job.extend({
  explanation: orNull(z.string()).describe('Why the job waits, or where it runs; null if it is final'),
})
export const ListedJob = Job.extend({ truncated })
export const JobPage = z.strictObject({ items: z.array(ListedJob), ...paging })
export const History = z.strictObject({ items: z.array(ListedJob) })
export const JobReference = z.strictObject({ jobId: z.string() })
export const JobsActionAnswer = z.strictObject({
  matched: z.int().describe('Jobs that match'),
  matchedIsExact: z.boolean(),
  changed: z.array(z.string()).describe('Their ids'),
  refused: z.array(z.strictObject({ id: z.string(), detail: z.string() })),
  more: z.boolean().describe('Whether more jobs may match the filter; if so, repeat the request'),
})
export const Elapse = z.strictObject({ at: instant, local: z.string() })
export const Elapses = z.strictObject({ zone: z.string(), items: z.array(Elapse) })
export const Explanation = z.strictObject({
  scheduleId: z.string(),
  status,
  nextRunAt: orNull(instant),
  reasons: names,
})
export const Attempts = list({
  attempt: z
    .int()
    .describe(
      'Starts at 1. Two attempts have the same number if the earlier one was released or snoozed, or the job was retried manually',
    ),
  worker: orNull(z.string()),
  startedAt: instant,
  endedAt: orNull(instant).describe('null while the attempt is running'),
  outcome: orNull(z.enum(['success', ...STORED_OUTCOMES])).describe(
    'released: the worker returned the job to the queue, for example because it stopped; snoozed: the handler asked to run again later; lost: the worker died; null while the attempt is running',
  ),
  error: orNull(z.string()),
  truncated,
})
export const LogLines = list({
  id: z.int().describe('For `after`'),
  at: instant,
  level: z.enum(LOG_LEVELS),
  message: z.string(),
})
export const ScheduleCounts = z.strictObject({
  counts: z.partialRecord(status, z.int()),
  isExact: z.boolean().describe('False if some counts are only lower bounds'),
})
export const JobCounts = z.strictObject({ counts: z.partialRecord(state, z.int()), isExact: z.boolean() })
export const Failures = list({
  error: z.string().describe('The first line'),
  jobs: z.int(),
  tasks: names,
  lastJobId: z.string(),
  lastFinishedAt: orNull(instant),
}).extend({ complete: z.boolean().describe('False if there may be more') })
export const Tasks = list({
  name: z.string(),
  workers: z.int().describe('Live workers that handle the task'),
})
export const Workers = list({
  id: z.string(),
  name: z.string(),
  host: z.string(),
  pid: z.int(),
  tasks: names,
  sets: z.record(z.string(), z.string()),
  startedAt: instant,
  heartbeatAt: instant,
  silentMs: z.number(),
  alive: z.boolean(),
  running: z.int(),
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
    kind: z.enum(['calendar', 'cron', 'every', 'after-finish']),
    text: z.string().describe('In normal form'),
    zone: z.string(),
    description: z.string(),
    elapses: z.array(Elapse),
    warnings: names,
    events: names.describe('For cron: the calendar events with the same run times'),
  }),
])
export const Load = z.strictObject({
  from: instant,
  to: instant,
  hours: z.array(z.strictObject({ hour: instant, planned: z.int(), ended: z.partialRecord(state, z.int()) })),
  schedules: z.int().describe('The active, retrying and frozen schedules that were counted'),
  plannedIsExact: z.boolean(),
  endedIsComplete: z.boolean().describe('False if the first hours are missing'),
})
export const Upcoming = list({ at: instant, scheduleId: z.string(), task: z.string() }).extend({
  from: instant,
  to: instant,
  complete: z.boolean().describe('False if there are more'),
})
export const Me = z.strictObject({
  role: z.enum(['read', 'operate', 'admin']),
  submit: z.boolean().describe('Whether you may submit jobs, and run a schedule with other args'),
  tasks: orNull(names).describe(
    'The tasks whose schedules and jobs you may write; null means all except the built-in ones',
  ),
  user: orNull(z.string()),
  scope: z.strictObject({ group: orNull(z.string()), submitter: orNull(z.string()) }),
  unsearchable: z
    .array(z.enum(['args', 'error', 'worker']))
    .describe(
      'The filters of jobs that you cannot use, because their values are hidden from you, at least in part',
    ),
  zone: z.string().describe('Added to timers that name no zone'),
  now: instant,
})
const healthNotes = z.array(
  z.strictObject({ code: z.string(), subject: orNull(z.string()), text: z.string() }),
)
export const Health = z.strictObject({
  ok: z.boolean().describe('Whether the process works'),
  live: z.boolean().describe('False if the process cannot recover without a restart'),
  worker: orNull(z.string()).optional(),
  running: z.int().optional(),
  unwritten: z.int().optional().describe('Finished runs whose result has not been written yet'),
  locked: z.int().optional().describe('How many of these wait for a locked row'),
  rejected: z.int().optional().describe('Finished runs whose result the database rejects'),
  clockAheadMs: orNull(z.number())
    .optional()
    .describe("How far the machine's clock is ahead of the database's"),
  reasons: healthNotes.optional().describe('The reasons why `ok` is false'),
  warnings: healthNotes.optional(),
  loops: z
    .array(
      z.strictObject({
        name: z.string(),
        lastGoodPassAt: orNull(instant),
        busySince: orNull(instant),
        busyMs: orNull(z.number()),
        nextPassAt: orNull(instant),
        lateMs: z.number(),
        consecutiveErrors: z.int(),
        lastError: orNull(z.string()),
        lastErrorAt: orNull(instant),
      }),
    )
    .optional(),
})
export const Freeze = z.strictObject({ id: z.string(), ...columnsOut(FREEZE_COLUMNS) })
export const Freezes = z.strictObject({ items: z.array(Freeze) })
export const FreezePreview = z.strictObject({
  slots: z
    .array(z.strictObject({ at: instant, scheduleId: z.string(), task: z.string() }))
    .describe('The first 1000 slots during the freeze; one-offs run when it ends'),
  isComplete: z.boolean(),
  jobs: orNull(z.int()).describe(
    'Waiting jobs that the freeze would hold: 1000 means 1000 or more; null if unknown',
  ),
})
export const Findings = list({
  code: z.string(),
  subjects: names.describe('At most ten'),
  count: z.int(),
  problem: z.string(),
  fix: z.string(),
})
export const ProblemDetails = z
  .looseObject({
    type: z.string(),
    title: z.string(),
    status: z.int(),
    detail: z.string().describe('What was wrong and what to do'),
    code: z.string(),
    field: z.string().optional().describe('The first invalid field'),
    errors: z
      .array(
        z.strictObject({
          field: z.string().describe('The path of the field in the body or the query, such as `args.to`'),
          detail: z.string(),
          column: z
            .int()
            .nullish()
            .describe('The column at which the syntax error of a timer starts, counted from 1'),
          token: z.string().nullish(),
          hint: z.string().nullish().describe('What to write instead'),
        }),
      )
      .optional(),
    jobId: z.string().optional().describe('The job that the request conflicts with'),
  })
  .describe('RFC 9457')
