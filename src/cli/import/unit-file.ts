/** Reads unit files, as systemd.syntax(7) describes them. */
import { Refusal } from './candidate.ts'

/** The values of each key by section, in order; an empty value clears those before it. */
export type UnitFile = ReadonlyMap<string, ReadonlyMap<string, readonly string[]>>

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
        keys.set(key, value === '' ? [] : [...(keys.get(key) ?? []), value])
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

/** Reads a boolean like systemd; other values are false. */
export function flagOf(unit: UnitFile, section: string, key: string): boolean {
  return /^(?:1|yes|y|true|t|on)$/i.test(lastOf(unit, section, key) ?? '')
}

/** Splits a line into words as systemd does: blanks, quotes, C escapes. @throws Refusal */
export function wordsOf(text: string): string[] {
  const words: string[] = []
  const pattern = /\s*((?:"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|\\.|[^\s"'\\])+)/suy
  let end = 0
  const rest = text.trimEnd()
  while (end < rest.length) {
    pattern.lastIndex = end
    const word = pattern.exec(rest)?.[1]
    if (word === undefined) throw new Refusal(`the quotes in ${JSON.stringify(text)} do not end`)
    words.push(
      word.replaceAll(
        /"((?:[^"\\]|\\.)*)"|'((?:[^'\\]|\\.)*)'|\\(x[\da-f]{2}|.)/gisu,
        (all: string, ...parts: (string | undefined)[]) => unescaped(parts[0] ?? parts[1] ?? all),
      ),
    )
    end = pattern.lastIndex
  }
  return words
}

const ESCAPES: Readonly<Record<string, string>> = {
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
  return text.replaceAll(/\\(x[\da-f]{2}|[\s\S])/giu, (_, code: string) =>
    /^x../i.test(code) ? String.fromCodePoint(Number.parseInt(code.slice(1), 16)) : (ESCAPES[code] ?? code),
  )
}
