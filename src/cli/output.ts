/** The output of commands: data goes to stdout and messages to stderr; only terminals get colours. */
import { styleText } from 'node:util'

export type Style = 'bold' | 'dim' | 'red' | 'green' | 'yellow' | 'cyan'

export function print(text: string): void {
  process.stdout.write(text)
}

export function printJson(value: unknown): void {
  process.stdout.write(`${harmlessJson(JSON.stringify(value))}\n`)
}

export function printResult(json: boolean | undefined, value: unknown, text: string): void {
  if (json === true) printJson(value)
  else print(text)
}

export function say(text: string): void {
  process.stderr.write(`${harmlessLines(text)}\n`)
}

export function painted(style: Style | undefined, text: string): string {
  return style !== undefined && coloured() ? styleText(style, text) : text
}

function coloured(): boolean {
  const { NO_COLOR = '', TERM } = process.env
  return process.stdout.isTTY && NO_COLOR === '' && TERM !== 'dumb'
}

/** The width of a line in cells: COLUMNS, else the width of the terminal, else unlimited. */
export function lineWidth(): number {
  const wanted = Number(process.env['COLUMNS'])
  if (Number.isInteger(wanted) && wanted > 0) return wanted
  return process.stdout.isTTY && process.stdout.columns > 0 ? process.stdout.columns : Infinity
}

/**
 * Characters that control a terminal or reorder the text around them (C0, C1, line separators, bidi controls), and
 * invisible characters, which can make different strings look the same. Joiners and variation selectors are printed
 * after emoji, combining marks and Arabic letters, which need them, and escaped after any other character.
 */
const ACTIVE =
  /[\p{Cc}\p{Zl}\p{Zp}\p{Bidi_Control}\ufff9-\ufffb]|(?![\u200c\u200d\p{Variation_Selector}])\p{Default_Ignorable_Code_Point}|(?<![\p{Extended_Pictographic}\p{Emoji_Modifier}\p{M}\p{Script=Arabic}])[\u200c\u200d\p{Variation_Selector}]/gu

/** Escapes text from rows, which may contain any characters. */
export function harmlessText(text: string): string {
  return text.replaceAll(ACTIVE, (character) => {
    const code = character.codePointAt(0) ?? 0
    if (character === '\n') return '\\n'
    if (character === '\t') return '\\t'
    if (code > 0xffff) return `\\u{${code.toString(16)}}`
    return code < 256 ? `\\x${code.toString(16).padStart(2, '0')}` : `\\u${code.toString(16)}`
  })
}

/** Indents all lines but the first, so that a name with a line break cannot look like another message. */
export function harmlessLines(text: string): string {
  return text
    .split('\n')
    .map((line, index) => (index === 0 || line === '' || /^ {2}/.test(line) ? '' : '  ') + harmlessText(line))
    .join('\n')
}

/** Escapes the same characters in JSON, because JSON.stringify escapes only the C0 characters. */
export function harmlessJson(json: string): string {
  return json.replaceAll(ACTIVE, (character) =>
    // pino ends its lines with a newline; within text, newlines are already escaped.
    character === '\n' ? character : character.split('').map(codeUnit).join(''),
  )
}

function codeUnit(unit: string): string {
  return `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`
}
