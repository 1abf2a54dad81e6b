/** What commands print: data to stdout, talk to stderr, colour for people only. */
import { styleText } from 'node:util'

export type Style = 'bold' | 'dim' | 'red' | 'green' | 'yellow' | 'cyan'

/** Data, for people and programs. */
export function print(text: string): void {
  process.stdout.write(text)
}

/** One line for programs. */
export function printJson(value: unknown): void {
  process.stdout.write(`${JSON.stringify(value)}\n`)
}

/** What is said about the work, not its result. */
export function say(text: string): void {
  process.stderr.write(`${text}\n`)
}

export function painted(style: Style | undefined, text: string): string {
  return style !== undefined && coloured() ? styleText(style, text) : text
}

function coloured(): boolean {
  const { NO_COLOR = '', TERM } = process.env
  return process.stdout.isTTY && NO_COLOR === '' && TERM !== 'dumb'
}

/** The cells of a line: what COLUMNS says, else what the terminal has; without one there is no limit. */
export function lineWidth(): number {
  const wanted = Number(process.env['COLUMNS'])
  if (Number.isInteger(wanted) && wanted > 0) return wanted
  return process.stdout.isTTY && process.stdout.columns > 0 ? process.stdout.columns : Infinity
}

/** Text of rows may hold anything: what would move the cursor or change colours is shown, not obeyed. */
export function harmlessText(text: string): string {
  return text.replaceAll(/[\p{Cc}\p{Zl}\p{Zp}\u202a-\u202e\u2066-\u2069]/gu, (character) => {
    const code = character.codePointAt(0) ?? 0
    if (character === '\n') return '\\n'
    if (character === '\t') return '\\t'
    return code < 256 ? `\\x${code.toString(16).padStart(2, '0')}` : `\\u${code.toString(16)}`
  })
}
