import { syntaxError } from './syntax-error.ts'
import type { Reader } from './reader.ts'
import { DAY_FROM_END, type Field, type Item, type Items, NO_END, SECOND, SECONDS, YEAR } from './spec.ts'

interface WrittenItem extends Item {
  readonly from: number
  readonly to: number
}

/** A list as written; null is `*`. Only the text after a list shows which field it belongs to. */
export type WrittenList = readonly WrittenItem[] | null

// systemd's limits: the largest C integer, and the maximum length of a list.
const GREATEST_NUMBER = 2_147_483_647
const MAX_ITEMS = 241

const DIGITS = /\d+/y
const FRACTION = /\.\d+/y

/** Reads `*` or a list of `number[..number][/number]`. @param unit  SECOND allows fractions, 1 does not */
export function readList(reader: Reader, unit: 1 | typeof SECOND): WrittenList {
  if (reader.skip('*')) return null
  const items: WrittenItem[] = []
  do {
    const from = reader.at
    const start = readNumber(reader, unit)
    const end = reader.skip('..') ? readNumber(reader, unit) : NO_END
    const stepAt = reader.at
    let step = 0
    if (reader.skip('/')) {
      step = readNumber(reader, unit)
      if (step === 0) throw syntaxError(reader, { from: stepAt, to: reader.at }, 'a step of 0 never advances')
    }
    items.push({ start, end, step, from, to: reader.at })
    if (items.length > MAX_ITEMS)
      throw syntaxError(reader, from, `a list may have at most ${MAX_ITEMS} items`)
  } while (reader.skip(','))
  return items
}

function readNumber(reader: Reader, unit: 1 | typeof SECOND): number {
  const from = reader.at
  const whole = reader.take(DIGITS)
  if (whole === '') throw syntaxError(reader, from, 'a number is expected here')
  const micros = unit === SECOND ? microsOf(reader.take(FRACTION)) : 0
  const value = Number(whole) * unit + micros
  if (value > GREATEST_NUMBER) throw syntaxError(reader, { from, to: reader.at }, 'this number is too large')
  return value
}

/** Rounds half up, based only on the seventh digit. */
function microsOf(fraction: string): number {
  return Number(fraction.slice(1, 7).padEnd(6, '0')) + (fraction.charAt(7) >= '5' ? 1 : 0)
}

/** Checks a list against the limits of its field, and converts it to normal form: sorted, without duplicates. */
export function settle(reader: Reader, list: WrittenList, field: Field): Items {
  if (list === null) return null
  const items = list.map((item) => settleItem(reader, item, field))
  if (items.length === 1) return items
  items.sort((a, b) => a.start - b.start || a.end - b.end || a.step - b.step)
  return items.filter((item, index) => {
    const before = items[index - 1]
    return before?.start !== item.start || before.end !== item.end || before.step !== item.step
  })
}

function settleItem(reader: Reader, item: WrittenItem, field: Field): Item {
  const start = field === YEAR ? fullYear(item.start) : item.start
  if (item.end === NO_END) {
    if (start < field.low || start > field.high) throw outOfLimits(reader, item, field)
    const reach = field === DAY_FROM_END ? start - item.step : start + item.step
    if (reach < field.low || reach > field.high) throw stepTooLong(reader, item, field)
    return { start, end: NO_END, step: item.step }
  }
  const written = field === YEAR ? fullYear(item.end) : item.end
  if (written < start) throw backwards(reader, item, field)
  if (field === SECONDS && item.step === 0 && written < start + SECOND) {
    const hint = 'add the step, as in 0..0.9/0.3'
    throw syntaxError(reader, item, 'a range of seconds without a step must span at least a second', hint)
  }
  const step = item.step || field.unit
  // A range ends at the last value that its steps reach; systemd checks the limits only after that.
  const end = written - ((written - start) % step)
  if (start < field.low || end > field.high) throw outOfLimits(reader, item, field)
  return end === start ? { start, end: NO_END, step: 0 } : { start, end, step }
}

/** Two-digit years stand for 1970 to 2069. */
function fullYear(year: number): number {
  if (year < 70) return year + 2000
  return year < 100 ? year + 1900 : year
}

function limits(field: Field): string {
  return field === SECONDS ? '0..59.999999' : `${field.low}..${field.high}`
}

function outOfLimits(reader: Reader, item: WrittenItem, field: Field): Error {
  const text = reader.text.slice(item.from, item.to)
  let hint: string | undefined
  if (field.name === 'hour' && item.start === 24) hint = 'midnight is 00:00, at the start of a day'
  else if (field.name === 'minute' && item.start === 60) hint = 'use 00 of the following hour'
  else if (field === DAY_FROM_END) hint = 'the last day is ~1, the one before it ~2, up to ~28'
  return syntaxError(reader, item, `${field.name} ${text} is outside its limits ${limits(field)}`, hint)
}

function stepTooLong(reader: Reader, item: WrittenItem, field: Field): Error {
  const start = reader.text.slice(item.from, reader.text.indexOf('/', item.from))
  const last = field === DAY_FROM_END ? '1, the last day' : limits(field).split('..').at(-1)
  const problem = `the step leads beyond ${last}, so the ${field.name} is never repeated`
  return syntaxError(reader, item, problem, `write ${start}, or a smaller step`)
}

function backwards(reader: Reader, item: WrittenItem, field: Field): Error {
  const text = reader.text.slice(item.from, item.to)
  const hint = 'a range does not wrap around; write two ranges, as in 0..3,22..23'
  return syntaxError(reader, item, `the ${field.name} range ${text} runs backwards`, hint)
}
