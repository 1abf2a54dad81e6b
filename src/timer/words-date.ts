import { WEEKDAYS } from '../calendar/spec.ts'
import { enumeration, joinedRuns, listed, numbers, single, type Values } from './words-values.ts'

const MONTHS = 'January February March April May June July August September October November December'.split(
  ' ',
)
/** February has 28 days, as in most years. */
const MONTH_LENGTHS = [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]
const ORDINALS = 'first second third fourth fifth sixth seventh eighth ninth tenth'.split(' ')

export interface DateSets {
  readonly years: Values
  readonly months: Values
  readonly days: Values
  readonly fromEnd: boolean
}

/** Empty means every day. */
export function dateWords({ years, months, days, fromEnd }: DateSets): string {
  const inYears = years === null ? '' : ` ${inYearsWords(years)}`
  const month = single(months)
  if (days === null) {
    if (months === null) return years === null ? '' : `every day${inYears}`
    return `every day ${inMonths(months)}${inYears}`
  }
  const day = single(days)
  if (day !== null && month !== null && !fromEnd) {
    const date = `on ${day} ${MONTHS[month - 1]}`
    if (day === 29 && month === 2 && years === null) return `${date} in leap years`
    const year = single(years)
    return year === null ? `${date}${years === null ? ' every year' : inYears}` : `${date} ${year}`
  }
  return `${fromEnd ? onDaysFromEnd(days) : onDays(days)} ${ofMonths(months, fromEnd ? 1 : (day ?? 1))}${inYears}`
}

export function weekdayWords(chosen: readonly number[], date: DateSets): string {
  const { years, months, days, fromEnd } = date
  const inYears = years === null ? '' : ` ${inYearsWords(years)}`
  const weekday = single(chosen)
  const name = weekday === null ? '' : (WEEKDAYS[weekday] ?? '')
  const which = weekday === null || days === null ? null : whichOfMonth(days, fromEnd)
  if (which !== null)
    return `on the ${which} ${name} ${ofMonths(months, which === 'fifth' ? 32 : 1)}${inYears}`
  const on = weekdayNames(chosen, name)
  if (days === null) return `${on}${months === null ? '' : ` ${inMonths(months)}`}${inYears}`
  if (single(years) !== null && single(months) !== null && single(days) !== null && !fromEnd)
    return `${dateWords(date)}, if that is ${chosen.map((day) => `a ${WEEKDAYS[day] ?? ''}`).join(' or ')}`
  return `${on}, but only ${dateWords(date)}`
}

function weekdayNames(chosen: readonly number[], name: string): string {
  if (name !== '') return `every ${name}`
  const names = joinedRuns(chosen, (day) => WEEKDAYS[day] ?? '')
  return / to /u.test(names) && !/,| and /u.test(names) ? names : `on ${names}`
}

/** Which of a month's occurrences of a weekday these days cover, such as `first`; null unless exactly one. */
function whichOfMonth(days: readonly number[], fromEnd: boolean): string | null {
  const [first = 0] = days
  const length = fromEnd ? 7 : Math.min(7, 32 - first)
  if (first % 7 !== 1 || days.length !== length || !isRange(days)) return null
  const number = (first + 6) / 7
  return fromEnd ? nameFromEnd(number) : (ORDINALS[number - 1] ?? null)
}

/** `in 2026 and 2028`, `from 2026 to 2030` */
function inYearsWords(years: readonly number[]): string {
  const text = numbers(years)
  return /^\d+ to \d+$/u.test(text) ? `from ${text}` : `in ${text}`
}

/** `in January and July`, `from January to March` */
function inMonths(months: readonly number[]): string {
  return rangeOfMonths(months) ?? `in ${monthNames(months)}`
}

/** @param day  if some of the months may lack this day, the text says so; 32 is a day that any month may lack */
function ofMonths(months: Values, day: number): string {
  const isMissing = (months ?? [2]).some((month) => day > (MONTH_LENGTHS[month - 1] ?? 0))
  const range = months === null ? '' : rangeOfMonths(months)
  if (months !== null && range === null)
    return `of ${monthNames(months)}${isMissing ? ', if there is one' : ''}`
  return `of every month${range === '' ? '' : ` ${range}`}${isMissing ? ' that has one' : ''}`
}

/** `from January to March`; null if there are fewer than three months, or they are not consecutive. */
function rangeOfMonths(months: readonly number[]): string | null {
  if (!isRange(months)) return null
  return `from ${MONTHS[(months[0] ?? 1) - 1]} to ${MONTHS[(months.at(-1) ?? 1) - 1]}`
}

function monthNames(months: readonly number[]): string {
  return enumeration(months.map((month) => MONTHS[month - 1] ?? ''))
}

/** `on the 1st and 15th`, `from the 1st to the 7th` */
function onDays(days: readonly number[]): string {
  return isRange(days)
    ? `from the ${ordinal(days[0] ?? 1)} to the ${ordinal(days.at(-1) ?? 1)}`
    : `on the ${listed(days, ordinal)}`
}

/** `on the last day`, `on the third-to-last and last days`, `on the last 7 days` */
function onDaysFromEnd(days: readonly number[]): string {
  const [first = 1] = days
  if (isRange(days))
    return first === 1
      ? `on the last ${days.length} days`
      : `from the ${nameFromEnd(days.at(-1) ?? 1)} to the ${nameFromEnd(first)} day`
  return `on the ${enumeration(days.toReversed().map(nameFromEnd))} day${days.length === 1 ? '' : 's'}`
}

/** Whether these are more than two consecutive values. */
function isRange(of: readonly number[]): boolean {
  return of.length > 2 && (of.at(-1) ?? 0) - (of[0] ?? 0) === of.length - 1
}

/** `last`, `second-to-last`, `11th-to-last` */
function nameFromEnd(position: number): string {
  return position === 1 ? 'last' : `${ORDINALS[position - 1] ?? ordinal(position)}-to-last`
}

function ordinal(day: number): string {
  const ending = day > 10 && day < 14 ? 'th' : (['th', 'st', 'nd', 'rd'][day % 10] ?? 'th')
  return `${day}${ending}`
}
