import { readFileSync } from 'node:fs'
import { describe, expect, test, vi } from 'vitest'
import calendarCommand from '../../src/cli/calendar.ts'
import { CommandError } from '../../src/cli/failure.ts'

/** One call of the real `systemd-analyze calendar` of systemd 252, with TZ set to the zone. */
interface Recording {
  readonly zone: string
  /** The time of the call, to the millisecond. */
  readonly now: string
  readonly args: readonly string[]
  readonly output: string
  readonly status: number
}

const recordings: readonly Recording[] = JSON.parse(
  readFileSync(new URL('calendar.recorded.json', import.meta.url), 'utf8'),
)

interface Outcome {
  readonly output: string
  readonly error: unknown
}

function run(args: readonly string[], now = '2026-11-21T07:30:00Z', localZone = 'UTC'): Outcome {
  vi.useFakeTimers({ now: new Date(now), toFake: ['Date'] })
  vi.stubEnv('TZ', localZone)
  let output = ''
  const stdout = vi.spyOn(process.stdout, 'write').mockImplementation((text) => {
    output += String(text)
    return true
  })
  const command = calendarCommand()
    .exitOverride()
    .configureOutput({ writeErr: () => undefined })
  try {
    command.parse(args, { from: 'user' })
    return { output, error: undefined }
  } catch (error) {
    return { output, error }
  } finally {
    stdout.mockRestore()
    vi.unstubAllEnvs()
    vi.useRealTimers()
  }
}

function refusal(...args: string[]): CommandError {
  const { error } = run(args)
  if (error instanceof CommandError) return error
  throw new Error('nothing was refused', { cause: error })
}

describe('the output is that of systemd-analyze, byte for byte: [T1]', () => {
  test.each(recordings)('TZ=$zone $args', ({ zone, now, args, output, status }) => {
    const outcome = run(['--zone', 'local', ...args], now, zone)
    expect(outcome.output).toBe(output)
    expect(outcome.error === undefined ? 0 : 1).toBe(status)
  })

  test('the example from the manual', () => {
    const args = ['Mon..Fri 9:00 Europe/Berlin', '--iterations', '5', '--base-time', '2026-03-27 00:00 UTC']
    const { output } = run(args)
    expect(output.replaceAll(/ {7}From now: .*\n/g, '')).toBe(
      `  Original form: Mon..Fri 9:00 Europe/Berlin
Normalized form: Mon..Fri *-*-* 09:00:00 Europe/Berlin
    Next elapse: Fri 2026-03-27 08:00:00 UTC
       Iter. #2: Mon 2026-03-30 07:00:00 UTC
       Iter. #3: Tue 2026-03-31 07:00:00 UTC
       Iter. #4: Wed 2026-04-01 07:00:00 UTC
       Iter. #5: Thu 2026-04-02 07:00:00 UTC
`,
    )
  })
})

test("an event without a zone is in UTC, as in a schedule, regardless of the process's time zone", () => {
  const args = ['9:00', '--base-time', '2026-03-27 00:00 UTC']
  expect(run(args, undefined, 'Europe/Berlin').output).toContain('Fri 2026-03-27 10:00:00 CET')
  expect(run([...args, '--zone', 'Asia/Tokyo']).output).toContain('Sat 2026-03-28 00:00:00 UTC')
})

describe('an invalid expression', () => {
  test('prints one message with a correction, and a caret below the mistake', () => {
    const { message, exitCode } = refusal('Mon..Fr 9:00')
    expect(message).toBe(
      `Not a calendar event: "Mon..Fr 9:00", column 6: a weekday is expected here; did you mean Fri?
  Mon..Fr 9:00
       ^^`,
    )
    expect(exitCode).toBe(1)
  })

  test('prints no caret if the text is long or contains control characters', () => {
    expect(refusal('Mon\t9:00').message).not.toContain('^')
    expect(refusal(`${'1,'.repeat(200)}x`).message).not.toContain('^')
  })

  test('does not suppress the output for other expressions', () => {
    const { output, error } = run(['dialy', 'daily', 'weakly'])
    expect(output).toContain('Normalized form: *-*-* 00:00:00\n')
    expect(String(error)).toMatch(/did you mean daily\?[^]*did you mean weekly\?/)
  })

  test('an expression that the shell has split is joined in the hint', () => {
    expect(refusal('Mon..Fri', '9:00', 'Europe/Berlin').message).toContain(
      "put the event in quotes: kalends calendar 'Mon..Fri 9:00 Europe/Berlin'",
    )
  })
})

describe('--base-time', () => {
  test.each([
    ['2026-03-27 00:00 UTC', '2026-03-27T00:00:00.000Z'],
    ['2026-03-27 00:00 utc', '2026-03-27T00:00:00.000Z'],
    ['2026-03-27 00:00:00', '2026-03-26T23:00:00.000Z'],
    ['2026-03-27', '2026-03-26T23:00:00.000Z'],
    ['2026-03-27 00:00 America/New_York', '2026-03-27T04:00:00.000Z'],
    ['2026-03-27T00:00:00Z', '2026-03-27T00:00:00.000Z'],
    ['2026-03-27T00:00:00.250Z', '2026-03-27T00:00:00.250Z'],
    ['2026-03-27T00:00:00+02:00', '2026-03-26T22:00:00.000Z'],
    ['2026-03-27T00:00-0330', '2026-03-27T03:30:00.000Z'],
    ['2026-03-27T00:00', '2026-03-26T23:00:00.000Z'],
    ['Fri 2026-03-27', '2026-03-26T23:00:00.000Z'],
    ['@1774598400', '2026-03-27T08:00:00.000Z'],
    ['now', '2026-11-21T07:30:00.000Z'],
    ['today', '2026-11-20T23:00:00.000Z'],
    ['10:00', '2026-11-21T09:00:00.000Z'],
    ['1h 30min ago', '2026-11-21T06:00:00.000Z'],
    ['+1d', '2026-11-22T07:30:00.000Z'],
  ])('%s is %s', (text, base) => {
    const { output, error } = run(['daily', '--json', `--base-time=${text}`], undefined, 'Europe/Berlin')
    expect(error).toBeUndefined()
    expect(JSON.parse(output)).toMatchObject({ base })
  })

  test.each([
    '',
    'soon',
    '27.3.2026',
    '2026-02-30',
    'Sat 2026-03-27',
    '24:00',
    '2026-03-27 00:00 Mars',
    '*-*-*',
    '+soon',
  ])('%j is rejected, with examples', (text) => {
    expect(refusal('daily', `--base-time=${text}`).message).toContain(
      `--base-time': ${JSON.stringify(text)} is not a time`,
    )
  })
})

describe('--json', () => {
  test('prints one object per line', () => {
    const { output } = run([
      '9:00 Europe/Berlin',
      '2020-1-1',
      '--json',
      '--iterations',
      '2',
      '--base-time',
      '2026-03-28 12:00',
    ])
    expect(
      output
        .trimEnd()
        .split('\n')
        .map((line): unknown => JSON.parse(line)),
    ).toEqual([
      {
        expression: '9:00 Europe/Berlin',
        normalized: '*-*-* 09:00:00 Europe/Berlin',
        zone: 'Europe/Berlin',
        base: '2026-03-28T12:00:00.000Z',
        elapses: ['2026-03-29T07:00:00.000Z', '2026-03-30T07:00:00.000Z'],
      },
      {
        expression: '2020-1-1',
        normalized: '2020-01-01 00:00:00',
        zone: 'UTC',
        base: '2026-03-28T12:00:00.000Z',
        elapses: [],
      },
    ])
  })
})

test.each([['--iterations=-1'], ['--iterations=x'], ['--iterations=1.5']])(
  '%s is a usage error',
  (option) => {
    expect(run(['daily', option]).error).toMatchObject({ code: 'commander.invalidArgument' })
  },
)

test('an unknown zone is rejected, and the error names it', () => {
  expect(refusal('daily', '--zone', 'europe/berlin').message).toContain(
    '"europe/berlin" is not an IANA time zone',
  )
})
