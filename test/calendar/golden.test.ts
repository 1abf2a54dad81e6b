import { describe, expect, test } from 'vitest'
import { CalendarSyntaxError, calendar } from '../../src/calendar/index.ts'
import { goldenRows, instant, micros } from './golden.ts'

describe(`systemd 252 and Kalends with the tz database ${process.versions['tz'] ?? 'unknown'}`, () => {
  test('agree on which strings are calendar events [T1]', () => {
    const wrong = goldenRows.filter(({ expr, tz, valid }) => {
      try {
        calendar(expr, { zone: tz })
        return !valid
      } catch (error) {
        expect(error).toBeInstanceOf(CalendarSyntaxError)
        return valid
      }
    })
    expect(wrong).toEqual([])
  })

  test('agree on the normal form, which normalises to itself [T1]', () => {
    for (const { expr, tz, normalized, valid } of goldenRows) {
      if (!valid || normalized === null) continue
      expect(String(calendar(expr, { zone: tz })), expr).toBe(normalized)
      expect(String(calendar(normalized, { zone: tz })), normalized).toBe(normalized)
    }
  })

  test('agree on five consecutive run times, to the microsecond [T2]', () => {
    const wrong = []
    for (const { expr, base, tz, valid, next } of goldenRows) {
      if (!valid) continue
      const event = calendar(expr, { zone: tz })
      const found: string[] = []
      for (
        let at = event.nextMicros(micros(base));
        at !== null && found.length < 5;
        at = event.nextMicros(at)
      ) {
        found.push(instant(at))
      }
      if (found.join() !== next.join()) wrong.push({ expr, base, tz, systemd: next, kalends: found })
    }
    expect(wrong).toEqual([])
  })
})
