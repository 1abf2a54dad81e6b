/** When a file is imported again, its entries are matched with the existing schedules. */
import { mkdir, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { expect, test } from 'vitest'
import { type Candidate, LONGEST_RUN } from '../../src/cli/import/candidate.ts'
import { matched } from '../../src/cli/import/match.ts'
import { eachDatabase } from '../support/databases.ts'
import { runHere } from './here.ts'
import { temporaryFolder } from './program.ts'

interface Line {
  readonly [key: string]: unknown
}

function jsonLines(text: string): Line[] {
  return text
    .split('\n')
    .filter((line) => line !== '')
    .map((line): Line => JSON.parse(line))
}

/** A candidate from a string of the form `name: timer command`; the name defaults to `job`. */
function candidate(text: string): Candidate {
  const [, name = 'job', timer = '', shell = ''] = /^(?:(\S+): )?(\S+) (.*)$/.exec(text) ?? []
  const schedule = {
    timer,
    args: { shell },
    summary: null,
    jitter: 0,
    catchUp: 0,
    overlap: 'allow' as const,
    timeout: LONGEST_RUN,
  }
  return { source: text, original: text, name, schedule, notes: [] }
}

/** Imports lists of entries in order, and returns the ids and the stale schedules of the last import. */
function idsAfter(...imports: readonly (readonly string[])[]) {
  let existing: { id: string; timer: string; args: unknown }[] = []
  let ids: Record<string, string> = {}
  let stale: readonly string[] = []
  for (const entries of imports) {
    const found = matched(entries.map(candidate), existing, 'cron.')
    ids = Object.fromEntries(found.named.map(({ original, id }) => [original, id]))
    stale = found.stale
    existing = [
      ...found.named.flatMap(({ id, schedule }) =>
        schedule === null ? [] : [{ id, timer: schedule.timer, args: schedule.args }],
      ),
      ...existing.filter(({ id }) => found.stale.includes(id)),
    ]
  }
  return { ids, stale }
}

test.each([
  ['the first of two is removed', ['1 a', '2 b'], ['2 b'], { '2 b': 'cron.job-2' }, ['cron.job']],
  ['a line is inserted above', ['1 a'], ['2 b', '1 a'], { '2 b': 'cron.job-2', '1 a': 'cron.job' }, []],
  ['lines change places', ['1 a', '2 b'], ['2 b', '1 a'], { '2 b': 'cron.job-2', '1 a': 'cron.job' }, []],
  ['a time changes', ['1 a', '2 b'], ['1 a', '3 b'], { '1 a': 'cron.job', '3 b': 'cron.job-2' }, []],
  [
    'a time changes, and a line is inserted',
    ['1 a', '2 b'],
    ['2 c', '1 a', '3 b'],
    { '2 c': 'cron.job-3', '1 a': 'cron.job', '3 b': 'cron.job-2' },
    [],
  ],
  ['a command changes', ['1 a', '2 b'], ['1 c', '2 b'], { '1 c': 'cron.job', '2 b': 'cron.job-2' }, []],
  ['the time and command of the only line change', ['1 a'], ['2 b'], { '2 b': 'cron.job' }, []],
  [
    'the times and commands of several lines change',
    ['1 a', '2 b'],
    ['3 c', '4 d'],
    { '3 c': 'cron.job-3', '4 d': 'cron.job-4' },
    ['cron.job', 'cron.job-2'],
  ],
  ['two lines are equal', ['1 a', '1 a'], ['1 a'], { '1 a': 'cron.job' }, ['cron.job-2']],
  [
    'a name ends like a numbered id',
    ['1 a', '2 b', 'job-2: 3 c'],
    ['2 b', 'job-2: 3 c'],
    { '2 b': 'cron.job-2', 'job-2: 3 c': 'cron.job-2-2' },
    ['cron.job'],
  ],
  ['a program is replaced', ['one: 1 a'], ['two: 1 b'], { 'two: 1 b': 'cron.two' }, ['cron.one']],
])('if %s, lines that match keep their schedules: %j → %j [L72]', (_what, before, after, ids, stale) => {
  expect(idsAfter(before, after)).toEqual({ ids, stale })
  expect(idsAfter(before, after, after).ids).toEqual(ids)
})

test('a schedule whose line is now rejected is not stale', () => {
  const refused = { ...candidate('1 a'), schedule: null }
  const existing = [{ id: 'cron.job', timer: '1', args: { shell: 'a' } }]
  expect(matched([refused], existing, 'cron.').stale).toEqual([])
})

test('changing variables at the top of the file changes no id', () => {
  const withPath = (text: string, path: string) => {
    const one = candidate(text)
    return one.schedule === null
      ? one
      : { ...one, schedule: { ...one.schedule, args: { ...one.schedule.args, env: { PATH: path } } } }
  }
  const existing = [
    { id: 'cron.job', timer: '1', args: { shell: 'a', env: { PATH: '/bin' } } },
    { id: 'cron.job-2', timer: '1', args: { shell: 'b', env: { PATH: '/bin' } } },
  ]
  const { named } = matched([withPath('1 b', '/sbin'), withPath('1 a', '/sbin')], existing, 'cron.')
  expect(named.map(({ original, id }) => [original, id])).toEqual([
    ['1 b', 'cron.job-2'],
    ['1 a', 'cron.job'],
  ])
})

eachDatabase(({ fresh }) => {
  async function machine() {
    const cwd = await temporaryFolder()
    const database = await fresh()
    const cli = (...args: string[]) => runHere(args, { cwd, env: { KALENDS_DATABASE: database.url } })
    const write = async (name: string, text: string) => {
      await mkdir(dirname(join(cwd, name)), { recursive: true })
      await writeFile(join(cwd, name), text)
    }
    const importing = async (...args: string[]) => {
      const { stdout, ...end } = await cli('import', ...args, '--zone', 'UTC', '--json')
      return { ...end, results: jsonLines(stdout).map(({ id, result }) => [id, result]) }
    }
    const stored = async () =>
      (
        await database.query(
          "SELECT id, timer, enabled FROM periodic_task WHERE task = 'command' ORDER BY id",
        )
      ).map(({ id, timer, enabled }) => [id, timer, Number(enabled)])
    await cli('migrate')
    return { database, cwd, cli, write, importing, stored }
  }

  test('the schedule of a removed line is reported, and --prune deletes it; other schedules do not change [C3, L72]', async () => {
    const { database, write, importing, stored, cli } = await machine()
    await write('tab', '0 3 * * * /bin/job --one\n0 4 * * * /bin/job --two\n0 5 * * * /bin/other\n')
    await importing('crontab', 'tab')
    await cli('schedules', 'pause', 'cron.job')
    await write('tab', '0 2 * * * /bin/job --zero\n0 3 * * * /bin/job --one\n0 5 * * * /bin/other\n')
    expect((await importing('crontab', 'tab')).results).toEqual([
      ['cron.job-3', 'created'],
      ['cron.job', 'unchanged'],
      ['cron.other', 'unchanged'],
      ['cron.job-2', 'stale'],
    ])
    expect(await stored()).toEqual([
      ['cron.job', '*-*-* 03:00:00', 0],
      ['cron.job-2', '*-*-* 04:00:00', 1],
      ['cron.job-3', '*-*-* 02:00:00', 1],
      ['cron.other', '*-*-* 05:00:00', 1],
    ])
    const told = await cli('import', 'crontab', 'tab', '--zone', 'UTC')
    expect(told.stdout).toContain('cron.job-2 (stale)')
    expect(told.stdout).toContain(
      'its entry no longer exists, but the schedule still runs: remove it with --prune',
    )
    expect(told.code).toBe(0)
    expect((await cli('import', 'crontab', 'tab', '--prune', '--dry-run')).code).toBe(2)
    const pruned = await importing('crontab', 'tab', '--prune')
    expect(pruned.results.at(-1)).toEqual(['cron.job-2', 'removed'])
    expect(pruned.stderr).toContain('3 unchanged, 1 removed.')
    expect((await stored()).map(([id]) => id)).toEqual(['cron.job', 'cron.job-3', 'cron.other'])
    await database.drop()
  })

  test('schedules with other prefixes or tasks, and schedules of lines with mistakes, do not change', async () => {
    const { database, cli, write, importing, stored } = await machine()
    await cli('schedules', 'add', 'cron.mine', '--task', 'other', '--timer', 'daily')
    await write('one', '@daily /bin/one\n@daily /bin/mine\n@hourly /bin/wrong\n')
    await write('two', '@daily /bin/two\n')
    const first = await importing('crontab', 'one')
    expect(first.results).toEqual([
      ['cron.one', 'created'],
      ['cron.mine', 'refused'],
      ['cron.wrong', 'created'],
    ])
    expect(first.code).toBe(1)
    await importing('crontab', 'two', '--id-prefix', 'two.')
    await write('one', '@daily /bin/one\n61 * * * * /bin/wrong\n')
    expect((await importing('crontab', 'one', '--prune')).results).toEqual([
      ['cron.one', 'unchanged'],
      [null, 'refused'],
    ])
    expect((await stored()).map(([id]) => id)).toEqual(['cron.one', 'cron.wrong', 'two.two'])
    await database.drop()
  })

  test('--prune keeps schedules with a longer prefix', async () => {
    const { database, write, importing, stored } = await machine()
    await write('php', '@daily /usr/lib/php/sessionclean\n')
    await write('one', '@daily /bin/one\n@daily run-parts /etc/cron.daily\n@daily /bin/three\n')
    await importing('crontab', 'php', '--id-prefix', 'cron.php.')
    await importing('crontab', 'one')
    await write('one', '@daily /bin/one\n')
    expect((await importing('crontab', 'one', '--prune')).results).toEqual([
      ['cron.one', 'unchanged'],
      ['cron.cron.daily', 'removed'],
      ['cron.three', 'removed'],
    ])
    expect((await stored()).map(([id]) => id)).toEqual(['cron.one', 'cron.php.sessionclean'])
    await database.drop()
  })

  test('imported settings are updated, and settings changed by users are kept', async () => {
    const { database, cli, write, importing } = await machine()
    await write('tab', '0 3 * * * /bin/backup\n@daily /bin/report\n')
    await importing('crontab', 'tab')
    await write('tab', '# Nightly\n0 4 * * * /bin/backup\n@daily /bin/report\n')
    await cli('schedules', 'pause', 'cron.backup')
    const second = await cli('import', 'crontab', 'tab', '--zone', 'Europe/Berlin')
    expect(second.stdout).toMatch(/cron\.backup \(changed\)[^]*cron\.report \(changed\)/)
    expect(second.stderr).toContain('2 changed.')
    expect(second.code).toBe(0)
    expect(
      await database.query(
        "SELECT timer, catch_up, overlap, max_retries, enabled, summary FROM periodic_task WHERE id = 'cron.backup'",
      ),
    ).toMatchObject([
      {
        timer: '*-*-* 04:00:00 Europe/Berlin',
        catch_up: 0,
        overlap: 'allow',
        max_retries: 0,
        enabled: 0,
        summary: 'Nightly',
      },
    ])
    await database.drop()
  })
})
