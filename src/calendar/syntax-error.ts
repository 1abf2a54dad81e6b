import { CalendarSyntaxError } from './error.ts'
import { explainText } from './hint.ts'
import { explainToken } from './hint-token.ts'
import type { Reader } from './reader.ts'

/**
 * Reports a mistake that concerns the whole text (a cron line, stray blanks) instead of its first symptom.
 *
 * @param place  the offset of the invalid piece, and its end; default: the next blank
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
  // A stray blank is shown together with the word after it.
  let start = at
  while (text.charAt(start) === ' ') start++
  if (start >= text.length) return { at, text: text.slice(at) }
  const blank = text.indexOf(' ', start)
  return { at: start, text: blank === -1 ? text.slice(start) : text.slice(start, blank) }
}
