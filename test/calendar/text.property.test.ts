import * as fc from 'fast-check'
import { afterEach, describe, expect, test, vi } from 'vitest'
import { CalendarSyntaxError, calendar } from '../../src/calendar/index.ts'
import { Reader } from '../../src/calendar/reader.ts'
import { Zone } from '../../src/calendar/zone.ts'
import { goldenRows } from './golden.ts'
import { runs } from '../support/runs.ts'

const LETTERS = [
  '0',
  '1',
  '2',
  '3',
  '5',
  '9',
  '29',
  '59',
  '*',
  ',',
  '.',
  '/',
  '~',
  '-',
  ':',
  ' ',
  '@',
  '+',
  'U',
  '..',
  'Mon',
  'Tue',
  'daily',
  ' Europe/Berlin',
  ' UTC',
]

/** All kinds of strings: random characters, random event tokens, and events with one change. */
const anyText = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 200 }),
  fc.string({ unit: fc.constantFrom(...LETTERS), maxLength: 60 }),
  fc
    .tuple(
      fc.constantFrom(...goldenRows.map(({ expr }) => expr)),
      fc.nat(40),
      fc.constantFrom('', ...LETTERS),
      fc.nat(2),
    )
    .map(([expr, at, put, cut]) => expr.slice(0, at) + put + expr.slice(at + cut)),
)

afterEach(() => {
  vi.restoreAllMocks()
})

/** The number of characters that are read to parse a string. */
function charactersRead(text: string): number {
  const peek = vi.spyOn(Reader.prototype, 'peek')
  try {
    calendar(text)
  } catch (error) {
    if (!(error instanceof CalendarSyntaxError)) throw error
  }
  const { length } = peek.mock.calls
  peek.mockRestore()
  return length
}

describe('every string either is a valid event or causes an error that states the problem and its position', () => {
  test('parsing a string throws no other error', () => {
    fc.assert(
      fc.property(anyText, (text) => {
        try {
          const event = calendar(text)
          expect(String(calendar(String(event)))).toBe(String(event))
        } catch (error) {
          if (!(error instanceof CalendarSyntaxError)) throw error
          expect(error.text).toBe(text)
          expect(error.message).not.toMatch(/[\n\r\u2028\u2029]/)
          expect(error.column).toBeGreaterThanOrEqual(1)
          expect(error.column).toBeLessThanOrEqual(Math.max(1, text.length))
          expect(text.slice(error.column - 1, error.column - 1 + error.token.length)).toBe(error.token)
          expect(error.token).not.toBe(text === '' ? 'anything' : '')
        }
      }),
      runs(3000),
    )
  })
})

describe('the cost of parsing a string depends on its length, not on the numbers in it', () => {
  test('a string is scanned at most a fixed number of times', () => {
    fc.assert(
      fc.property(anyText, (text) => {
        expect(charactersRead(text)).toBeLessThanOrEqual(12 * (text.length + 1))
      }),
      runs(500),
    )
  })

  test.each([
    '*:1..999999999/1',
    '*:0..59/999999999',
    '*-*-1..2147483647',
    '1970..2147483647/1-1-1',
    '*:*:0..2147/0.000001',
    '999999999999999999999999:00',
    '*:*:0.00000000000000000000000000001',
    `${'0'.repeat(100_000)}1:00`,
    `${'9'.repeat(100_000)}:00`,
    `@${'9'.repeat(100_000)}`,
    `*:${'1,'.repeat(50_000)}1`,
    `${'Mon,'.repeat(25_000)}Tue`,
    `Mon${' '.repeat(100_000)}9:00`,
    'x'.repeat(100_000),
    '12:00 '.repeat(20_000),
    `12:00 ${'Europe/'.repeat(20_000)}`,
    '-'.repeat(100_000),
    `*${' *'.repeat(50_000)}`,
  ])('%.40s', (text) => {
    expect(charactersRead(text)).toBeLessThanOrEqual(12 * (text.length + 1))
  })
})

describe('the next run time is computed directly, not step by step [L20]', () => {
  test.each([
    '*:*:0/0.000001 Europe/Berlin',
    '*-02-29 Europe/Berlin',
    'Mon *-02-29 Europe/Berlin',
    '*-02-31 Europe/Berlin',
    '2199-12-31 23:59:59.999999 Europe/Berlin',
    'Sun *-03-25..31 02:30:00 Europe/Berlin',
  ])('%s', (text) => {
    const event = calendar(text)
    const at = vi.spyOn(Zone.prototype, 'at')
    event.next(new Date('2024-01-01'))
    event.previous(new Date('2024-01-01'))
    // A search reads the offsets around its candidates; the last event has one candidate per year, in a gap.
    expect(at.mock.calls.length).toBeLessThan(1500)
  })
})
