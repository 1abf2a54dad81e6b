import { z } from 'zod'
import type { Column, Columns } from '../model/columns.ts'
import {
  explained,
  isNullable,
  isUpTo,
  NAME_LIMIT,
  type Setting,
  type SettingName,
  settingOf,
  type SettingOptions,
  wholeNeeded,
} from '../model/settings.ts'
import { JOB_STATES, STATUSES } from '../model/states.ts'

const LAST_DAY = Date.UTC(9999, 11, 31, 23, 59, 59, 999)
const INSTANT = "must be an instant in UTC, such as '2026-03-27T09:00:00Z'"

export const instantIn = z.iso
  .datetime({ error: INSTANT })
  .transform((text) => new Date(text))
  .refine((date) => date.getTime() >= 0 && date.getTime() <= LAST_DAY, {
    error: 'must be an instant from 1970 to 9999',
  })
/** An instant in a response: a `Date` becomes text. */
export const instant = z.iso.datetime().describe('RFC 3339, in UTC')

/** Some databases end text at NUL, and none can store half a surrogate pair. */
export const text = (most: number, least = 0) =>
  z
    .string()
    .min(least, { error: least === 1 ? 'must not be empty' : undefined })
    // This does not use `max`, which counts an emoji as two characters.
    .refine((value) => isUpTo(value, most), { error: `must have at most ${most} characters` })
    .refine((value) => !value.includes('\0') && value.isWellFormed(), {
      error: 'must be a string without NUL and without lone surrogates',
    })
    .meta({ maxLength: most })

/** Rejects `.` and `..`, which a URL cannot contain as ids, because they have a special meaning in a path. */
const addressable = (most: number) =>
  text(most, 1).refine((id) => id !== '.' && id !== '..', {
    error: 'must be an id that a URL can contain, not . or ..',
  })

export const scheduleId = addressable(NAME_LIMIT).describe(
  `An id of your choice, 1 to ${NAME_LIMIT} characters`,
)
export const jobId = addressable(NAME_LIMIT).describe(`1 to ${NAME_LIMIT} ASCII characters`)
export const status = z.enum(STATUSES)
export const state = z.enum(JOB_STATES)
export const anyJson = z.unknown().describe('Any JSON')

/** The settings that a caller sends. The types of task and args are unknown here. */
type Given = Omit<SettingOptions, 'timer'> & {
  readonly timer?: string
  readonly task?: string
  readonly args?: unknown
}

export function settingsIn<Name extends SettingName>(names: readonly Name[]) {
  const schemas = names.map((name) => {
    const setting = settingOf(name)
    const value = valueIn(setting).describe(explained(setting))
    return [name, (isNullable(setting) ? value.nullable() : value).optional()]
  })
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- Object.fromEntries loses the names
  return Object.fromEntries(schemas) as {
    readonly [One in Name]: z.ZodOptional<z.ZodType<Exclude<Given[One], undefined>>>
  }
}

export function columnsOut(columns: Columns): Readonly<Record<string, z.ZodType>> {
  return Object.fromEntries(
    Object.entries(columns).map(([name, column]) => {
      const value = valueOut(column)
      return [name, column.default === null && column.kind !== 'json' ? value.nullable() : value]
    }),
  )
}

/** @param least  in milliseconds, like `most` */
export const span = (least: number, most: number) =>
  z.union([z.int().min(least).max(most), text(100, 1)], {
    error: "must be milliseconds, or a time span such as '10min'",
  })

function valueIn(setting: Setting): z.ZodType {
  switch (setting.kind) {
    case 'text':
      return text(setting.most, setting.default === undefined ? 1 : 0)
    case 'whole': {
      const { least, most, otherwise, unlimited } = setting
      const error = wholeNeeded(least, most, otherwise, unlimited)
      const whole = z.int({ error }).min(least, { error }).max(most, { error })
      return unlimited === true ? z.union([whole, z.literal('unlimited')], { error }) : whole
    }
    case 'span':
      return span(setting.least, setting.most)
    case 'choice':
      return z.enum(Object.keys(setting.values))
    case 'instant':
      return instantIn
    case 'flag':
      return z.boolean()
    case 'json':
      return z.unknown()
    default:
      return setting satisfies never
  }
}

const VALUES_OUT = {
  text: z.string(),
  'job id': z.string(),
  uid: z.string(),
  'long text': z.string(),
  whole: z.int(),
  span: z.int(),
  flag: z.boolean(),
  instant,
  json: anyJson,
}

function valueOut(column: Column): z.ZodType {
  if (column.kind === 'word') return z.enum(column.values)
  if (column.kind === 'choice') return valueIn(column)
  return 'unlimited' in column ? z.union([z.int(), z.literal('unlimited')]) : VALUES_OUT[column.kind]
}
