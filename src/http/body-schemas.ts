/** Request bodies. Each export is a schema of the OpenAPI document, under the same name. */
import { z } from 'zod'
import { JOB_SETTING_NAMES, LONGEST_DELAY_MS, SETTING_NAMES, SETTINGS } from '../model/settings.ts'
import { Schedule } from './answer-schemas.ts'
import { anyJson, instantIn, jobId, scheduleId, settingsIn, span, text } from './field-schemas.ts'
import { jobFilter } from './query-schemas.ts'

const settings = settingsIn(SETTING_NAMES)
const zone = z
  .string()
  .optional()
  .describe("The zone of a timer that names none: an IANA name, or 'local' for the server's zone")

export const ScheduleInput = z.strictObject({
  ...settings,
  task: settings.task.unwrap(),
  timer: settings.timer.unwrap(),
  zone,
  firstRun: z
    .enum(['next', 'now', 'if-due'])
    .optional()
    .describe('When a new schedule first runs; default `next`'),
})
/** The read-only fields that GET returns and PUT ignores. */
const state: object = Object.fromEntries(
  Object.keys(Schedule.shape)
    .filter((name) => !(name in ScheduleInput.shape))
    .map((name) => [name, z.unknown().optional().describe('Ignored: PUT accepts what GET returns')]),
)
export const PutSchedule = z.strictObject({ ...ScheduleInput.shape, ...state })
export const NewSchedule = ScheduleInput.extend({ id: scheduleId.optional() })
export const ScheduleChanges = z.strictObject({ ...settings, zone })
export const RunInput = z.strictObject({
  args: anyJson.optional().describe("For this run only; needs the permission 'submit'"),
})
const reason = text(SETTINGS.summary.most).optional()

export const PauseInput = z.strictObject({
  jobs: z
    .enum(['leave', 'cancel'])
    .optional()
    .describe('What happens to waiting and blocked jobs; default `leave`: they run'),
  reason,
})
export const FreezeTarget = z.strictObject({
  scheduleId: scheduleId.optional(),
  task: settings.task.unwrap().optional(),
  group: settings.group.unwrap().optional(),
  all: z
    .boolean()
    .optional()
    .describe('Freeze everything; cannot be combined with `scheduleId`, `task` or `group`'),
  until: instantIn,
})
export const NewFreeze = FreezeTarget.extend({ reason })
export const Ids = z.strictObject({ ids: z.array(scheduleId).min(1).max(1000) })

export const NewJob = z.strictObject({
  id: jobId.optional(),
  ...settingsIn(JOB_SETTING_NAMES),
  task: settings.task.unwrap(),
  runAt: instantIn.optional(),
  delay: span(0, LONGEST_DELAY_MS)
    .optional()
    .describe('Instead of `runAt`: the time from now to the earliest start'),
})

export const JobsAction = z
  .strictObject({
    ids: z.array(jobId).min(1).max(1000).optional(),
    filter: z.strictObject(jobFilter).optional(),
    dryRun: z.boolean().optional().describe('Only count the matching jobs'),
    limit: z
      .int()
      .min(1)
      .max(1000)
      .optional()
      .describe('Maximum number of jobs to select with a filter; default 1000'),
  })
  .refine(({ ids, filter }) => (ids === undefined) !== (filter === undefined), {
    error: "must have either 'ids' or 'filter'",
    path: ['ids'],
  })
