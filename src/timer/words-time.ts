import { enumeration, items, numbers, runsOf, single, two, type Values, values } from './words-values.ts'

/** Maximum number of times per day that are listed. */
const MAX_LISTED = 8
/** Maximum number of runs of consecutive hours whose first and last times are listed. */
const MAX_RUNS = 3

export function timeWords(hours: Values, minutes: Values, secondField: string): string {
  if (secondField === '00') return hours === null ? ofEveryHour(minutes) : ofHours(hours, minutes)
  const [hour, minute] = [single(hours), single(minutes)]
  const every = secondField === '*' || secondField === '00..59' ? 1 : evenStep(secondField)
  if (every !== null) {
    const words = every === 1 ? 'every second' : `every ${every} seconds`
    if (hours === null && minutes === null) return words
    if (hour !== null && minute !== null) {
      const time = clockTime(hour, minute)
      return `${words} from ${time}:00 to ${time}:${60 - every}`
    }
    return `${words} during ${minutes === null && hours !== null ? hourWords(hours) : `${minuteOf(minutes)}${hourOf(hours, minutes)}`}`
  }
  // Fractions are not expanded, because there may be millions in a minute.
  const seconds = /\.\d/u.test(secondField) ? null : values(secondField, 59)
  if (hours !== null && minutes !== null) {
    const shown = /^\d\d(?:\.\d+)?$/u.test(secondField)
      ? [secondField.replace(/(\.\d*?)0+$/u, '$1')]
      : seconds?.map(two)
    if (shown !== undefined && hours.length * minutes.length * shown.length <= MAX_LISTED)
      return `at ${enumeration(clockTimes(hours, minutes).flatMap((time) => shown.map((second) => `${time}:${second}`)))}`
  }
  const several = /[^\d.]|\.\./u.test(secondField) ? 's' : ''
  const list = seconds === null ? fractionWords(secondField) : numbers(seconds)
  return `at second${several} ${list} of ${minuteOf(minutes)}${hourOf(hours, minutes)}`
}

/** The `10` of `00/10`, if it divides the minute evenly. */
function evenStep(secondField: string): number | null {
  const step = Number(/^00\/([\d.]+)$/u.exec(secondField)?.[1])
  return Number.isInteger(60_000_000 / Math.round(step * 1_000_000)) ? step : null
}

function minuteOf(minutes: Values): string {
  if (minutes === null) return 'every minute'
  return `${minutes.length === 1 ? 'minute' : 'minutes'} ${numbers(minutes)}`
}

function hourOf(hours: Values, minutes: Values): string {
  if (hours === null) return minutes === null ? '' : ' of every hour'
  return ` of ${hourWords(hours)}`
}

function hourWords(hours: readonly number[]): string {
  return `${hours.length === 1 ? 'hour' : 'hours'} ${numbers(hours)}`
}

function fractionWords(field: string): string {
  return enumeration(
    items(field).map(({ first, last, step }) => {
      const range = last === undefined ? `${trimmed(first)} and on` : `${trimmed(first)} to ${trimmed(last)}`
      if (first === last) return trimmed(first)
      return `${range} (in steps of ${trimmed(step)})`
    }),
  )
}

function trimmed(number: string | number): string {
  return String(Number(number))
}

function ofEveryHour(minutes: Values): string {
  if (minutes === null) return 'every minute'
  if (single(minutes) === 0) return 'every hour'
  const step = evenSteps(minutes, 60)
  if (step !== null) return step === 1 ? 'every minute' : `every ${step} minutes`
  return `at ${minuteOf(minutes)} of every hour`
}

function ofHours(hours: readonly number[], minutes: Values): string {
  const minute = single(minutes)
  const [firstHour = 0] = hours
  const lastHour = hours.at(-1) ?? 0
  const inARow = lastHour - firstHour === hours.length - 1
  if (minute !== null) {
    const [first, last] = [clockTime(firstHour, minute), clockTime(lastHour, minute)]
    if (inARow && hours.length > 3) return `every hour from ${first} to ${last}`
    const step = evenSteps(hours, 24)
    if (step !== null && hours.length > 3) return `every ${step} hours from ${first}`
  }
  if (minutes !== null && hours.length * minutes.length <= MAX_LISTED)
    return `at ${enumeration(clockTimes(hours, minutes))}`
  const step = minutes === null ? 1 : evenSteps(minutes, 60)
  if (step !== null && minute === null) {
    const every = step === 1 ? 'every minute' : `every ${step} minutes`
    const runs = runsOf(hours)
    if (runs.length > MAX_RUNS) return `${every} during ${hourWords(hours)}`
    const fromTo = runs.map(
      (run) => `from ${clockTime(run[0] ?? 0, 0)} to ${clockTime(run.at(-1) ?? 0, 60 - step)}`,
    )
    return `${every} ${enumeration(fromTo)}`
  }
  const [firstMinute = 0] = minutes ?? []
  const lastMinute = minutes?.at(-1) ?? 0
  if (minutes !== null && hours.length === 1 && lastMinute - firstMinute === minutes.length - 1)
    return `every minute from ${clockTime(firstHour, firstMinute)} to ${clockTime(firstHour, lastMinute)}`
  return `at ${minuteOf(minutes)}${hourOf(hours, minutes)}`
}

function clockTimes(hours: readonly number[], minutes: readonly number[]): string[] {
  return hours.flatMap((hour) => minutes.map((minute) => clockTime(hour, minute)))
}

function clockTime(hour: number, minute: number): string {
  return `${two(hour)}:${two(minute)}`
}

/** The step of values that start at 0 and divide the whole range evenly. */
function evenSteps(of: readonly number[], whole: number): number | null {
  const step = whole / of.length
  return of.length > 1 && of.every((value, index) => value === index * step) ? step : null
}
