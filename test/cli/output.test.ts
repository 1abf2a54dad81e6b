/** Text from rows, files and drivers never controls the terminal. */
import { describe, expect, test } from 'vitest'
import { CommandError, report } from '../../src/cli/failure.ts'
import { commandLog } from '../../src/cli/log.ts'
import { harmlessJson, harmlessLines, harmlessText } from '../../src/cli/output.ts'
import { databases } from '../support/databases.ts'
import { scene } from '../kalends/scene.ts'
import { runHere } from './here.ts'
import { type Ended, temporaryFolder } from './program.ts'

/** Text that clears the screen with C0 and C1 characters, reorders text, begins a line, and hides characters. */
const HOSTILE =
  'a\u001b[2J\u009b2J\u0007\u007f\u2028\u2029\u061c\u200e\u200f\u202a\u202e\u2066\u2069\r\tz\u200b\ufeff\u2060\u00adz\u200d\u200c\ufe0f\u{e0041}'
const ACTIVE =
  // oxlint-disable-next-line no-control-regex, no-misleading-character-class -- the test searches for them
  /[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u00ad\u2028\u2029\u061c\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufe0f\ufeff\u{e0041}]/u

describe('error lines', () => {
  const reported = (error: unknown, verbose = false) => {
    let written = ''
    report(error, verbose, (text) => {
      written += text
    })
    return written
  }

  test('escape control and bidi characters', () => {
    for (const verbose of [false, true]) {
      const text = reported(new CommandError(`no schedule '${HOSTILE}'`), verbose)
      expect(text).not.toMatch(ACTIVE)
      expect(text).toContain('a\\x1b[2J\\x9b2J\\x07\\x7f\\u2028')
      expect(text).toContain('\\u61c\\u200e\\u200f\\u202a\\u202e\\u2066\\u2069\\x0d\\tz')
      expect(text).toContain(String.raw`z\u200b\ufeff\u2060\xadz\u200d\u200c\ufe0f\u{e0041}`)
    }
  })

  test('never make a name with a line break look like another message', () => {
    expect(reported(new CommandError("no schedule 'a\nerror: the database is gone'"))).toBe(
      "error: no schedule 'a\n  error: the database is gone'\n",
    )
  })

  test('keep the lines of a stack with --verbose', () => {
    const text = reported(new Error('outer', { cause: new Error('inner') }), true)
    expect(text).toMatch(/^error: Error: outer\n {4}at .*\n[^]*\n {2}Caused by: Error: inner\n {4}at /)
  })
})

describe('JSON', () => {
  test('is escaped and still parses to the same value', () => {
    const value = { [HOSTILE]: [HOSTILE, 'plain', 'ünï 漢字 😀'] }
    const json = harmlessJson(JSON.stringify(value))
    expect(json).not.toMatch(ACTIVE)
    expect(json).toContain('ünï 漢字 😀')
    expect(JSON.parse(json)).toEqual(value)
  })

  test('is also escaped in the log, with one event per line', () => {
    for (const json of [true, false]) {
      let written = ''
      const log = commandLog({ json, level: 'info' }, (text) => {
        written += text
      })
      log.info({ id: HOSTILE }, 'Submitted')
      expect(written).toMatch(/^[^\n]+\n$/)
      expect(written).not.toMatch(ACTIVE)
      if (json) expect(JSON.parse(written)).toMatchObject({ id: HOSTILE })
    }
  })
})

test('the log has the level, the fields that are set, and the error', () => {
  const written = (json: boolean) => {
    let text = ''
    const log = commandLog({ json, level: 'warn' }, (line) => {
      text += line
    })
    log.info({}, 'not written')
    const cause = Object.assign(new Error('no'), { code: 'E_NO' })
    log.warn(
      { slot: new Date(0), task: 'mail', tasks: ['a'], gone: null, absent: undefined, err: cause },
      'Failed',
    )
    return text
  }
  expect(written(false)).toMatch(
    /^\d{4}-\S+Z WARN {2}Failed slot=1970-01-01T00:00:00\.000Z task=mail tasks=\["a"\]: no\n$/,
  )
  expect(JSON.parse(written(true))).toEqual({
    time: expect.stringMatching(/^\d{4}-\S+Z$/),
    level: 'warn',
    msg: 'Failed',
    slot: '1970-01-01T00:00:00.000Z',
    task: 'mail',
    tasks: ['a'],
    gone: null,
    err: { code: 'E_NO', message: 'no', stack: expect.stringMatching(/^Error: no\n/) },
  })
})

test('joiners are kept in emoji and in scripts that need them, and escaped elsewhere', () => {
  for (const text of ['👩🏽\u200d🚀', '❤\ufe0f\u200d🔥', '⚠\ufe0f', 'می\u200cخواهم', 'क्\u200dष']) {
    expect(harmlessText(text)).toBe(text)
    expect(harmlessJson(JSON.stringify(text))).toBe(JSON.stringify(text))
  }
  expect(harmlessText('admin\u200d \u200cadm\ufe0fin 1\ufe0f')).toBe(
    String.raw`admin\u200d \u200cadm\ufe0fin 1\ufe0f`,
  )
  expect(harmlessText('⚠\u200b می\ufeff')).toBe(String.raw`⚠\u200b می\ufeff`)
})

test('plain text is unchanged, and the line breaks of a message are kept', () => {
  expect(harmlessText('ünï 漢字 😀')).toBe('ünï 漢字 😀')
  expect(harmlessLines('one\n  two\n\nthree')).toBe('one\n  two\n\n  three')
})

describe.each(databases)('$kind', (under) => {
  test('a command prints a hostile row without affecting the terminal', async () => {
    const { database, open } = await scene(under)
    await open()
    const id = `${HOSTILE}\nerror: forged`
    await database.query(
      "INSERT INTO periodic_task (id, enabled, task, timer, summary, args) VALUES (?, 0, 'mail', 'daily', ?, ?)",
      [id, HOSTILE, JSON.stringify({ x: HOSTILE })],
    )
    const cwd = await temporaryFolder()
    const cli = (...args: string[]): Promise<Ended> => runHere([...args, '--database', database.url], { cwd })
    const list = await cli('schedules', 'list', '--json')
    expect(list.stdout).not.toMatch(ACTIVE)
    expect(JSON.parse(list.stdout)).toMatchObject({ id, summary: HOSTILE, args: { x: HOSTILE } })
    // The schedule is already paused, so the message names it.
    for (const ids of [[id], [id, 'none']]) {
      const { code, stderr } = await cli('schedules', 'pause', ...ids)
      expect(code).toBe(4)
      expect(stderr).toMatch(/^error: /)
      expect(stderr).not.toMatch(ACTIVE)
      expect(stderr).not.toMatch(/^error: forged/m)
    }
    const unknown = await cli('schedules', HOSTILE)
    expect(unknown.stderr).not.toMatch(ACTIVE)
  })
})
