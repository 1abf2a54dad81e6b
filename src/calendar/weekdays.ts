import { syntaxError } from './syntax-error.ts'
import { SHORT_WEEKDAYS, WEEKDAYS } from './spec.ts'
import { COMMA, DASH, DOT, END, isLetter, type Reader, SPACE } from './reader.ts'

const NUMBERS: ReadonlyMap<string, number> = new Map(
  [...WEEKDAYS, ...SHORT_WEEKDAYS].map((name, index) => [name.toLowerCase(), index % 7]),
)

/** Reads a list of weekdays up to the next blank or the end. @returns one bit per day, with Monday as the lowest bit */
export function readWeekdays(reader: Reader): number {
  let weekdays = 0
  do {
    // A trailing comma is allowed.
    if (weekdays !== 0 && (reader.peek() === END || reader.peek() === SPACE)) return weekdays
    const from = reader.at
    const first = readWeekday(reader)
    let last = first
    if (reader.skipDots() || reader.skip(DASH)) {
      last = readWeekday(reader)
      if (last < first) {
        const days = Array.from(
          { length: last + 8 - first },
          (_, index) => SHORT_WEEKDAYS[(first + index) % 7],
        )
        throw syntaxError(
          reader,
          { from, to: reader.at },
          'a weekday range does not wrap',
          `write ${days.join(',')}`,
        )
      }
    }
    weekdays |= ((2 << last) - 1) & ~((1 << first) - 1)
  } while (reader.skip(COMMA))
  if (reader.peek() !== END && reader.peek() !== SPACE) {
    throw syntaxError(reader, reader.at, 'a weekday can only be followed by a comma, a range or a space')
  }
  return weekdays
}

function readWeekday(reader: Reader): number {
  const from = reader.at
  while (isLetter(reader.peek())) reader.at++
  const number = NUMBERS.get(reader.text.slice(from, reader.at).toLowerCase())
  if (number === undefined) {
    throw syntaxError(
      reader,
      from,
      from === 0 ? 'neither a weekday nor a word such as daily' : 'a weekday is expected here',
    )
  }
  const next = reader.peek()
  if (next !== END && next !== SPACE && next !== COMMA && next !== DASH && next !== DOT) {
    throw syntaxError(reader, from, 'a space must follow the weekdays')
  }
  return number
}
