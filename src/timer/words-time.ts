import { isEverySecond, runsOf } from '../calendar/format.ts'
import { type Items, NO_END, SECOND } from '../calendar/spec.ts'
import { enumeration, numbers, single, two, type Values, values } from './words-values.ts'

/** Maximum number of times per day that are listed. */
const MAX_LISTED = 8
const MINUTE = 60 * SECOND
/** Maximum number of runs of consecutive hours whose first and last times are listed. */
const MAX_RUNS = 3

export function timeWords(hours: Values, minutes: Values, secondItems: Items): string {
  const seconds = expanded(secondItems)
  if (single(seconds) === 0) return hours === null ? ofEveryHour(minutes) : ofHours(hours, minutes)
  const [hour, minute] = [single(hours), single(minutes)]
  const every = evenSeconds(secondItems)
  if (every !== null) {
    const words = every === 1 ? 'every second' : `every ${every} seconds`
    if (hours === null && minutes === null) return words
    if (hour !== null && minute !== null) {
      const time = clockTime(hour, minute)
      return `${words} from ${time}:00 to ${time}:${60 - every}`
    }
    return `${words} during ${minutes === null && hours !== null ? hourWords(hours) : `${minuteOf(minutes)}${hourOf(hours, minutes)}`}`
  }
  if (hours !== null && minutes !== null && seconds !== null) {
    if (hours.length * minutes.length * seconds.length <= MAX_LISTED)
      return `at ${enumeration(clockTimes(hours, minutes).flatMap((time) => seconds.map((second) => `${time}:${two(second)}`)))}`
  }
  const several = single(seconds) === null ? 's' : ''
  const list = seconds === null ? fractionWords(secondItems) : numbers(seconds)
  return `at second${several} ${list} of ${minuteOf(minutes)}${hourOf(hours, minutes)}`
}

/** Lists and ranges of fractions are not expanded, because there may be millions in a minute. */
function expanded(items: Items): Values {
  const isSingle = items?.length === 1 && items[0]?.step === 0
  const isWhole = items?.every(({ start, step }) => start % SECOND === 0 && step % SECOND === 0)
  return isSingle || isWhole ? values(items, 59, SECOND) : null
}

/** The step in seconds if the items divide the whole minute evenly, otherwise null. */
function evenSeconds(items: Items): number | null {
  if (isEverySecond(items)) return 1
  const [item, another] = items ?? []
  if (item?.start !== 0 || another !== undefined || MINUTE % item.step !== 0) return null
  return item.end === NO_END || item.end + item.step === MINUTE ? item.step / SECOND : null
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

function fractionWords(items: Items): string {
  const words = (items ?? []).map(({ start, end, step }) => {
    const first = String(start / SECOND)
    if (step === 0) return first
    return `${first} ${end === NO_END ? 'and on' : `to ${end / SECOND}`} (in steps of ${step / SECOND})`
  })
  return enumeration(words)
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

/** The step of the values if they start at 0 and divide the whole range evenly, otherwise null. */
function evenSteps(of: readonly number[], whole: number): number | null {
  const step = whole / of.length
  return of.length > 1 && of.every((value, index) => value === index * step) ? step : null
}
