import { readFileSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Cron } from 'croner'
import { describe, expect, test } from 'vitest'
import { type Candidate } from '../../src/cli/import/candidate.ts'
import { readCrontab } from '../../src/cli/import/crontab-file.ts'
import { serviceCommand } from '../../src/cli/import/service.ts'
import { readTimers } from '../../src/cli/import/systemd-timers.ts'
import { readUnit, wordsOf } from '../../src/cli/import/unit-file.ts'
import { timer } from '../../src/timer/index.ts'
import { eachDatabase } from '../support/databases.ts'
import { runHere } from './here.ts'
import { root, run, temporaryFolder } from './program.ts'

const CLI = 'dist/cli/main.js'
const fixtures = join(root, 'test/cli/fixtures')
const crontab = readFileSync(join(fixtures, 'crontab'), 'utf8')

function one(text: string, options: { system?: boolean; zone?: string } = {}): Candidate {
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

function service(text: string) {
  return serviceCommand('x.service', readUnit([`[Service]\nType=oneshot\n${text}`]))
}

interface Line {
  readonly [key: string]: unknown
}

function jsonLines(text: string): Line[] {
  return text
    .trim()
    .split('\n')
    .map((line): Line => JSON.parse(line))
}

describe('a crontab', () => {
  const entries = readCrontab(crontab, { system: false, zone: 'Europe/Berlin' })
  const schedules = entries.filter(({ schedule }) => schedule !== null)

  test('each line becomes a schedule, except those that cannot', () => {
    expect(schedules).toHaveLength(20)
    expect(entries.filter(({ schedule }) => schedule === null).map(({ notes }) => notes.join())).toEqual([
      expect.stringContaining('start it with the machine'),
      expect.stringContaining('61'),
    ])
  })

  // In winter, and without the days of either field, which croner takes for both where a star begins one.
  test.each(schedules)('$original: elapses when a cron library says', ({ original, schedule }) => {
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

  test('names, steps, macros, zones, input, a random delay', () => {
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

  test('the user is read from a system crontab', () => {
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

  test('an assignment applies to the lines after it, without its quotes', () => {
    const [first, second] = readCrontab('0 1 * * * a\n X = " y z "\n0 2 * * * b', {
      system: false,
      zone: 'UTC',
    })
    expect(first?.schedule?.args).toEqual({ shell: 'a' })
    expect(second?.schedule?.args).toEqual({ shell: 'b', env: { X: ' y z ' } })
  })
})

describe('systemd units', () => {
  test.each([
    [String.raw`/bin/a "b c" 'd "e"' f\x20g h\ti`, ['/bin/a', 'b c', 'd "e"', 'f g', 'h\ti']],
    [String.raw`"quoted \"inside\"" x''y`, ['quoted "inside"', 'xy']],
    ['', []],
  ])('%s is split as systemd does', (text, words) => {
    expect(wordsOf(text)).toEqual(words)
  })

  test('continued lines, comments, drop-ins that clear and add', () => {
    const unit = readUnit([
      '# a comment\n[Timer]\nOnCalendar=daily\nOnCalendar=hourly\nRandomizedDelaySec=1\\\n  min\n',
      '[Timer]\nOnCalendar=\nOnCalendar=weekly\n',
    ])
    expect(unit.get('Timer')?.get('OnCalendar')).toEqual(['weekly'])
    expect(unit.get('Timer')?.get('RandomizedDelaySec')).toEqual(['1   min'])
  })

  test.each([
    ['ExecStart=/bin/a %p "b c"', { argv: ['/bin/a', 'x', 'b c'] }],
    [
      'Environment="A=1 2" B=3\nExecStart=/bin/a $A ${A} $$HOME',
      { argv: ['/bin/a', '1', '2', '1 2', '$HOME'] },
    ],
    ['ExecStart=-/bin/a', { shell: '{ /bin/a || true; }' }],
    ['ExecStart=/bin/a\nExecStart=/bin/b c', { shell: '/bin/a && /bin/b c' }],
    ['ExecStartPre=/bin/p\nExecStart=/bin/a\nExecStartPost=/bin/z', { shell: '/bin/p && /bin/a && /bin/z' }],
    [
      'EnvironmentFile=-/etc/default/x\nExecStart=/bin/a $OPTIONS',
      { shell: 'set -a && { [ ! -r /etc/default/x ] || . /etc/default/x; } && set +a && /bin/a $OPTIONS' },
    ],
    [
      'User=man\nExecStartPre=+/bin/p\nExecStart=/bin/a',
      { shell: '/bin/p && runuser -u man -- /bin/a', user: 'root' },
    ],
  ])('%j', (text, args) => {
    expect(service(text).args).toMatchObject(args)
  })

  test.each([
    ['ExecStart=/bin/a %u', 'only systemd knows'],
    ['ExecStart=/bin/a "b', 'do not end'],
    ['User=x', 'no ExecStart='],
  ])('%j is rejected: %s', (text, why) => {
    expect(() => service(text)).toThrow(why)
  })

  test('a service that restarts by itself is rejected', () => {
    expect(() =>
      serviceCommand('x.service', readUnit(['[Service]\nType=forking\nExecStart=/bin/a'])),
    ).toThrow('forking')
  })

  test('a timer relative to the last start or end becomes every …, several become several schedules', () => {
    const units = new Map([
      ['a.timer', readUnit(['[Timer]\nOnUnitInactiveSec=5min\n'])],
      ['a.service', readUnit(['[Service]\nType=oneshot\nExecStart=/bin/a\n'])],
      [
        'b.timer',
        readUnit([
          '[Timer]\nOnCalendar=Mon 9:00\nOnCalendar=daily Asia/Tokyo\nUnit=a.service\nPersistent=yes\n',
        ]),
      ],
      ['c.timer', readUnit(['[Timer]\nOnBootSec=1min\nUnit=a.service\n'])],
      ['d.timer', readUnit(['[Timer]\nOnCalendar=daily\n'])],
    ])
    const found = readTimers(units, 'Europe/Berlin').map(({ name, schedule, notes }) => ({
      name,
      timer: schedule?.timer,
      catchUp: schedule?.catchUp,
      notes: notes.join(),
    }))
    expect(found).toMatchObject([
      { name: 'a', timer: 'every 5min after finish', catchUp: 0 },
      { name: 'b', timer: 'Mon *-*-* 09:00:00 Europe/Berlin', catchUp: 1 },
      { name: 'b', timer: '*-*-* 00:00:00 Asia/Tokyo' },
      { name: 'c', timer: undefined, notes: expect.stringContaining('OnBootSec') },
      { name: 'd', timer: undefined, notes: expect.stringContaining('no d.service') },
    ])
  })
})

describe("the timers of Debian's packages", () => {
  interface Recorded {
    readonly timer: string
    readonly event: string
    readonly zone: string
    readonly after: string
    readonly next: readonly string[]
  }
  const recorded = readFileSync(join(fixtures, 'systemd.recorded.jsonl'), 'utf8')
    .trim()
    .split('\n')
    .map((line): Recorded => {
      const answer: Recorded = JSON.parse(line)
      return answer
    })

  test('elapse when systemd-analyze says, in the zone of the machine', async () => {
    const cwd = await temporaryFolder()
    for (const zone of ['UTC', 'Europe/Berlin']) {
      const args = ['import', 'systemd', join(fixtures, 'systemd'), '--dry-run', '--json', '--zone', zone]
      const { code, stdout } = await runHere(args, { cwd })
      const found = jsonLines(stdout)
      expect(code).toBe(1)
      expect(found.filter(({ result }) => result === 'refused').map(({ source }) => source)).toEqual([
        'mdadm-last-resort@.timer',
      ])
      for (const { timer: unit, event, after, next } of recorded.filter((answer) => answer.zone === zone)) {
        const entry = found.find(
          ({ source, original }) => source === unit && original === `OnCalendar=${event}`,
        )
        expect(elapses(String(entry?.['timer']), new Date(after), next.length), `${unit} ${zone}`).toEqual(
          next.map((at) => new Date(at)),
        )
      }
    }
    expect(recorded).toHaveLength(34)
  })
})

eachDatabase(({ fresh }) => {
  test('a second import of a crontab updates what has changed in it, and leaves other schedules alone', async () => {
    const cwd = await temporaryFolder()
    const database = await fresh()
    const env = { KALENDS_DATABASE: database.url }
    const cli = (...args: string[]) => runHere(args, { cwd, env })
    await writeFile(join(cwd, 'tab'), '0 3 * * * /bin/backup\n@daily /bin/report\n@hourly /bin/mine\n')
    await cli('migrate')
    await cli('schedules', 'add', 'cron.mine', '--task', 'other', '--timer', 'daily')
    const first = await cli('import', 'crontab', 'tab', '--zone', 'Europe/Berlin', '--json')
    expect(jsonLines(first.stdout).map(({ id, result }) => [id, result])).toEqual([
      ['cron.backup', 'created'],
      ['cron.report', 'created'],
      ['cron.mine', 'refused'],
    ])
    expect(first.code).toBe(1)
    await writeFile(join(cwd, 'tab'), '0 4 * * * /bin/backup\n@daily /bin/report\n')
    const second = await cli('import', 'crontab', 'tab', '--zone', 'Europe/Berlin')
    expect(second.stdout).toMatch(/cron\.backup \(changed\)[^]*cron\.report \(unchanged\)/)
    expect(second.stderr).toContain('1 changed, 1 unchanged.')
    expect(second.code).toBe(0)
    expect(
      await database.query(
        "SELECT timer, catch_up, overlap, max_retries FROM periodic_task WHERE id = 'cron.backup'",
      ),
    ).toEqual([{ timer: '*-*-* 04:00:00 Europe/Berlin', catch_up: 0, overlap: 'allow', max_retries: 0 }])
    await database.drop()
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
  ['no folder', ['systemd', 'nowhere'], 2],
  ['no such timer', ['systemd', join(fixtures, 'systemd'), '--only', 'nope'], 3],
])('an import of %s fails: %j ends with %i', async (_what, args, code) => {
  const cwd = await temporaryFolder()
  await writeFile(join(cwd, 'empty'), '# nothing\n')
  expect(await runHere(['import', ...args], { cwd })).toMatchObject({ code, stdout: '' })
})
