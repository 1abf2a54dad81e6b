import { nearest } from '../nearest.ts'
import { SHORTHANDS } from './shorthand.ts'
import { SHORT_WEEKDAYS, WEEKDAYS } from './spec.ts'
import { zoneNames } from './zone-names.ts'

/** For an omitted property, the error keeps its general text. */
interface Explanation {
  readonly problem?: string
  readonly hint?: string
}

const WORDS = [...SHORT_WEEKDAYS, ...WEEKDAYS, ...SHORTHANDS.keys()]
/** The prefixes of the timers that are not calendar events. */
const PREFIXES = ['every', 'cron']
const PLACE_HINT = 'use UTC or the name of a place, such as Europe/Berlin'

export function explainToken(text: string, at: number, token: string): Explanation | undefined {
  if (token.trim() === '') {
    return { problem: 'a blank is not allowed here', hint: 'remove it' }
  }
  return (
    explainHours(text, at, token) ??
    explainWord(text, at, token) ??
    explainZone(text, at, token) ??
    explainNumber(text, at, token)
  )
}

function explainHours(text: string, at: number, token: string): Explanation | undefined {
  if (/^[\d:]*[ap]m$/i.test(token)) return { hint: 'write hours from 0 to 23, without am or pm' }
  // A single hour where a time is expected.
  if (/^\d{1,2}$/.test(token) && isLastWord(text, at, token)) return { hint: `did you mean ${token}:00?` }
  return undefined
}

function explainWord(text: string, at: number, token: string): Explanation | undefined {
  const word = /^[A-Za-z]+(?:-annually)?(?![\w/])/.exec(token)?.[0]
  if (word === undefined) return undefined
  const folded = word.toLowerCase()
  if (SHORTHANDS.has(folded)) {
    const zone = at === 0 ? /^\S+ ([A-Za-z]\S*)$/.exec(text)?.[1] : undefined
    const explained = zone === undefined ? undefined : explainZone(text, text.length - zone.length, zone)
    if (explained !== undefined) return explained
    return {
      problem: `${word} stands for a whole event`,
      hint: 'write it alone, or followed by a time zone',
    }
  }
  if (WORDS.some((one) => one.toLowerCase() === folded)) {
    if (at === 0) return undefined
    return { problem: `the weekday ${word} is not allowed here`, hint: 'weekdays come first: Mon,Tue 9:00' }
  }
  if (isZone(word) || (at > 0 && isLastWord(text, at, token))) return undefined
  const known = at === 0 && !PREFIXES.includes(folded) ? [...WORDS, ...PREFIXES] : WORDS
  const meant = nearest(word, known)
  return meant === undefined ? undefined : { hint: `did you mean ${meant}?` }
}

function explainZone(text: string, at: number, token: string): Explanation | undefined {
  if (isZone(token)) {
    if (at === 0)
      return { problem: `the time zone ${token} needs an event before it`, hint: `write 00:00 ${token}` }
    return { problem: `only one space is allowed before the time zone ${token}`, hint: 'remove the others' }
  }
  if (at === 0 || text.charAt(at - 1) !== ' ' || token.length > 60) return undefined
  const spaced = text.slice(at).replaceAll(' ', '_')
  if (isZone(spaced))
    return { problem: 'the name of a time zone contains no blanks', hint: `write ${spaced}` }
  if (!isLastWord(text, at, token)) return undefined
  const problem = `${token} is not a time zone of the tz database`
  if (token === 'Z' || /^(?:UTC|GMT)?[+-]\d/.test(token)) {
    return {
      problem,
      hint: `${PLACE_HINT}; for a fixed offset from UTC, use Etc/GMT-2 (two hours ahead)`,
    }
  }
  if (!/^[A-Za-z]/.test(token)) return undefined
  const plain = token.slice(token.indexOf('/') + 1)
  if (/^(?:right|posix)\//.test(token) && isZone(plain)) return { problem, hint: `write ${plain}` }
  const cased = [...zoneNames()].find((name) => name.toLowerCase() === token.toLowerCase())
  if (cased !== undefined) return { problem, hint: `names are case-sensitive: write ${cased}` }
  if (/^[A-Z]{1,5}$/.test(token)) return { problem, hint: `abbreviations are ambiguous; ${PLACE_HINT}` }
  if (/^(?:Africa|America|Asia|Europe|US)\/?$/.test(token)) return { problem, hint: PLACE_HINT }
  const meant = nearest(token, zoneNames())
  return { problem, hint: meant === undefined ? PLACE_HINT : `did you mean ${meant}?` }
}

function isZone(name: string): boolean {
  return zoneNames().has(name) || /^utc$/i.test(name)
}

function isLastWord(text: string, at: number, token: string): boolean {
  return at + token.length === text.length && text.charAt(at - 1) === ' '
}

function explainNumber(text: string, at: number, token: string): Explanation | undefined {
  const before = text.slice(Math.max(0, at - 40), at)
  if (/^\d{1,2}$/.test(text)) return { hint: `did you mean ${text}:00?` }
  if (/^\d{4}(?:-\d\d?)?$/.test(text))
    return { hint: `did you mean ${text}${text.length > 4 ? '-*' : '-*-*'}?` }
  if (/^T\d/.test(token)) return { hint: 'separate date and time with a space instead of a T' }
  if (/^\d{4}\/\d/.test(token)) return { hint: 'write dates as year-month-day' }
  if (before.endsWith(' ') && (/[:,./~-] +$/.test(before) || /^[:,./~-]/.test(token))) {
    return { hint: 'blanks are allowed only after the weekdays and after the date' }
  }
  if (before.endsWith('*') && token.startsWith('/'))
    return { hint: 'write the first value: 0/5 instead of */5' }
  if (/\d+-\d+$/.test(before) && token.startsWith(':')) return { hint: 'write a range of hours as 9..17:00' }
  if (/:\d+$/.test(before) && token.startsWith('-')) return { hint: 'write a range of minutes as 0..30' }
  if (/\d$/.test(before) && /^\.\d/.test(token)) return { hint: 'only seconds have fractions' }
  return undefined
}
