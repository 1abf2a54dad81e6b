import { expect, test } from 'vitest'
import { InvalidTimeSpanError, timeSpan } from '../../src/timer/index.ts'

test.each([
  ['10min', 600_000],
  ['  2.5 s ', 2500],
  ['1M', 2_629_800_000],
  ['1m', 60_000],
])('%j is %d milliseconds, as in systemd', (text, milliseconds) => {
  expect(timeSpan(text)).toBe(milliseconds)
})

test('a number is read as milliseconds; a negative number and NaN are rejected', () => {
  expect(timeSpan(1500)).toBe(1500)
  expect(() => timeSpan(-1)).toThrow(InvalidTimeSpanError)
  expect(() => timeSpan(Number.NaN)).toThrow(InvalidTimeSpanError)
})

test.each([
  ['', 'is empty'],
  ['  ', 'is empty'],
  ['soon', "is invalid from 'soon' onwards"],
  ['5 parsecs', "has the unknown unit 'parsecs'"],
  ['-5s', "is invalid from '-5s' onwards"],
  ['5s,', "is invalid from ',' onwards"],
  ['1.s', "is invalid from '1.s' onwards"],
  ['5 S', "has the unknown unit 'S'"],
])('%j is rejected, with the reason and the notation', (text, problem) => {
  expect(() => timeSpan(text)).toThrow(InvalidTimeSpanError)
  expect(() => timeSpan(text)).toThrow(problem)
  expect(() => timeSpan(text)).toThrow("such as '90s', '10min' or '1h 30min'")
})
