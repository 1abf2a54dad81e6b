import { readFileSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Cron } from 'croner'
import { describe, expect, test } from 'vitest'
import { type Candidate } from '../../src/cli/import/candidate.ts'
import { readCrontab } from '../../src/cli/import/crontab-file.ts'
import { timer } from '../../src/timer/index.ts'
import { runHere } from './here.ts'
import { root, run, temporaryFolder } from './program.ts'

const CLI = 'dist/cli/main.js'
const fixtures = join(root, 'test/cli/fixtures')
const crontab = readFileSync(join(fixtures, 'crontab'), 'utf8')

function one(text: string, options: { system?: boolean | undefined; zone?: string } = {}): Candidate {
  const [only, ...others] = readCrontab(text, { system: false, zone: 'UTC', ...options })
  if (only === undefined || others.length > 0) throw new Error('not one entry')
  return only
}

function elapses(text: string, after: Date, count: number): (Date | null)[] {
  const found: (Date | null)[] = []
  for (let at: Date | null = after; found.length < count && at !== null; ) {
    at = timer(text).next(at)
    found.push(at)
  }
  return found
}

describe('files that only look like crontabs', () => {
  test.each([
    '1\t5\tcron.daily\tnice run-parts /etc/cron.daily',
    'RANDOM_DELAY=45\n@monthly 45 cron.monthly nice run-parts --report /etc/cron.monthly',
    'START_HOURS_RANGE=3-22\n7 25 weekly-backup /usr/local/bin/backup',
  ])('an anacrontab is refused with the line and what to do: %j', (text) => {
    for (const system of [undefined, true, false])
      expect(() => readCrontab(text, { system, zone: 'UTC' })).toThrow(
        /^line \d: this is an anacrontab, .*: create a schedule for each line, such as `kalends schedules add/,
      )
  })

  test.each([
    ['0 3 * * * -n -q /usr/bin/backup --all', false, '/usr/bin/backup --all', 'allow', '', 1],
    ['0 3 * * * -s sync-mail', false, 'sync-mail', 'skip', '', 0],
    ['0 3 * * * root -n sync-mail', undefined, 'sync-mail', 'allow', 'root', 1],
    ['@daily -ns sync-mail', false, 'sync-mail', 'skip', '', 1],
    ['0 3 * * * root -sq sync-mail -q', true, 'sync-mail -q', 'skip', 'root', 1],
  ])(
    'the flags of OpenBSD and FreeBSD are no part of the command: %s',
    (line, system, shell, overlap, user, notes) => {
      const candidate = one(line, { system })
      expect(candidate.schedule).toMatchObject({ overlap, args: { shell, ...(user !== '' && { user }) } })
      expect(candidate.notes).toHaveLength(notes)
    },
  )

  test('one line with fields in the wrong order does not refuse the whole file', () => {
    const read = readCrontab('0 3 Mon * * backup --all\n0 5 backup --all\n@daily ok', {
      system: false,
      zone: 'UTC',
    })
    expect(read.map(({ schedule }) => schedule !== null)).toEqual([false, false, true])
  })

  test.each([
    ['0 3 * * * -x backup', "'-x' is neither a command nor one of the flags -n, -q and -s"],
    ['0 3 * * * -n', 'has the flag -n, but no command'],
  ])('a line without a command after its flags is refused: %s', (line, note) => {
    expect(one(line)).toMatchObject({ schedule: null, notes: [note] })
  })
})

describe('a crontab', () => {
  const entries = readCrontab(crontab, { system: false, zone: 'Europe/Berlin' })
  const schedules = entries.filter(({ schedule }) => schedule !== null)

  test('each line that can be imported becomes a schedule', () => {
    expect(schedules).toHaveLength(20)
    expect(entries.filter(({ schedule }) => schedule === null).map(({ notes }) => notes.join())).toEqual([
      expect.stringContaining('start it with the machine'),
      expect.stringContaining('61'),
    ])
  })

  // The times are in winter, because croner treats clock changes differently. No schedule sets both day fields,
  // because croner combines them differently if one begins with a star.
  test.each(schedules)('$original elapses at the times of a cron library', ({ original, schedule }) => {
    const [expression = ''] = /^(?:@\w+|(?:\S+\s+){4}\S+)/.exec(original) ?? []
    const zone =
      original.includes('market') || original.includes('statistics') || original.includes('tar')
        ? 'America/New_York'
        : 'Europe/Berlin'
    const reference = new Cron(expression, { timezone: zone })
    const after = new Date('2026-11-21T00:00:30Z')
    const expected: (Date | null)[] = []
    for (let at: Date | null = after; expected.length < 15 && at !== null; ) {
      at = reference.nextRun(at)
      expected.push(at)
    }
    expect(elapses(schedule?.timer ?? '', after, 15)).toEqual(expected)
  })

  test('names, steps, macros, zones, input and a random delay are imported', () => {
    const byName = new Map(schedules.map((entry) => [entry.original.split('/').at(-1), entry]))
    expect(byName.get('open-market')?.schedule?.timer).toBe('Mon..Fri *-*-* 09:30:00 America/New_York')
    expect(byName.get('statistics')?.schedule?.jitter).toBe(30 * 60_000)
    expect(schedules.find(({ original }) => original.includes('mail -s'))?.schedule?.args).toEqual({
      shell: `mail -s "It's 10pm" joe`,
      shellPath: '/bin/bash',
      env: { PATH: '/usr/local/sbin:/usr/local/bin:/sbin:/bin:/usr/sbin:/usr/bin' },
      stdin: 'Joe,\n\nWhere are your kids?\n\n',
    })
    expect(schedules.map(({ name }) => name).slice(0, 8)).toEqual([
      'cron.hourly',
      'cron.daily',
      'cron.weekly',
      'cron.monthly',
      'poll-mail',
      'report',
      'e2scrub_all',
      'invoice',
    ])
    expect(schedules[0]?.schedule?.summary).toBe('Hourly housekeeping')
    expect(schedules[0]?.notes.join()).toContain('MAILTO=ops@example.org: no mail is sent')
  })

  test('each line of a system crontab names the user', () => {
    expect(one('0 3 * * * www-data /srv/app/cleanup -v', { system: true }).schedule?.args).toEqual({
      shell: '/srv/app/cleanup -v',
      user: 'www-data',
    })
    expect(one('@daily root run', { system: true }).schedule?.args).toEqual({ shell: 'run', user: 'root' })
    expect(one('0 3 * * * alone', { system: true }).schedule).toBeNull()
  })

  test.each([
    ['* * * *', 'five fields and a command'],
    ['@daily', 'a time and a command'],
    ['0 0 30 2 * x', 'never'],
    ['CRON_TZ=Mars/Olympus\n0 0 * * * x', 'Mars/Olympus'],
    ['RANDOM_DELAY=often\n0 0 * * * x', 'often'],
  ])('%j is rejected', (text, why) => {
    const { schedule, notes } = one(text)
    expect(schedule).toBeNull()
    expect(notes.join()).toContain(why)
  })

  test.each([
    ['0/5 * * * *', '0-59/5 * * * *', '*-*-* *:00/5:00'],
    ['0 1/1 * * *', '0 1-23/1 * * *', '*-*-* 01..23:00:00'],
    ['0 1,15/2 * * *', '0 1,15-23/2 * * *', '*-*-* 01,15/2:00:00'],
    ['0 8/2 * * mon-fri', '0 8-23/2 * * mon-fri', 'Mon..Fri *-*-* 08/2:00:00'],
    ['0 0 1/10 2/3 *', '0 0 1-31/10 2-12/3 *', '*-02/3-01/10 00:00:00'],
    ['0 0 * * mon/2', '0 0 * * mon-6/2', 'Mon,Wed,Fri *-*-* 00:00:00'],
    ['0 0 * * 7/2', '0 0 * * 0-6/2', 'Tue,Thu,Sat,Sun *-*-* 00:00:00'],
    ['0 0 * * 7/1', '0 0 * * 0-6/1', '*-*-* 00:00:00'],
  ])(
    '%s, which daemons reject, is imported with a note that explains how it was read [C3]',
    (time, range, event) => {
      const { schedule, notes } = one(`${time} x`)
      expect(schedule?.timer).toBe(event)
      expect(notes).toEqual([expect.stringMatching(/^Debian's cron and cronie reject '.*': read as '/)])
      expect(notes[0]).toContain(`read as '${range}'`)
    },
  )

  test.each(['*/5 * * * *', '0 8-18/2 * * *', '0 0 1-31/10 * 1-5', '@daily'])('%s has no note', (time) => {
    expect(one(`${time} x`).notes).toEqual([])
  })

  test.each(['99/2 * * * *', '0 24/2 * * *', '0 0 * * 8/2', '0 0 13/2 13/2 *'])(
    '%s is rejected, because its start is outside the range of the field',
    (time) => expect(one(`${time} x`).schedule).toBeNull(),
  )

  const read = (text: string, system?: boolean) =>
    readCrontab(text, { system, zone: 'UTC' }).map(({ schedule }) => [
      schedule?.args.user,
      schedule?.args.shell,
    ])

  test.each([
    [
      'root in one line',
      '@daily root /bin/a\n@daily deploy run b',
      [
        ['root', '/bin/a'],
        ['deploy', 'run b'],
      ],
    ],
    ['users of this machine', '@daily daemon /bin/a', [['daemon', '/bin/a']]],
    ['no user of this machine', '@daily php /srv/a.php', [[undefined, 'php /srv/a.php']]],
    [
      'a path',
      '@daily /bin/a b\n@daily mail joe',
      [
        [undefined, '/bin/a b'],
        [undefined, 'mail joe'],
      ],
    ],
    ['an option after the word', '@daily mail -s Hello joe', [[undefined, 'mail -s Hello joe']]],
    ['nothing after the word', '@daily sync', [[undefined, 'sync']]],
    ['shell syntax', '@daily [ -x /bin/a ] && /bin/a', [[undefined, '[ -x /bin/a ] && /bin/a']]],
  ])('whether lines name a user is detected from the word after the time: %s', (_what, text, found) => {
    expect(read(text)).toEqual(found)
  })

  test('--system and --no-system override the detection of the user column', () => {
    expect(read('@daily php /srv/a.php', true)).toEqual([['php', '/srv/a.php']])
    expect(read('@daily daemon /bin/a', false)).toEqual([[undefined, 'daemon /bin/a']])
    expect(read('@daily root /bin/a\n@daily /bin/b', false)).toEqual([
      [undefined, 'root /bin/a'],
      [undefined, '/bin/b'],
    ])
  })

  test.each([
    [
      '@daily root /bin/a\n@daily /bin/b c',
      true,
      "line 2: '/bin/b' is not a valid user name, but with --system",
    ],
    [
      '@daily root /bin/a\n@daily /bin/b c',
      undefined,
      'but line 1 names root: add the user, or choose --no-system',
    ],
    ['@daily /bin/b c', true, 'leave --system out'],
    [
      '@daily no-such /srv/x\n@daily daemon /bin/x',
      undefined,
      "'daemon' is a user of this machine, but 'no-such' is not: choose --system or --no-system",
    ],
  ])('a contradiction about the user column is an error: %j', (text, system, message) => {
    expect(() => read(text, system)).toThrow(message)
  })

  test.each([
    ['@daily daemon run', undefined, [expect.stringContaining("'daemon' is read as the user")]],
    ['@daily daemon run', undefined, [expect.stringContaining('--no-system')]],
    ['@daily daemon run', true, []],
    ['@daily daemon run', false, []],
    ['@daily root run', undefined, []],
  ])('only an assumed user column gets a note that names the option: %j, %j', (text, system, notes) => {
    expect(one(text, { system }).notes).toEqual(notes)
  })

  test.each([
    ['a', 1000, 1000],
    ['\u{1f600}', 600, 1000],
    // Four emoji of two UTF-16 code units each, and three joiners: 11 code units.
    ['👨‍👩‍👧‍👦', 200, 990],
    ['e\u0301', 600, 1000],
    ['xxxxx\u{1f600}', 200, 999],
  ])('a summary of %s is never cut inside a character', (character, count, length) => {
    const summary = one(`# ${character.repeat(count)}\n@daily x`).schedule?.summary ?? ''
    expect(summary).toHaveLength(length)
    expect(character.repeat(count).startsWith(summary)).toBe(true)
    expect(summary.isWellFormed()).toBe(true)
  })

  test('an assignment applies to later lines, and its quotes are removed', () => {
    const [first, second] = readCrontab('0 1 * * * a\n X = " y z "\n0 2 * * * b', {
      system: false,
      zone: 'UTC',
    })
    expect(first?.schedule?.args).toEqual({ shell: 'a' })
    expect(second?.schedule?.args).toEqual({ shell: 'b', env: { X: ' y z ' } })
  })
})

test('a dry run needs no database, and a crontab can be piped in', async () => {
  const cwd = await temporaryFolder()
  const { code, stdout, stderr } = await run(CLI, ['import', 'crontab', '-', '--dry-run'], {
    cwd,
    stdin: '@daily /bin/x\n',
  })
  expect(stdout).toMatch(/line 1: @daily[^]*cron\.x \(would be created\)/)
  expect(stderr).toContain('1 would be created')
  expect(code).toBe(0)
})

test.each([
  ['no file', ['crontab', 'nowhere', '--dry-run'], 2],
  ['nothing in the file', ['crontab', 'empty', '--dry-run'], 2],
])('an import fails if there is %s: %j exits with code %i', async (_what, args, code) => {
  const cwd = await temporaryFolder()
  await writeFile(join(cwd, 'empty'), '# nothing\n')
  expect(await runHere(['import', ...args], { cwd })).toMatchObject({ code, stdout: '' })
})
