import * as fc from 'fast-check'
import type { NaiveEvent } from './naive.ts'

/** The text of a field, and the values that it matches; null if it matches any value. */
interface Field {
  readonly text: string
  readonly values: ReadonlySet<number> | null
}

const ANY: Field = { text: '*', values: null }
const WEEKDAYS = ['Mon', 'Tue', 'Wed', 'Thu', 'Fri', 'Sat', 'Sun']

function steps(from: number, to: number, step: number): number[] {
  return Array.from({ length: Math.floor((to - from) / step) + 1 }, (_, index) => from + index * step)
}

function written(number: number, padded: boolean): string {
  return padded ? String(number).padStart(2, '0') : String(number)
}

/** One item of a list. `down`: an open repetition counts down, as after `~`. */
function item(low: number, high: number, down: boolean): fc.Arbitrary<{ text: string; values: number[] }> {
  const value = fc.integer({ min: low, max: high })
  return fc
    .record({
      a: value,
      b: value,
      step: fc.integer({ min: 1, max: high - low }),
      kind: fc.constantFrom('one', 'range', 'stepped', 'open'),
      padded: fc.boolean(),
    })
    .map(({ a, b, step, kind, padded }) => {
      const [first, last] = [Math.min(a, b), Math.max(a, b)]
      const range = `${written(first, padded)}..${written(last, padded)}`
      if (kind === 'range') return { text: range, values: steps(first, last, 1) }
      if (kind === 'stepped') return { text: `${range}/${step}`, values: steps(first, last, step) }
      const fits = down ? a - step >= low : a + step <= high
      if (kind === 'one' || !fits) return { text: written(a, padded), values: [a] }
      const values = down ? steps(0, a - low, step).map((back) => a - back) : steps(a, high, step)
      return { text: `${written(a, padded)}/${step}`, values }
    })
}

function field(
  low: number,
  high: number,
  options: { any?: number; down?: boolean } = {},
): fc.Arbitrary<Field> {
  const list = fc
    .array(item(low, high, options.down ?? false), { minLength: 1, maxLength: 3 })
    .map((items) => ({
      text: items.map(({ text }) => text).join(','),
      values: new Set(items.flatMap(({ values }) => values)),
    }))
  return fc.oneof({ weight: options.any ?? 1, arbitrary: fc.constant(ANY) }, { weight: 1, arbitrary: list })
}

const weekdays: fc.Arbitrary<Field> = fc
  .array(fc.tuple(fc.nat(6), fc.nat(6), fc.constantFrom('..', '-')), { minLength: 1, maxLength: 3 })
  .map((ranges) => {
    const items = ranges.map(([a, b, dots]) => {
      const [first, last] = [Math.min(a, b), Math.max(a, b)]
      const text = first === last ? WEEKDAYS[first] : `${WEEKDAYS[first]}${dots}${WEEKDAYS[last]}`
      return { text, days: steps(first, last, 1).map((day) => (day + 1) % 7) }
    })
    return {
      text: items.map(({ text }) => text).join(','),
      values: new Set(items.flatMap(({ days }) => days)),
    }
  })

const date = fc.boolean().chain((daysFromEnd) =>
  fc.record({
    years: field(2005, 2030, { any: 8 }),
    months: field(1, 12, { any: 2 }),
    days: daysFromEnd ? field(1, 28, { down: true }) : field(1, 31, { any: 2 }),
    daysFromEnd: fc.constant(daysFromEnd),
  }),
)

/** Usually matches every day, so that events elapse often enough around clock changes. */
const frequentDate = fc.oneof(
  { weight: 3, arbitrary: fc.constant({ years: ANY, months: ANY, days: ANY, daysFromEnd: false }) },
  { weight: 1, arbitrary: date },
)

const seconds = fc.oneof(
  { weight: 3, arbitrary: fc.constant({ text: '0', values: new Set([0]) }) },
  {
    weight: 1,
    arbitrary: item(0, 59, false).filter(({ text }) => !/^(\d+)\.\.\1$|^(\d+)\.\.0*\2$/.test(text)),
  },
)

/** Events with whole seconds, each as text and as sets of values. */
export function events(zone: fc.Arbitrary<string>, dates: 'all' | 'frequent'): fc.Arbitrary<NaiveEvent> {
  return fc
    .record({
      weekdays: fc.option(weekdays, { freq: 3 }),
      date: dates === 'all' ? date : frequentDate,
      hours: field(0, 23),
      minutes: field(0, 59),
      seconds,
      zone,
    })
    .map(({ weekdays, date, hours, minutes, seconds, zone }) => ({
      text: [
        ...(weekdays === null ? [] : [weekdays.text]),
        `${date.years.text}-${date.months.text}${date.daysFromEnd ? '~' : '-'}${date.days.text}`,
        `${hours.text}:${minutes.text}:${seconds.text}`,
        zone,
      ].join(' '),
      zone,
      weekdays: weekdays?.values ?? null,
      years: date.years.values,
      months: date.months.values,
      days: date.days.values,
      daysFromEnd: date.daysFromEnd,
      hours: hours.values,
      minutes: minutes.values,
      seconds: new Set(seconds.values),
    }))
}
