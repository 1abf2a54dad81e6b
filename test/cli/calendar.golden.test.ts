/** 300 random expressions with the output of the real `systemd-analyze calendar` of systemd 252. */
import { readFileSync } from 'node:fs'
import { expect, test, vi } from 'vitest'
import calendarCommand from '../../src/cli/calendar.ts'
import { runHere } from './here.ts'
import { temporaryFolder } from './program.ts'

interface Answer {
  readonly expr: string
  readonly base: string
  readonly tz: string
  readonly status: number
  /** Without the lines that show the time from now. */
  readonly output: string
}

const answers = readFileSync(new URL('fixtures/calendar.golden.jsonl', import.meta.url), 'utf8')
  .trimEnd()
  .split('\n')
  .map((line): Answer => {
    const answer: Answer = JSON.parse(line)
    return answer
  })

const NOW_LINES = /^ +From now: .*\n/gm

test.each(answers)('$expr after $base in $tz', ({ expr, base, tz, status, output }) => {
  vi.stubEnv('TZ', tz)
  let printed = ''
  const stdout = vi.spyOn(process.stdout, 'write').mockImplementation((text) => {
    printed += String(text)
    return true
  })
  const command = calendarCommand().exitOverride()
  let failed = false
  try {
    command.parse(['--zone', 'local', '--iterations', '3', '--base-time', base, '--', expr], { from: 'user' })
  } catch {
    failed = true
  }
  stdout.mockRestore()
  vi.unstubAllEnvs()
  expect({ printed: printed.replaceAll(NOW_LINES, ''), failed }).toEqual({
    printed: output,
    failed: status !== 0,
  })
})

test('the command prints the same output, in the zone of its environment', async () => {
  const cwd = await temporaryFolder()
  for (const { expr, base, tz, status, output } of answers.filter((_, index) => index % 60 === 7)) {
    const args = ['calendar', '--zone', 'local', '--iterations', '3', '--base-time', base, '--', expr]
    const { code, stdout } = await runHere(args, { cwd, env: { TZ: tz } })
    expect({ code, stdout: stdout.replaceAll(NOW_LINES, '') }).toEqual({ code: status, stdout: output })
  }
})
