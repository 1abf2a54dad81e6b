import { z } from 'zod'
import {
  type Conditions,
  type Filter,
  type Filters,
  JOB_FILTERS,
  SCHEDULE_FILTERS,
} from '../model/filters.ts'
import { NAME_LIMIT } from '../model/settings.ts'
import { instantIn, jobId, scheduleId, text } from './field-schemas.ts'

function schemaOf(filter: Filter): z.ZodType {
  switch (filter.kind) {
    case 'word':
      return z.enum(filter.values)
    case 'schedule id':
      return scheduleId
    case 'job id':
      return jobId
    case 'instant':
      return instantIn
    case 'text':
      return text(filter.most, filter.mayBeEmpty === true ? 0 : 1)
    default:
      return filter satisfies never
  }
}

function parameters<Of extends Filters>(filters: Of) {
  const schemas = Object.entries(filters).map(([name, filter]) => {
    const schema = schemaOf(filter).optional()
    const { description } = filter
    return [name, description === undefined ? schema : schema.describe(description)]
  })
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- Object.fromEntries loses the names
  return Object.fromEntries(schemas) as {
    readonly [Name in keyof Of]: z.ZodOptional<z.ZodType<Exclude<Conditions<Of>[Name], undefined>>>
  }
}

export const jobFilter = parameters(JOB_FILTERS)
const scheduleFilter = parameters(SCHEDULE_FILTERS)
const { task, group, submitter } = scheduleFilter
const owners = { task, group, submitter }

/** Values in a query are text, so numbers are converted. */
const whole = (least: number, most: number) => {
  const error = `must be an integer between ${least} and ${most}`
  return z.coerce.number({ error }).int({ error }).min(least).max(most).optional()
}
const limit = whole(1, 1000)
const paging = {
  limit,
  // Long enough for an instant and an id.
  after: text(NAME_LIMIT + 25)
    .optional()
    .describe(
      '`next` of the previous page. In a list ordered by id, this can be any id: the page starts after it',
    ),
}

export const ScheduleParams = z.object({ id: scheduleId })
export const JobParams = z.object({ id: jobId })

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
  anchor: instantIn
    .optional()
    .describe(
      'The start of the slots of an `every` timer: the creation time of the schedule, if there is one',
    ),
  limit: whole(0, 1000).describe('How many run times to return; default 10'),
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
