/** Date fields and the calendar in a zone, including clock changes and offsets that are not whole hours. */
import { describe, expect, it } from 'vitest'
import { changeNote, exact, instantOf, typedAt, zoneOf } from '../../src/ui/time/format.ts'
import { hourOf, placed, weekOf } from '../../src/ui/time/week.ts'

describe('a date field', () => {
  it.each([
    ['UTC', '2026-03-29T02:30', '2026-03-29T02:30:00.000Z'],
    ['Asia/Kolkata', '2026-03-29T02:30', '2026-03-28T21:00:00.000Z'],
    ['Asia/Kathmandu', '2026-03-29T02:30', '2026-03-28T20:45:00.000Z'],
    ['America/St_Johns', '2026-07-01T00:15', '2026-07-01T02:45:00.000Z'],
    ['Europe/Berlin', '2026-10-25T01:59', '2026-10-24T23:59:00.000Z'],
    ['Europe/Berlin', '2026-10-25T03:00', '2026-10-25T02:00:00.000Z'],
    ['Australia/Lord_Howe', '2026-04-05T01:29', '2026-04-04T14:29:00.000Z'],
    ['Australia/Lord_Howe', '2026-04-05T02:00', '2026-04-04T15:30:00.000Z'],
  ])('in %s, %s is %s', (zone, typed, instant) => {
    expect(instantOf(typed, zone)?.toISOString()).toBe(instant)
    expect(typedAt(new Date(instant), zone)).toBe(typed)
  })

  it.each([
    ['Europe/Berlin', '2026-03-29T02:30', '2026-03-29T03:30'],
    ['America/New_York', '2026-03-08T02:30', '2026-03-08T03:30'],
    ['America/Santiago', '2026-09-06T00:00', '2026-09-06T01:00'],
    ['Australia/Lord_Howe', '2026-10-04T02:10', '2026-10-04T02:40'],
    ['Antarctica/Troll', '2026-03-29T01:30', '2026-03-29T03:30'],
  ])('in %s, the skipped time %s means %s', (zone, typed, meant) => {
    const at = instantOf(typed, zone) ?? new Date(Number.NaN)
    expect(typedAt(at, zone)).toBe(meant)
  })

  it.each([
    ['Europe/Berlin', '2026-10-25T02:30', '2026-10-25T00:30:00.000Z'],
    ['America/New_York', '2026-11-01T01:30', '2026-11-01T05:30:00.000Z'],
    ['Australia/Lord_Howe', '2026-04-05T01:45', '2026-04-04T14:45:00.000Z'],
    ['Pacific/Chatham', '2026-04-05T03:00', '2026-04-04T13:15:00.000Z'],
    ['Antarctica/Troll', '2026-10-25T01:30', '2026-10-24T23:30:00.000Z'],
  ])('in %s, the repeated time %s means its first occurrence, %s', (zone, typed, instant) => {
    expect(instantOf(typed, zone)?.toISOString()).toBe(instant)
  })

  it('keeps the seconds of an instant', () => {
    const at = new Date('2026-11-25T09:00:30Z')
    expect(instantOf(typedAt(at, 'Asia/Kolkata'), 'Asia/Kolkata')).toEqual(at)
  })

  it('has no value while it is incomplete or invalid', () => {
    for (const typed of ['', '2026-11-25T', 'garbage']) expect(instantOf(typed, 'Europe/Berlin')).toBeNull()
  })
})

describe('a skipped or repeated time', () => {
  it.each([
    [
      'Europe/Berlin',
      '2026-03-29T02:30',
      'This time is skipped by a clock change; 03:30 +02:00 is used instead',
    ],
    [
      'Australia/Lord_Howe',
      '2026-10-04T02:10',
      'This time is skipped by a clock change; 02:40 +11:00 is used instead',
    ],
    [
      'Europe/Berlin',
      '2026-10-25T02:30',
      'This time occurs twice because of a clock change; the first one, +02:00, is used',
    ],
    [
      'Europe/London',
      '2026-10-25T01:30',
      'This time occurs twice because of a clock change; the first one, +01:00, is used',
    ],
    ['Europe/Berlin', '2026-10-25T03:30', null],
    ['Asia/Kathmandu', '2026-10-25T02:30', null],
  ])('in %s, the note for %s is: %s', (zone, typed, note) => {
    expect(changeNote(instantOf(typed, zone) ?? new Date(0), typed, zone)).toBe(note)
  })

  it('has a note even for its second occurrence, which cannot be typed', () => {
    const second = new Date('2026-10-25T01:30:00Z')
    const typed = typedAt(second, 'Europe/Berlin')
    expect(changeNote(second, typed, 'Europe/Berlin')).toBe(
      'This time occurs twice because of a clock change; the second one, +01:00, is used',
    )
  })
})

describe('the exact time', () => {
  it.each([
    ['Europe/Berlin', 'Fri 2026-03-27 09:00:00 +01:00'],
    ['America/St_Johns', 'Fri 2026-03-27 05:30:00 −02:30'],
    ['Asia/Kathmandu', 'Fri 2026-03-27 13:45:00 +05:45'],
    ['Europe/London', 'Fri 2026-03-27 08:00:00 UTC'],
    ['Mars/Olympus', 'Fri 2026-03-27 08:00:00 UTC'],
  ])('in %s is %s', (zone, text) => {
    expect(exact(new Date('2026-03-27T08:00:00Z'), zone)).toBe(text)
  })

  it.each([
    ['Mon 09:00 Asia/Kolkata', 'Asia/Kolkata'],
    ['Mon 09:00 Mars/Olympus', 'UTC'],
    ['Mon 09:00', 'UTC'],
  ])('of the timer %s is in %s', (timer, zone) => {
    expect(zoneOf(timer)).toBe(zone)
  })
})

describe('a week of the calendar', () => {
  it.each([
    ['UTC', '2026-03-25', '2026-03-23T00:00:00.000Z', 168],
    ['Asia/Kolkata', '2026-03-25', '2026-03-22T18:30:00.000Z', 168],
    ['Asia/Kathmandu', '2026-03-25', '2026-03-22T18:15:00.000Z', 168],
    ['Europe/Berlin', '2026-03-29', '2026-03-22T23:00:00.000Z', 167],
    ['Europe/Berlin', '2026-10-19', '2026-10-18T22:00:00.000Z', 169],
    ['Africa/Cairo', '2026-04-24', '2026-04-19T22:00:00.000Z', 167],
    // The clock changes by half an hour, so the last hour shown ends in the next week.
    ['Australia/Lord_Howe', '2026-10-01', '2026-09-27T13:30:00.000Z', 168],
    ['Australia/Lord_Howe', '2026-04-01', '2026-03-29T13:00:00.000Z', 169],
    // That Monday began at 01:00.
    ['Asia/Tehran', '2021-03-22', '2021-03-21T20:30:00.000Z', 167],
  ])('in %s, the week of %s begins at %s and has %i hours', (zone, day, from, hours) => {
    const week = weekOf(instantOf(`${day}T12:00`, zone) ?? new Date(0), zone)
    expect(week.from.toISOString()).toBe(from)
    expect(week.hours).toBe(hours)
  })

  it.each([
    'UTC',
    'Europe/Berlin',
    'America/New_York',
    'Asia/Kolkata',
    'Asia/Kathmandu',
    'Australia/Lord_Howe',
  ])('in %s, the days of each week directly follow those of the previous week', (zone) => {
    let week = weekOf(new Date('2025-12-31T12:00:00Z'), zone)
    for (let number = 0; number < 54; number += 1) {
      const next = weekOf(instantOf(`${week.next}T12:00`, zone) ?? new Date(0), zone)
      expect(next).toMatchObject({ first: week.next, previous: week.first })
      expect(week.last < next.first).toBe(true)
      expect(Math.ceil((next.from.getTime() - week.from.getTime()) / 3_600_000)).toBe(week.hours)
      week = next
    }
    expect(week.first).toBe('2027-01-11')
  })

  it.each([
    ['Asia/Kolkata', '2026-03-25T12:00', 7],
    ['Asia/Kathmandu', '2026-03-25T12:00', 7],
    ['Europe/Berlin', '2026-03-25T12:00', 7],
    ['Europe/Berlin', '2026-10-21T12:00', 7],
    ['Australia/Lord_Howe', '2026-10-01T12:00', 7],
  ])('in %s, the week of %s has %i days, and its first day has the hours 0 to 23', (zone, typed, days) => {
    const { from, hours } = weekOf(instantOf(typed, zone) ?? new Date(0), zone)
    const walls = placed(hoursFrom(from, hours), zone).map(({ wall }) => wall)
    expect(new Set(walls.map(({ date }) => date)).size).toBe(days)
    expect(walls.slice(0, 24).map(({ time }) => Number(time.slice(0, 2)))).toEqual([...Array(24).keys()])
    expect(walls.at(-1)?.time).toMatch(/^23:/)
  })

  it.each([
    ['Europe/Berlin', '2026-10-25T00:00:00Z', ['02:00', '02:00', '03:00']],
    ['Australia/Lord_Howe', '2026-04-04T14:00:00Z', ['01:00', '01:30', '02:30']],
  ])('in %s, from %s, both occurrences of a repeated hour share one place', (zone, from, times) => {
    const cells = placed(hoursFrom(new Date(from), 3), zone)
    expect(cells.map(({ wall }) => wall.time.slice(0, 5))).toEqual(times)
    expect(cells.map(({ half }) => half)).toEqual(['first', 'second', null])
  })

  it('has hours that begin on the hour in local time', () => {
    const { from } = weekOf(new Date('2026-03-25T12:00:00Z'), 'Asia/Kolkata')
    expect(hourOf(new Date('2026-03-25T12:29:59Z'), from).toISOString()).toBe('2026-03-25T11:30:00.000Z')
    expect(hourOf(new Date('2026-03-25T12:30:00Z'), from).toISOString()).toBe('2026-03-25T12:30:00.000Z')
    expect(hourOf(new Date('2026-03-20T12:00:00Z'), from).toISOString()).toBe('2026-03-20T11:30:00.000Z')
  })
})

function hoursFrom(from: Date, hours: number) {
  return Array.from({ length: hours }, (_, hour) => ({
    hour: new Date(from.getTime() + hour * 3_600_000).toISOString(),
  }))
}
