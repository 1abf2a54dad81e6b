export interface SyntaxProblem {
  /** Zero-based offset of the token in the text. */
  readonly at: number
  /** The invalid piece of the text; empty only when the text is empty. */
  readonly token: string
  /** The problem with the token, as part of a sentence. */
  readonly problem: string
  /** What to write instead, if known. */
  readonly hint: string | undefined
}

/**
 * The text is not a calendar event of systemd.time(7).
 *
 * The message is a single line with the text, the column, the problem and, if known, what to write instead.
 */
export class CalendarSyntaxError extends Error {
  override readonly name = 'CalendarSyntaxError'
  readonly code = 'KALENDS_CALENDAR_SYNTAX'
  /** The whole text, unchanged. */
  readonly text: string
  /** The start of the token, counted from 1 in UTF-16 code units; always inside the text (1 if the text is empty). */
  readonly column: number
  /** The invalid piece of the text. */
  readonly token: string
  /** What to write instead, if known. */
  readonly hint: string | undefined

  constructor(text: string, { at, token, problem, hint }: SyntaxProblem) {
    // A problem at the end of the text is reported at its last character, so that an editor can mark it.
    const column = Math.max(1, Math.min(at + 1, text.length))
    const instead = hint === undefined ? '' : `; ${hint}`
    super(`Not a calendar event: ${quote(text)}, column ${column}: ${problem}${instead}`)
    this.text = text
    this.column = column
    this.token = token === '' ? text.slice(column - 1) : token
    this.hint = hint
  }
}

/** The text on one line, in double quotes and shortened, because input may be long or contain control characters. */
export function quote(text: string): string {
  const shown = text.length > 80 ? `${text.slice(0, 77)}...` : text
  // JSON does not escape Unicode's line separator and paragraph separator.
  return JSON.stringify(shown).replaceAll('\u2028', '\\u2028').replaceAll('\u2029', '\\u2029')
}
