import { syntaxError } from './syntax-error.ts'
import { SHORT_WEEKDAYS, WEEKDAYS } from './spec.ts'
import type { Reader } from './reader.ts'

const NUMBERS: ReadonlyMap<string, number> = new Map(
  [...WEEKDAYS, ...SHORT_WEEKDAYS].map((name, index) => [name.toLowerCase(), index % 7]),
)

const LETTERS = /[A-Za-z]+/y
const BEHIND_WEEKDAY = /[ ,.-]|$/y

/** Reads a list of weekdays up to the next blank or the end. @returns one bit per day, with Monday as the lowest bit */
export function readWeekdays(reader: Reader): number {
  let weekdays = 0
  do {
    // A trailing comma is allowed.
    if (weekdays !== 0 && reader.isAtBlankOrEnd()) return weekdays
    const from = reader.at
    const first = readWeekday(reader)
    let last = first
    if (reader.skip('..') || reader.skip('-')) {
      last = readWeekday(reader)
      if (last < first) {
        const days = [...SHORT_WEEKDAYS.slice(first), ...SHORT_WEEKDAYS.slice(0, last + 1)]
        const range = { from, to: reader.at }
        throw syntaxError(reader, range, 'a weekday range does not wrap', `write ${days.join(',')}`)
      }
    }
    weekdays |= ((2 << last) - 1) & ~((1 << first) - 1)
  } while (reader.skip(','))
  if (!reader.isAtBlankOrEnd())
    throw syntaxError(reader, reader.at, 'a weekday can only be followed by a comma, a range or a space')
  return weekdays
}

function readWeekday(reader: Reader): number {
  const from = reader.at
  const number = NUMBERS.get(reader.take(LETTERS).toLowerCase())
  if (number === undefined) {
    const problem = from === 0 ? 'neither a weekday nor a word such as daily' : 'a weekday is expected here'
    throw syntaxError(reader, from, problem)
  }
  if (!reader.isAt(BEHIND_WEEKDAY)) throw syntaxError(reader, from, 'a space must follow the weekdays')
  return number
}
