/** Weeks in a zone's local time, from Monday to Monday. A week in which the clock changes does not have 168 hours. */
import { tz } from '@date-fns/tz'
import { addDays } from 'date-fns/addDays'
import { addWeeks } from 'date-fns/addWeeks'
import { differenceInHours } from 'date-fns/differenceInHours'
import { lightFormat } from 'date-fns/lightFormat'
import { startOfISOWeek } from 'date-fns/startOfISOWeek'
import { HOUR_MS, wall } from './format.ts'

export function weekOf(at: Date, zone: string) {
  const monday = startOfISOWeek(at, { in: tz(zone) })
  // A day does not always begin at 00:00.
  const end = startOfISOWeek(addWeeks(monday, 1))
  return {
    from: new Date(monday.getTime()),
    hours: differenceInHours(end, monday, { roundingMethod: 'ceil' }),
    /** The first and last days of the week, and the first days of the neighbouring weeks: `2026-03-23`. */
    first: dayOf(monday),
    last: dayOf(addDays(monday, 6)),
    previous: dayOf(addWeeks(monday, -1)),
    next: dayOf(end),
  }
}

function dayOf(date: Date): string {
  return lightFormat(date, 'yyyy-MM-dd')
}

/** The start of the hour that an instant is in, if hours are counted from another instant. */
export function hourOf(at: Date, from: Date): Date {
  const hours = differenceInHours(at, from, { roundingMethod: 'floor' })
  return new Date(from.getTime() + hours * HOUR_MS)
}

/** Places hours in a grid of days and clock hours. If the clock shows an hour twice, both occurrences share a place. */
export function placed<Hour extends { readonly hour: string }>(hours: readonly Hour[], zone: string) {
  const shown = hours.map((of) => ({ of, wall: wall(new Date(of.hour), zone) }))
  const places = shown.map(({ wall: { date, time } }) => `${date} ${time.slice(0, 2)}`)
  return shown.map((one, index) => {
    const place = places[index] ?? ''
    const [first, last] = [places.indexOf(place), places.lastIndexOf(place)]
    return { ...one, half: first === last ? null : index === first ? 'first' : 'second' }
  })
}
