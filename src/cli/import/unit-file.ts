/** Reads unit files, as described in systemd.syntax(7). */
import { isInvalidTimer } from '../../timer/error.ts'

/** The values of each key by section, in order; an empty value clears earlier values. */
export type UnitFile = ReadonlyMap<string, ReadonlyMap<string, readonly string[]>>

/** The settings in [Timer] that are all cleared by an empty value of any of them. */
const TIMES = /^On(?:Active|Boot|Startup|UnitActive|UnitInactive)Sec$|^OnCalendar$/

/** @param texts  the file and its drop-ins, in order */
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

/** Removes comments, and joins lines that end with a backslash with the next line. */
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

/** A value, or the end of one, that systemd ignores with a warning. */
export class IgnoredValue extends Error {
  override readonly name = 'IgnoredValue'
}

/** The values that systemd accepts. systemd warns about other values and ignores them; here, they become notes. */
export function acceptedOf<Value>(
  unit: UnitFile,
  section: string,
  key: string,
  notes: string[],
  read: (text: string) => Value,
): Value[] {
  return valuesOf(unit, section, key).flatMap((text) => {
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

/** Reads a boolean as systemd does. @throws IgnoredValue */
export function flag(text: string): boolean {
  const isTrue = /^(?:1|yes|y|true|t|on)$/i.test(text)
  if (!isTrue && !/^(?:0|no|n|false|f|off)$/i.test(text)) throw new IgnoredValue(text)
  return isTrue
}

/**
 * Splits a line into words as systemd does: blanks, quotes, C escapes.
 *
 * @throws IgnoredValue for the part that cannot be split, after the words before it
 */
export function* wordsOf(text: string): Generator<string, void> {
  const pattern = /\s*((?:"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|\\.|[^\s"'\\])+)(?=\s|$)/suy
  let end = 0
  const rest = text.trimEnd()
  while (end < rest.length) {
    pattern.lastIndex = end
    const word = pattern.exec(rest)?.[1]
    if (word === undefined) throw new IgnoredValue(rest.slice(end).trimStart())
    yield word.replaceAll(
      /"((?:[^"\\]|\\.)*)"|'((?:[^'\\]|\\.)*)'|\\(x[\da-f]{2}|.)/gisu,
      (all: string, ...parts: (string | undefined)[]) => unescaped(parts[0] ?? parts[1] ?? all),
    )
    end = pattern.lastIndex
  }
}

/** Other escapes stay as they are, as in systemd. */
const ESCAPES: Readonly<Record<string, string>> = {
  '\\': '\\',
  '"': '"',
  "'": "'",
  ';': ';',
  n: '\n',
  t: '\t',
  r: '\r',
  s: ' ',
  a: '\u0007',
  b: '\b',
  f: '\f',
  v: '\v',
}

function unescaped(text: string): string {
  return text.replaceAll(/\\(x[\da-f]{2}|[\s\S])/giu, (all: string, code: string) =>
    /^x../i.test(code) ? String.fromCodePoint(Number.parseInt(code.slice(1), 16)) : (ESCAPES[code] ?? all),
  )
}
