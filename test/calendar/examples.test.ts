import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { CalendarSyntaxError, calendar } from '../../src/calendar/index.ts'
import { instant, micros } from './golden.ts'

interface Example {
  readonly expr: string
  readonly base?: string
  readonly normalized?: string
  /** The first elapses, followed by `never` if there are no more; undefined if the text must be rejected. */
  readonly next?: readonly string[]
}

const examples: readonly Example[] = readFileSync(new URL('examples.jsonl', import.meta.url), 'utf8')
  .trimEnd()
  .split('\n')
  .map((line): Example => {
    const example: Example = JSON.parse(line)
    return example
  })

/** The first `count` elapses after an instant; if there are fewer, all of them, followed by `never`. */
function chain(expr: string, base: string, count: number): string[] {
  const event = calendar(expr)
  const found: string[] = []
  let at = event.nextMicros(micros(base))
  for (; at !== null && found.length < count; at = event.nextMicros(at)) found.push(instant(at))
  return found.length < count ? [...found, 'never'] : found
}

test.each(examples.filter(({ next }) => next !== undefined))(
  '$expr elapses as recorded from systemd [T1]',
  ({ expr, base = '2024-01-01T00:00:00Z', normalized, next = [] }) => {
    expect(String(calendar(expr))).toBe(normalized)
    expect(chain(expr, base, next.length).slice(0, next.length)).toEqual(next)
  },
)

test.each(examples.filter(({ next }) => next === undefined))('$expr is rejected', ({ expr }) => {
  expect(() => calendar(expr)).toThrow(CalendarSyntaxError)
})

// Results that differ from those of systemd 252 because of its bugs; see the docs.
test.each([
  [
    'each item of a ~ list may be up to 28',
    '*~1,28',
    '2024-01-02T00:00:00Z',
    ['2024-01-04T00:00:00Z', '2024-01-31T00:00:00Z'],
  ],
  ['a ~ list may have many items', '*~1,2,3,4,5,6,7,8', '2024-01-02T00:00:00Z', ['2024-01-24T00:00:00Z']],
  [
    'minutes restart at 0 after midnight',
    '*:0/7',
    '2024-03-14T23:50:00Z',
    ['2024-03-14T23:56:00Z', '2024-03-15T00:00:00Z', '2024-03-15T00:07:00Z'],
  ],
  [
    'minutes restart at 0 even if the last step of the hour is incomplete',
    '*:0/25',
    '2024-03-14T23:57:00Z',
    ['2024-03-15T00:00:00Z', '2024-03-15T00:25:00Z'],
  ],
  [
    'seconds restart at 0 on the hour',
    '*:*:0/7',
    '2024-03-14T10:59:50Z',
    ['2024-03-14T10:59:56Z', '2024-03-14T11:00:00Z', '2024-03-14T11:00:07Z'],
  ],
  [
    'hours restart at 0 when the month changes',
    '0/7:00',
    '2024-03-31T20:30:00Z',
    ['2024-03-31T21:00:00Z', '2024-04-01T00:00:00Z', '2024-04-01T07:00:00Z'],
  ],
  [
    'days restart at 1 when the year changes',
    '*-*-1/12',
    '2024-12-26T20:30:00Z',
    ['2025-01-01T00:00:00Z', '2025-01-13T00:00:00Z'],
  ],
  [
    'fractions restart at 0 each minute',
    '*:*:0/5.5',
    '2024-01-01T00:00:50Z',
    ['2024-01-01T00:00:55Z', '2024-01-01T00:01:00Z', '2024-01-01T00:01:05.500000Z'],
  ],
  [
    'on a day counted from the end of the month, a repeated time elapses at its first occurrence',
    '*-*~5 *:15 Europe/Berlin',
    '2019-10-26T21:30:00Z',
    ['2019-10-26T22:15:00Z', '2019-10-26T23:15:00Z', '2019-10-27T00:15:00Z', '2019-10-27T02:15:00Z'],
  ],
  [
    'a run time on a skipped day does not move to another day',
    '*-*~2 Pacific/Apia',
    '2011-12-29T00:00:00Z',
    ['2012-01-29T10:00:00Z'],
  ],
  [
    'the base does not affect which occurrence of a repeated hour is used (1)',
    '*-11-01 00:30 America/Havana',
    '2015-01-05T00:00:00Z',
    ['2015-11-01T04:30:00Z'],
  ],
  [
    'the base does not affect which occurrence of a repeated hour is used (2)',
    '*-11-01 00:30 America/Havana',
    '2015-10-05T00:00:00Z',
    ['2015-11-01T04:30:00Z'],
  ],
  [
    'no run time is before the base',
    '*:0/15 America/Caracas',
    '2007-12-09T07:00:00Z',
    ['2007-12-09T07:15:00Z', '2007-12-09T07:30:00Z'],
  ],
  [
    'the rest of a day with a gap is not lost',
    '1,5:00 Europe/Dublin',
    '2024-03-30T12:00:00Z',
    ['2024-03-31T04:00:00Z', '2024-04-01T00:00:00Z'],
  ],
  [
    'the rest of a day with a gap is not lost in Casablanca',
    '02,12:30 Africa/Casablanca',
    '2024-04-13T12:30:00Z',
    ['2024-04-14T11:30:00Z', '2024-04-15T01:30:00Z'],
  ],
  [
    'an open repetition skips a gap at midnight',
    '0/6:00 America/Sao_Paulo',
    '2018-11-03T21:00:00Z',
    ['2018-11-04T08:00:00Z', '2018-11-04T14:00:00Z'],
  ],
  ['a gap at 02:45 is skipped', '2..5:59 Pacific/Chatham', '2014-09-27T13:59:59Z', ['2014-09-27T14:14:00Z']],
])('%s: %s', (_, expr, base, next) => {
  expect(chain(expr, base, next.length)).toEqual(next)
})
