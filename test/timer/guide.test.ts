import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import ts from 'typescript'
import { describe, expect, test } from 'vitest'
import * as builders from '../../src/timer/index.ts'
import { checkTimer, CronSyntaxError, timer } from '../../src/timer/index.ts'

const guide = readFileSync(new URL('../../docs/guides/timers.md', import.meta.url), 'utf8')
const NOON = '2026-03-27T12:00Z'

/** The fenced blocks of this kind: the rest of each opening line, and the rows `left → right`. */
function tables(kind: string): { info: string; rows: [left: string, right: string][] }[] {
  return blocks(kind).map(({ info, text }) => ({
    info,
    rows: text.split('\n').map((line) => {
      const [left, right, ...more] = line.split('→').map((part) => part.trim())
      if (left === undefined || right === undefined || more.length > 0) throw new Error(`not a row: ${line}`)
      return [left, right]
    }),
  }))
}

function blocks(kind: string): { info: string; text: string }[] {
  const found = guide.matchAll(new RegExp(`^\`\`\`${kind}( [^\\n]*)?\\n(.*?)\\n\`\`\`$`, 'gmsu'))
  return Array.from(found, ([, info = '', text = '']) => ({ info: info.trim(), text }))
}

describe('the guide on timers is right about', () => {
  const elapses = tables('elapses').flatMap(({ info, rows }) =>
    rows.map(([text, expected]) => [text, expected, info] as const),
  )
  test.each(elapses)('%s → %s [T6]', (text, expected, info) => {
    const [, created] = /^created (.+)$/.exec(info) ?? []
    const anchor = new Date(created ?? 0)
    let at: Date | null = new Date(created === undefined && info !== '' ? info : NOON)
    for (const instant of expected.split(' ')) {
      if (at === null) throw new Error("an instant follows 'never'")
      at = timer(text).elapses(anchor).next(at)
      expect(at).toEqual(instant === 'never' ? null : new Date(instant))
    }
  })

  test.each(tables('normal').flatMap(({ rows }) => rows))('%s, whose normal form is %s', (text, normal) => {
    expect(timer(text).text).toBe(normal)
  })

  test.each(tables('offers').flatMap(({ rows }) => rows))(
    'cron %s, which is rejected with the suggestion %s',
    (text, offer) => {
      const error = thrown(() => timer(`cron ${text}`))
      if (!(error instanceof CronSyntaxError)) throw error
      expect(error.hint).toBe(`write ${offer}`)
      expect(timer(offer).text).not.toBe('')
    },
  )

  test.each(tables('errors').flatMap(({ rows }) => rows))('%s: %s', (text, error) => {
    const checked = checkTimer(text)
    if (checked.valid) throw new Error('expected an invalid timer')
    const { column, token, hint } = checked.error
    expect(`column ${column}, ${token}: ${hint}`).toBe(error)
  })

  const called = blocks('ts').flatMap(({ text }) =>
    Array.from(
      text.matchAll(/^(\w+)\((.*)\) \/\/ (?:.*: )?'(.*)'$/gm),
      ([, name = '', args = '', result = '']) => [name, args, result],
    ),
  )
  test.each(called)('%s(%s), which returns %j [T6]', (name, args, result) => {
    const build: unknown = Reflect.get(builders, name)
    if (typeof build !== 'function') throw new Error(`${name} not found`)
    // These samples come from our own guide, and their types are checked below.
    // oxlint-disable-next-line typescript/no-implied-eval, typescript/no-unsafe-call, no-new-func
    expect(new Function('build', `return build(${args})`)(build)).toBe(result)
  })

  test('the results of checkTimer and timer in its samples', () => {
    expect(checkTimer('Mon..Fri 9:00', { zone: 'Europe/Berlin' })).toMatchObject({
      text: 'Mon..Fri *-*-* 09:00:00 Europe/Berlin',
      description: 'at 09:00, Monday to Friday (Europe/Berlin)',
    })
    const spring = checkTimer('2:30', { zone: 'Europe/Berlin', after: new Date(NOON) })
    const warning = spring.valid ? (spring.warnings[0] ?? 'none') : spring.error.message
    expect(guide.replaceAll('\n', ' ')).toContain(warning)
    const mornings = timer('Mon..Fri 9:00 Europe/Berlin')
    expect(mornings.next(new Date(NOON))?.toISOString()).toBe('2026-03-30T07:00:00.000Z')
    expect(mornings.previous(new Date(NOON))?.toISOString()).toBe('2026-03-27T08:00:00.000Z')
  })

  test('the types of its samples', () => {
    const root = fileURLToPath(new URL('../../', import.meta.url))
    const { options } = ts.parseJsonConfigFileContent(
      ts.readConfigFile(`${root}tsconfig.json`, ts.sys.readFile.bind(ts.sys)).config,
      ts.sys,
      root,
    )
    const samples = new Map(blocks('ts').map(({ text }, index) => [`${root}guide-sample-${index}.ts`, text]))
    expect(samples.size).toBeGreaterThan(2)
    const host = ts.createCompilerHost(options)
    const readFile = host.readFile.bind(host)
    const fileExists = host.fileExists.bind(host)
    host.readFile = (file) => samples.get(file) ?? readFile(file)
    host.fileExists = (file) => samples.has(file) || fileExists(file)
    const own = host.getSourceFile.bind(host)
    host.getSourceFile = (file, languageVersion, ...rest) => {
      const text = samples.get(file)
      return text === undefined
        ? own(file, languageVersion, ...rest)
        : ts.createSourceFile(file, text, languageVersion)
    }
    const program = ts.createProgram([...samples.keys()], { ...options, noEmit: true }, host)
    const problems = [...samples.keys()].flatMap((file) =>
      ts
        .getPreEmitDiagnostics(program, program.getSourceFile(file))
        .map(({ messageText }) => ts.flattenDiagnosticMessageText(messageText, '\n')),
    )
    expect(problems).toEqual([])
  })

  test('all its examples: every fenced block is of a kind that is checked', () => {
    expect(elapses.length).toBeGreaterThan(40)
    expect(called.length).toBe(9)
    for (const file of ['elapses', 'normal', 'offers', 'errors', 'ts'])
      expect(blocks(file).length).toBeGreaterThan(0)
    expect(guide.match(/^```\w/gm)?.length).toBe(
      ['elapses', 'normal', 'offers', 'errors', 'ts'].reduce((sum, kind) => sum + blocks(kind).length, 0),
    )
  })
})

function thrown(act: () => unknown): unknown {
  try {
    act()
  } catch (error) {
    return error
  }
  return undefined
}
