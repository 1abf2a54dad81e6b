import { CalendarSyntaxError, type SyntaxProblem } from './error.ts'
import { explainToken } from './hint-token.ts'
import type { Reader } from './reader.ts'
import { SHORTHANDS } from './shorthand.ts'

/**
 * Creates the error for a problem at a place in the text. If a mistake concerns the whole text (a cron line, stray
 * blanks), the error reports that mistake, because the problem is only its first symptom.
 *
 * @param place  where the invalid piece starts, and where it ends; the default end is the next space
 */
export function syntaxError(
  reader: Reader,
  place: number | { readonly from: number; readonly to: number },
  problem: string,
  hint?: string,
): CalendarSyntaxError {
  const { text } = reader
  const whole = explainText(text)
  if (whole !== undefined) return new CalendarSyntaxError(text, whole)
  const token = typeof place === 'number' ? tokenAt(text, place) : tokenAt(text, place.from, place.to)
  const better = hint === undefined ? explainToken(text, token.at, token.text) : undefined
  return new CalendarSyntaxError(text, {
    at: token.at,
    token: token.text,
    problem: better?.problem ?? problem,
    hint: better?.hint ?? hint,
  })
}

function tokenAt(text: string, at: number, to?: number): { at: number; text: string } {
  // At the end of the text, there is nothing to show, so the last character is shown.
  if (at >= text.length) return { at: Math.max(0, text.length - 1), text: text.slice(-1) }
  if (to !== undefined) return { at, text: text.slice(at, to) }
  // If there are stray blanks here, the word after them is shown.
  const rest = text.slice(at)
  const [word] = /[^ ]+/.exec(rest) ?? []
  return word === undefined ? { at, text: rest } : { at: text.indexOf(word, at), text: word }
}

// cron's macros, which start with @.
const CRON_WORDS: ReadonlyMap<string, string> = new Map([
  ['@midnight', 'daily'],
  ...[...SHORTHANDS.keys()].map((word): [string, string] => [`@${word}`, word]),
  // For systemd, weekly means Monday; for cron, Sunday.
  ['@weekly', 'Sun 0:00'],
])

// A cron field contains numbers, names, *, ?, -, / and commas, but never a colon or two dots.
const CRON_FIELD = /^[\d*?][\d*?,/A-Za-z-]*$|^[A-Za-z]{3}(?:[,-][A-Za-z]{3})*$/

/** Finds a mistake that concerns the whole text; the first unreadable character is only a symptom of it. */
function explainText(text: string): SyntaxProblem | undefined {
  return explainBlanks(text) ?? explainQuotes(text) ?? explainCron(text)
}

function explainBlanks(text: string): SyntaxProblem | undefined {
  const trimmed = text.trim()
  if (trimmed === '') {
    const problem = text === '' ? 'the text is empty' : 'the text is blank'
    return { at: 0, token: text, problem, hint: 'write an event, such as daily or Mon..Fri 9:00' }
  }
  const foreign = /[^\S ]/.exec(text)
  if (foreign !== null) {
    const problem = 'pieces must be separated by spaces, not by tabs, line breaks or other blanks'
    return { at: foreign.index, token: foreign[0], problem, hint: 'replace it with a space, or remove it' }
  }
  if (text.startsWith(' ')) {
    return { at: 0, token: ' ', problem: 'the text must not begin with a blank', hint: 'remove it' }
  }
  if (trimmed.length < text.length && SHORTHANDS.has(trimmed.toLowerCase())) {
    const problem = `a blank is not allowed after ${trimmed}`
    return { at: trimmed.length, token: text.slice(trimmed.length), problem, hint: 'remove it' }
  }
  return undefined
}

function explainQuotes(text: string): SyntaxProblem | undefined {
  const quotes = /^["'`]/.exec(text)
  if (quotes === null) return undefined
  return { at: 0, token: quotes[0], problem: 'an event has no quotes', hint: 'remove them' }
}

function explainCron(text: string): SyntaxProblem | undefined {
  const word = CRON_WORDS.get(text.toLowerCase())
  if (word !== undefined) return { at: 0, token: text, problem: 'this is cron', hint: `write ${word}` }
  if (/^@reboot$/i.test(text)) {
    return { at: 0, token: text, problem: 'this is cron, and not a time', hint: undefined }
  }
  const prefix = /^(?:cron!?|every)(?= )/i.exec(text)?.[0]
  if (prefix !== undefined) {
    const problem = `${prefix} begins another kind of timer, not a calendar event`
    return { at: 0, token: prefix, problem, hint: 'use it where a timer is expected, such as in a schedule' }
  }
  const fields = text.length > 200 ? [] : text.split(' ').filter((field) => field !== '')
  if (fields.length < 5 || fields.length > 6 || !fields.every((field) => CRON_FIELD.test(field)))
    return undefined
  return { at: 0, token: text, problem: 'this looks like cron', hint: cronHint(fields) }
}

/** Numbers, names, ranges, lists, steps and *, but no ? and no L. */
const TIMER_FIELD = /^(?:[\d*,/-]|\b[a-z]{3}\b)+$/i

function cronHint(fields: readonly string[]): string {
  if (fields.length !== 5) {
    return 'cron expressions must have five fields; for seconds, write the time as hour:minute:second'
  }
  if (fields.every((field) => TIMER_FIELD.test(field))) return `as a timer, write cron ${fields.join(' ')}`
  return 'cron expressions may contain only numbers, names, ranges, lists, steps and *'
}
