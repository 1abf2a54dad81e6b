/** Reads unit files, as described in systemd.syntax(7). */
import { isInvalidTimer } from '../../timer/error.ts'

/** The values of each key by section, in order; an empty value clears earlier values. */
export type UnitFile = ReadonlyMap<string, ReadonlyMap<string, readonly string[]>>

/** The times in [Timer]: an empty value of any of these settings clears all of them. */
const TIMES = /^On(?:Active|Boot|Startup|UnitActive|UnitInactive)Sec$|^OnCalendar$/

export function readUnit(texts: readonly string[]): UnitFile {
  const sections = new Map<string, Map<string, string[]>>()
  for (const text of texts) {
    let section = ''
    for (const line of joinedLines(text)) {
      const [, header] = /^\[(.+)\]$/.exec(line) ?? []
      const [, key, value] = /^([^=]+?)\s*=\s*(.*)$/.exec(line) ?? []
      if (header !== undefined) section = header
      else if (key !== undefined && value !== undefined) {
        const keys = sections.get(section) ?? new Map<string, string[]>()
        sections.set(section, keys)
        if (value !== '') keys.set(key, [...(keys.get(key) ?? []), value])
        else if (section === 'Timer' && TIMES.test(key))
          for (const time of [...keys.keys()].filter((one) => TIMES.test(one))) keys.delete(time)
        else keys.delete(key)
      }
    }
  }
  return sections
}

function joinedLines(text: string): string[] {
  const lines: string[] = []
  let begun = ''
  for (const raw of text.split(/\r?\n/)) {
    // A comment within a continued line is removed, and the line continues.
    if (/^\s*[#;]/.test(raw)) continue
    if (raw.endsWith('\\')) begun += `${raw.slice(0, -1)} `
    else {
      const line = `${begun}${raw}`.trim()
      if (line !== '') lines.push(line)
      begun = ''
    }
  }
  return lines
}

export function valuesOf(unit: UnitFile, section: string, key: string): readonly string[] {
  return unit.get(section)?.get(key) ?? []
}

export function lastOf(unit: UnitFile, section: string, key: string): string | undefined {
  return valuesOf(unit, section, key).at(-1)
}

/** A value, or the rest of a value, that systemd ignores with a warning. */
export class IgnoredValue extends Error {}

/** Reads the values that systemd accepts. Other values, which systemd ignores with a warning, become notes. */
export function acceptedIn(unit: UnitFile, section: string, notes: string[]) {
  return <Value>(key: string, read: (text: string) => Value): Value[] =>
    valuesOf(unit, section, key).flatMap((text) => {
      try {
        return [read(text)]
      } catch (error) {
        if (!isInvalidTimer(error) && !(error instanceof IgnoredValue)) throw error
        notes.push(ignoredNote(key, error instanceof IgnoredValue ? error.message : text))
        return []
      }
    })
}

export function ignoredNote(key: string, text: string): string {
  const hint = /(?:^|\s)[#;]/.test(text) ? '; a comment needs its own line' : ''
  return `systemd ignores '${key}=${text}', because it cannot read the value${hint}`
}

/** @throws IgnoredValue */
export function matching(text: string, pattern: RegExp): string {
  if (!pattern.test(text)) throw new IgnoredValue(text)
  return text
}

/** Reads a boolean as systemd does. @throws IgnoredValue */
export function flag(text: string): boolean {
  const isTrue = /^(?:1|yes|y|true|t|on)$/i.test(text)
  if (!isTrue && !/^(?:0|no|n|false|f|off)$/i.test(text)) throw new IgnoredValue(text)
  return isTrue
}

/**
 * Splits a line into words at blanks, and resolves quotes and C escapes, as systemd does.
 *
 * @param isStrict  whether an unknown escape is an error, as in Environment=; in commands, it is left unchanged
 * @throws IgnoredValue for the part that cannot be read, after yielding the words before it
 */
export function* wordsOf(text: string, isStrict = false): Generator<[word: string, source: string], void> {
  const pattern = /\s*((?:"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|\\.|[^\s"'\\])+)(?=\s|$)/suy
  let end = 0
  const rest = text.trimEnd()
  while (end < rest.length) {
    pattern.lastIndex = end
    const source = pattern.exec(rest)?.[1]
    if (source === undefined || (isStrict && source.replaceAll(ESCAPE, '').includes('\\')))
      throw new IgnoredValue(rest.slice(end).trimStart())
    const word = source.replaceAll(
      /"((?:[^"\\]|\\.)*)"|'((?:[^'\\]|\\.)*)'|(?:[^"'\\]|\\.)+/gsu,
      (all: string, ...parts: (string | undefined)[]) =>
        (parts[0] ?? parts[1] ?? all).replaceAll(ESCAPE, (_, code: string) => characterOf(code)),
    )
    yield [word, source]
    end = pattern.lastIndex
  }
}

const ESCAPE =
  /\\(?!x00|000|u0000|U0{8})([\\"'abfnrstv]|x\p{AHex}{2}|u\p{AHex}{4}|U00(?:0\p{AHex}|10)\p{AHex}{4}|[0-3][0-7]{2})/gu
const LETTERS = new Map(
  Object.entries({ n: '\n', t: '\t', r: '\r', s: ' ', a: '\u0007', b: '\b', f: '\f', v: '\v' }),
)

function characterOf(code: string): string {
  if (code.length === 1) return LETTERS.get(code) ?? code
  return String.fromCodePoint(Number.parseInt(code.replace(/^\D/, ''), /^\d/.test(code) ? 8 : 16))
}
