import { firstLine } from '../errors.ts'
import { pino } from 'pino'
import type { Logger } from '../logger.ts'
import { harmlessJson, harmlessText } from './output.ts'

export function commandLog(
  { json, level }: { readonly json: boolean; readonly level: keyof Logger },
  write: (text: string) => void,
): Logger {
  return pino({ level, base: null }, { write: (line) => write(json ? harmlessJson(line) : readable(line)) })
}

const LEVELS: Readonly<Record<string, string>> = { 20: 'debug', 30: 'info ', 40: 'WARN ', 50: 'ERROR' }

/** `2026-11-21T07:36:30.123Z info  Kalends started worker=web-1/mb8… tasks=["mail"]` */
function readable(line: string): string {
  const { level, time, msg, err, ...fields }: Record<string, unknown> = JSON.parse(line)
  const at = new Date(Number(time)).toISOString()
  const rest = Object.entries(fields)
    .filter(([, value]) => value !== null)
    .map(
      ([name, value]) => ` ${name}=${firstLine(typeof value === 'string' ? value : JSON.stringify(value))}`,
    )
  const error = errorOf(err)
  const text = `${String(msg)}${rest.join('')}${error === '' ? '' : `: ${error}`}`
  return `${at} ${LEVELS[String(level)] ?? String(level)} ${harmlessText(text)}\n`
}

function errorOf(err: unknown): string {
  if (err === undefined) return ''
  const message: unknown = typeof err === 'object' && err !== null ? Reflect.get(err, 'message') : err
  return typeof message === 'string' ? message : JSON.stringify(err)
}
