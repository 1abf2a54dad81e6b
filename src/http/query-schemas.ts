/** Parameters of paths and queries. */
import { z } from 'zod'
import { NAME_LIMIT, SETTINGS } from '../model/settings.ts'
import { instantIn, jobId, scheduleId, state, status, text } from './field-schemas.ts'

const owners = {
  task: text(SETTINGS.task.most, 1).optional(),
  group: text(SETTINGS.group.most).optional(),
  submitter: text(SETTINGS.submitter.most).optional(),
}

export const jobFilter = {
  state: state.optional(),
  ...owners,
  scheduleId: scheduleId.optional(),
  worker: text(255, 1).optional().describe('The worker that runs the job now'),
  id: jobId.optional().describe('The start of the id'),
  error: text(500, 1).optional().describe('Part of the error; case-insensitive'),
  args: text(500, 1).optional().describe('Part of the stored args; case-insensitive'),
  finishedFrom: instantIn.optional(),
  finishedTo: instantIn.optional(),
}

/** Values in a query are text. */
const whole = (least: number, most: number) => {
  const error = `must be an integer between ${least} and ${most}`
  return z.coerce.number({ error }).int({ error }).min(least).max(most).optional()
}
const limit = whole(1, 1000)
const paging = {
  limit,
  // An instant and an id.
  after: text(NAME_LIMIT + 25)
    .optional()
    .describe('`next` of the previous page; in the order of ids, any id: only ids after it'),
}

export const ScheduleParams = z.object({ id: scheduleId })
export const JobParams = z.object({ id: jobId })

const scheduleFilter = {
  status: status.optional(),
  ...owners,
  declaredBy: text(NAME_LIMIT, 1).optional(),
  text: text(NAME_LIMIT, 1).optional().describe('Part of the id, summary, subject or task; case-insensitive'),
}
export const SchedulesQuery = z.strictObject({
  ...scheduleFilter,
  order: z
    .enum(['id', 'nextRunAt'])
    .optional()
    .describe('`nextRunAt`: earliest next run first; schedules without a next run come last'),
  runs: whole(1, 50).describe('Include this many recent runs of each schedule; limit is then at most 200'),
  ...paging,
})
export const ScheduleCountsQuery = z.strictObject(scheduleFilter)
export const JobsQuery = z.strictObject({ ...jobFilter, ...paging })
export const JobCountsQuery = z.strictObject(jobFilter)
export const HistoryQuery = z.strictObject({ limit, before: instantIn.optional() })
export const ElapsesQuery = z.strictObject({ limit, after: instantIn.optional() })
export const ExplainQuery = z.strictObject({ at: instantIn.optional() })
export const LogsQuery = z.strictObject({ limit, after: whole(0, Number.MAX_SAFE_INTEGER) })
export const CheckQuery = z.strictObject({
  timer: z.string().max(2000),
  zone: text(100, 1).optional().describe("Added to a timer that names no zone; default: the server's zone"),
  after: instantIn.optional(),
  anchor: instantIn.optional().describe('Where the slots of `every` start: when the schedule was created'),
  limit: whole(0, 1000).describe('Run times; default 10'),
})
export const LoadQuery = z.strictObject({
  from: instantIn.optional().describe('Rounded down to the minute; default the current hour'),
  hours: whole(1, 744).describe('Default 168'),
  ...owners,
})
export const UpcomingQuery = z.strictObject({
  from: instantIn.optional().describe('Default now'),
  to: instantIn.optional().describe('Default one hour after `from`; at most 31 days'),
  limit,
  ...owners,
})
