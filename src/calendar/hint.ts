import type { SyntaxFault } from './error.ts'
import { nearest } from './nearest.ts'
import { SHORTHANDS } from './shorthand.ts'
import { zoneNames } from './zone-names.ts'

const WEEKDAYS = ['Mon', 'Tue', 'Wed', 'Thu', 'Fri', 'Sat', 'Sun']
const WHOLE_WORDS = [
  ...WEEKDAYS,
  ...['Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday', 'Saturday', 'Sunday'],
  ...SHORTHANDS.keys(),
]

// What cron calls by an @.
const CRON_WORDS: ReadonlyMap<string, string> = new Map([
  ['@midnight', 'daily'],
  ...[...SHORTHANDS.keys()].map((word): [string, string] => [`@${word}`, word]),
])

// A chunk of cron: its lists hold numbers, names, *, ?, -, / and never a colon or two dots.
const CRON_FIELD = /^[\d*?][\d*?,/A-Za-z-]*$|^[A-Za-z]{3}(?:[,-][A-Za-z]{3})*$/

/** A mistake that concerns the text as a whole, of which the first unreadable character is a symptom only. */
export function explainText(text: string): SyntaxFault | undefined {
  if (text.trim() === '') {
    const problem = text === '' ? 'the text is empty' : 'the text is blank'
    return { at: 0, token: text, problem, hint: 'write an event, such as daily or Mon..Fri 9:00' }
  }
  const foreign = /[^\S ]/.exec(text)
  if (foreign !== null) {
    const problem = 'only spaces may part the pieces, no tabs, line breaks or other blanks'
    return { at: foreign.index, token: foreign[0], problem, hint: 'replace it by a space, or remove it' }
  }
  if (text.startsWith(' ')) {
    return {
      at: 0,
      token: ' ',
      problem: 'an event does not begin with a blank',
      hint: `write ${inner(text)}`,
    }
  }
  return explainCron(text)
}

function explainCron(text: string): SyntaxFault | undefined {
  const whole = { at: 0, token: text }
  const word = CRON_WORDS.get(text.toLowerCase())
  if (word !== undefined) return { ...whole, problem: 'this is cron', hint: `write ${word}` }
  if (/^@reboot$/i.test(text))
    return { ...whole, problem: 'this is cron; no time of the clock means it', hint: undefined }
  const prefix = /^(?:cron|every) /i.exec(text)
  if (prefix !== null) {
    const problem = `${inner(prefix[0])} begins a timer of another kind, not a calendar event`
    return {
      at: 0,
      token: inner(prefix[0]),
      problem,
      hint: 'give it where a timer is expected, such as in a schedule',
    }
  }
  const fields = text.length > 200 ? [] : text.split(' ').filter((field) => field !== '')
  if (fields.length < 5 || fields.length > 6 || !fields.every((field) => CRON_FIELD.test(field)))
    return undefined
  const hint =
    fields.length === 5
      ? `as a timer, write cron ${fields.join(' ')}`
      : 'cron knows no seconds here; write the time as hour:minute:second'
  return { ...whole, problem: 'this looks like cron', hint }
}

/** What a piece of the text that cannot stand where it stands was probably meant to be. */
export function explainToken(
  text: string,
  at: number,
  token: string,
): { problem?: string; hint?: string } | undefined {
  if (token.trim() === '') {
    if (at + token.length < text.length) return undefined
    return { problem: 'a blank may not end the text here', hint: `write ${inner(text)}` }
  }
  return explainZone(text, at, token) ?? explainWord(text, at, token) ?? explainNumber(text, at, token)
}

function explainZone(
  text: string,
  at: number,
  token: string,
): { problem: string; hint?: string } | undefined {
  const shown = inner(token)
  if (at + token.length !== text.length || !/^[A-Za-z][\w+/-]*$/.test(token)) {
    if (/^(?:[+-]\d\d:?\d\d|Z)$/.test(token)) return offsetAsZone(shown)
    return undefined
  }
  if (at === 0) {
    if (!zoneNames().has(token) && token.toUpperCase() !== 'UTC') return undefined
    return { problem: `the time zone ${shown} needs an event before it`, hint: `write 00:00 ${shown}` }
  }
  if (zoneNames().has(token) || token.toUpperCase() === 'UTC') {
    return {
      problem: `one space only may stand before the time zone ${shown}`,
      hint: 'remove the other blanks',
    }
  }
  if (token === 'Z' || /^(?:UTC|GMT)[+-]/.test(token)) return offsetAsZone(shown)
  if (WHOLE_WORDS.some((word) => word.toLowerCase() === token.toLowerCase())) {
    return {
      problem: `${shown} may not follow here`,
      hint: 'weekdays stand first, without blanks between; a shorthand stands alone',
    }
  }
  const meant = nearest(token, zoneNames())
  const problem = `${shown} is not a time zone of the tz database`
  if (meant === undefined) return { problem, hint: 'use a name such as Europe/Berlin or UTC' }
  return { problem, hint: `did you mean ${meant}?` }
}

function offsetAsZone(shown: string): { problem: string; hint: string } {
  return {
    problem: `${shown} is not a time zone of the tz database`,
    hint: 'use UTC, a place such as Europe/Berlin, or Etc/GMT-2 for two hours ahead of UTC',
  }
}

function explainWord(
  text: string,
  at: number,
  token: string,
): { problem?: string; hint?: string } | undefined {
  const word = /^[A-Za-z-]+/.exec(token)?.[0]
  if (word === undefined || at + word.length > text.length) return undefined
  const meant = nearest(word, WHOLE_WORDS)
  if (meant === undefined) return undefined
  if (meant.toLowerCase() === word.toLowerCase()) return undefined
  return { hint: `did you mean ${meant}?` }
}

function explainNumber(
  text: string,
  at: number,
  token: string,
): { problem?: string; hint?: string } | undefined {
  if (/^\d+$/.test(text) && text.length <= 4)
    return { hint: text.length < 3 ? `did you mean ${text}:00?` : undefinedHint(text) }
  if (/\dT\d/.test(text)) return { hint: 'part date and time by a space instead of a T' }
  if (/\d{4}\/\d/.test(text)) return { hint: 'write dates as year-month-day' }
  if (/\d ?[ap]m\b/i.test(text)) return { hint: 'write hours from 0 to 23, without am or pm' }
  if (token.startsWith('/') && text.charAt(at - 1) === '*')
    return { hint: 'repeat from a first value: 0/5 in place of */5' }
  if (token.startsWith('-') && /\d/.test(text.charAt(at - 1)) && text.includes(':'))
    return { hint: 'write a range as 9..17' }
  if (/^\.\d/.test(token)) return { hint: 'only seconds have fractions' }
  return undefined
}

function undefinedHint(text: string): string {
  return `for a year write ${text}-*-*, for a time hour:minute`
}

function inner(text: string): string {
  return text.trim().slice(0, 60)
}
