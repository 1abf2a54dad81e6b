import {
  type CalendarSpec,
  EVERY_WEEKDAY,
  type Item,
  type Items,
  NO_END,
  SECOND,
  SHORT_WEEKDAYS,
  weekdayNumbers,
} from './spec.ts'

/** Formats an event byte for byte as `systemd-analyze calendar` prints it. @param zone  null if it names none */
export function format(spec: CalendarSpec, zone: string | null): string {
  const weekdays = spec.weekdays === EVERY_WEEKDAY ? '' : `${formatWeekdays(spec.weekdays)} `
  const date = `${list(spec.years, 4)}-${list(spec.months, 2)}${spec.daysFromEnd ? '~' : '-'}${list(spec.days, 2)}`
  const time = `${list(spec.hours, 2)}:${list(spec.minutes, 2)}:${formatSeconds(spec.seconds)}`
  return `${weekdays}${date} ${time}${zone === null ? '' : ` ${zone}`}`
}

function formatWeekdays(weekdays: number): string {
  return ranges(weekdayNumbers(weekdays), (day) => SHORT_WEEKDAYS[day] ?? '', '..').join(',')
}

/** Describes ascending values; more than two consecutive values become a range. */
export function ranges(of: readonly number[], name: (value: number) => string, separator: string): string[] {
  return runsOf(of).flatMap((run) =>
    run.length > 2 ? [`${name(run[0] ?? 0)}${separator}${name(run.at(-1) ?? 0)}`] : run.map(name),
  )
}

/** Groups ascending values into runs of consecutive values. */
export function runsOf(values: readonly number[]): readonly (readonly number[])[] {
  const runs: number[][] = []
  for (const value of values) {
    const run = runs.at(-1)
    if (run?.at(-1) === value - 1) run.push(value)
    else runs.push([value])
  }
  return runs
}

function formatSeconds(items: Items): string {
  // systemd prints `*` for a list that contains every second, even if the list also contains fractions.
  return isEverySecond(items) ? '*' : list(items, 2, SECOND)
}

export function isEverySecond(seconds: Items): boolean {
  return (
    seconds === null ||
    seconds.some((item) => item.start === 0 && item.end === NO_END && item.step === SECOND)
  )
}

function list(items: Items, digits: number, unit = 1): string {
  if (items === null) return '*'
  return items.map((item) => formatItem(item, digits, unit)).join(',')
}

function formatItem({ start, end, step }: Item, digits: number, unit: number): string {
  const isRange = end !== NO_END
  const values = `${formatNumber(start, digits, unit)}${isRange ? `..${formatNumber(end, digits, unit)}` : ''}`
  return step === (isRange ? unit : 0) ? values : `${values}/${formatNumber(step, 1, unit)}`
}

function formatNumber(value: number, digits: number, unit: number): string {
  const whole = String(Math.floor(value / unit)).padStart(digits, '0')
  const rest = value % unit
  return rest === 0 ? whole : `${whole}.${String(rest).padStart(6, '0')}`
}
