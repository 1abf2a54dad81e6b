/** The output of commands: data goes to stdout and messages to stderr; only terminals get colours. */
import { styleText } from 'node:util'
import { ACTIVE, harmlessLines } from '../logger.ts'

export { harmlessLines, harmlessText } from '../logger.ts'

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

/** Escapes the same characters in JSON, because JSON.stringify escapes only the C0 characters. */
export function harmlessJson(json: string): string {
  return json.replaceAll(ACTIVE, (character) => character.split('').map(codeUnit).join(''))
}

function codeUnit(unit: string): string {
  return `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`
}
