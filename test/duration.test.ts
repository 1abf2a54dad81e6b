import { describe, expect, test } from 'vitest'
import { durationText, relativeTime, retryText, spanText, spanWords } from '../src/duration.ts'
import { timeSpan } from '../src/timer/index.ts'

const SECOND = 1000
const MINUTE = 60 * SECOND
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR

describe('a measured duration is rounded down to at most two units', () => {
  test.each([
    [-5, '0 ms'],
    [0.4, '0 ms'],
    [999.9, '999 ms'],
    [SECOND, '1 s'],
    [4250, '4.2 s'],
    [9999, '9.9 s'],
    [59_999, '59 s'],
    [MINUTE, '1 min'],
    [3 * MINUTE + 20 * SECOND, '3 min 20 s'],
    [HOUR - 1, '59 min 59 s'],
    [2 * HOUR + 5 * MINUTE, '2 h 5 min'],
    [2 * HOUR + 59 * SECOND, '2 h'],
    [3 * DAY + 4 * HOUR, '3 d 4 h'],
  ])('%d ms: %s', (milliseconds, text) => {
    expect(durationText(milliseconds)).toBe(text)
  })
})

describe('a relative time is more precise the nearer it is', () => {
  const now = new Date('2026-03-27T09:00:00Z')
  test.each([
    [0, 'now'],
    [-999, 'now'],
    [4200, 'in 4 s'],
    [-45_000, '45 s ago'],
    [3 * MINUTE + 20 * SECOND, 'in 3 min'],
    [-(3 * HOUR + 20 * MINUTE), '3 h 20 min ago'],
    [12 * HOUR + 20 * MINUTE, 'in 12 h'],
    [27 * HOUR, 'in 1 d 3 h'],
    [-(5 * DAY + 7 * HOUR), '5 d ago'],
    [90 * DAY, 'in 2 months'],
    [-800 * DAY, '2 years ago'],
  ])('%d ms: %s', (milliseconds, text) => {
    expect(relativeTime(new Date(now.getTime() + milliseconds), now)).toBe(text)
  })
})

test('the text of a span is exact and can be parsed', () => {
  for (const milliseconds of [0, 1, 1500, 90_000, 10 * DAY, 14 * DAY, 8 * DAY + 61_001])
    expect(timeSpan(spanText(milliseconds))).toBe(milliseconds)
  expect(spanText(90 * MINUTE)).toBe('1h 30min')
  expect(spanWords(90 * MINUTE)).toBe('1 hour 30 minutes')
})

test('retries are described in words', () => {
  expect(retryText({ retry: 2, retryLimit: 3 }, 'noon')).toBe('retrying, 2 of 3, next at noon')
  expect(retryText({ retry: 2, retryLimit: null }, 'noon')).toBe('retrying, 2, next at noon')
})
