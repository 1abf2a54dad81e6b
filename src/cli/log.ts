import { firstLine, messageOf } from '../errors.ts'
import type { Logger } from '../logger.ts'
import { LOG_LEVELS, type LogLevel } from '../model/states.ts'
import { harmlessJson, harmlessText } from './output.ts'

interface Line {
  readonly time: string
  readonly level: LogLevel
  readonly message: string
  readonly fields: object
}

/** @param level  the lowest level to write @param write  receives whole lines: JSON, or text for people */
export function commandLog(
  { json, level }: { readonly json: boolean; readonly level: LogLevel },
  write: (text: string) => void,
): Logger {
  const lineOf = json ? jsonLine : readableLine
  const at = (own: LogLevel) => (fields: object, message: string) => {
    if (LOG_LEVELS.indexOf(own) < LOG_LEVELS.indexOf(level)) return
    write(`${lineOf({ time: new Date().toISOString(), level: own, message, fields })}\n`)
  }
  return { debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error') }
}

function jsonLine({ time, level, message, fields }: Line): string {
  const json = JSON.stringify({ time, level, msg: message, ...fields }, (_, value: unknown) =>
    value instanceof Error ? Object.assign({}, value, { message: value.message, stack: value.stack }) : value,
  )
  return harmlessJson(json)
}

/** `2026-11-21T07:36:30.123Z info  Kalends started worker=web-1/mb8… tasks=["mail"]` */
function readableLine({ time, level, message, fields }: Line): string {
  const { err, ...others }: { err?: unknown } = { ...fields }
  const facts = Object.entries<unknown>(others).flatMap(([name, value]) =>
    value === null || value === undefined ? [] : [` ${name}=${firstLine(shown(value))}`],
  )
  const error = err === undefined ? '' : `: ${messageOf(err)}`
  const name = (level === 'warn' || level === 'error' ? level.toUpperCase() : level).padEnd(5)
  return `${time} ${name} ${harmlessText(`${message}${facts.join('')}${error}`)}`
}

function shown(value: unknown): string {
  const json: unknown = JSON.parse(JSON.stringify(value) ?? '""')
  return typeof json === 'string' ? json : JSON.stringify(json)
}
