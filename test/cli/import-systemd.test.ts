/** Units are read as in systemd: systemd.unit(5), systemd.timer(5), systemd.service(5). */
import { chownSync } from 'node:fs'
import { mkdir, symlink, writeFile } from 'node:fs/promises'
import { userInfo } from 'node:os'
import { dirname, join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { findUser } from '../../src/cli/command-user.ts'
import { runHere } from './here.ts'
import { temporaryFolder } from './program.ts'

const SERVICE = '[Service]\nType=oneshot\nExecStart=/bin/a\n'

interface Found {
  readonly source: string
  readonly result: string
  readonly timer?: string
  readonly args?: {
    readonly argv?: string[]
    readonly env?: object
    readonly user?: string
    readonly cwd?: string
  }
  readonly notes: readonly string[]
}

/** Writes files to a new folder; a value that starts with `->` is the target of a symbolic link. */
async function tree(files: Readonly<Record<string, string>>): Promise<string> {
  const folder = await temporaryFolder()
  for (const [name, text] of Object.entries(files)) {
    const path = join(folder, name)
    await mkdir(dirname(path), { recursive: true })
    if (text.startsWith('->')) await symlink(text.slice(2), path)
    else await writeFile(path, text)
  }
  return folder
}

/** Runs `import systemd` as a dry run in the folder that contains the units. */
async function imported(cwd: string, ...args: readonly string[]) {
  const { code, stdout, stderr } = await runHere(
    ['import', 'systemd', ...args, '--dry-run', '--json', '--zone', 'UTC'],
    { cwd },
  )
  const found = stdout
    .split('\n')
    .filter((line) => line !== '')
    .map((line): Found => JSON.parse(line))
  return { code, stderr, found }
}

async function timersOf(files: Readonly<Record<string, string>>): Promise<(string | undefined)[]> {
  const { found } = await imported(await tree(files), '.', '--all')
  return found.map(({ timer }) => timer)
}

describe('an empty value', () => {
  const base = { 'a.service': SERVICE }

  test.each([
    ['OnCalendar=\nOnCalendar=*-*-* 06:00', ['*-*-* 06:00:00']],
    ['OnUnitActiveSec=\nOnCalendar=weekly', ['Mon *-*-* 00:00:00']],
    ['OnBootSec=\nOnUnitInactiveSec=2h', ['every 2h after finish']],
    ['OnActiveSec=\nOnCalendar=hourly', ['*-*-* *:00:00']],
    ['Persistent=\nOnCalendar=hourly', ['*-*-* *:00:00', 'every 1d after finish']],
  ])(
    'an empty time setting clears all times; any other empty setting clears only itself: %j [L71]',
    async (dropIn, timers) => {
      expect(
        await timersOf({
          ...base,
          'a.timer': '[Timer]\nOnBootSec=1h\nOnUnitInactiveSec=1d\n',
          'a.timer.d/o.conf': `[Timer]\n${dropIn}\n`,
        }),
      ).toEqual(timers)
    },
  )

  test('a timer whose times are all cleared by an empty value is rejected, because systemd does not start it', async () => {
    const { found } = await imported(
      await tree({ ...base, 'a.timer': '[Timer]\nOnCalendar=daily\nOnBootSec=\n' }),
      '.',
      '--all',
    )
    expect(found).toMatchObject([
      { result: 'refused', notes: ['it has no time, so systemd does not start it'] },
    ])
  })
})

describe('drop-ins', () => {
  const timer = '[Timer]\nOnCalendar=daily\n'
  const user = (name: string) => `[Service]\nUser=${name}\n`
  const userOf = async (files: Readonly<Record<string, string>>, service: string) => {
    const cwd = await tree({ 'a.timer': `${timer}Unit=${service}\n`, ...files })
    return (await imported(cwd, '.', '--all')).found.map(({ args }) => args?.user)
  }

  test.each([
    ['of the unit', 'my-job@one.service.d'],
    ['of the template', 'my-job@.service.d'],
    ['of the prefix', 'my-@one.service.d'],
    ['of the prefix of the template', 'my-@.service.d'],
    ['of the type', 'service.d'],
  ])('%s apply to an instance: %s [L71]', async (_what, folder) => {
    const files = { 'my-job@.service': SERVICE, [`${folder}/u.conf`]: user('ada') }
    expect(await userOf(files, 'my-job@one.service')).toEqual(['ada'])
  })

  test.each([
    ['of another instance', 'my-job@two.service.d'],
    ['of another prefix', 'my-j-@.service.d'],
    ['of another type', 'timer.d'],
  ])('%s do not: %s', async (_what, folder) => {
    const files = { 'my-job@.service': SERVICE, [`${folder}/u.conf`]: user('ada') }
    expect(await userOf(files, 'my-job@one.service')).toEqual(['root'])
  })

  test('apply in the order of their names, regardless of the folder', async () => {
    const files = {
      'my-job.service': SERVICE,
      'my-job.service.d/10.conf': user('first'),
      'my-.service.d/20.conf': user('second'),
      'service.d/30.conf': user('third'),
    }
    expect(await userOf(files, 'my-job.service')).toEqual(['third'])
  })

  test('of drop-ins with the same file name, the one for the most specific unit wins, then the one in the first folder', async () => {
    const files = {
      'usr/a.timer': timer,
      'usr/a.timer.d/time.conf': '[Timer]\nOnCalendar=\nOnCalendar=01:00\n',
      'etc/timer.d/time.conf': '[Timer]\nOnCalendar=\nOnCalendar=02:00\n',
      'usr/a.service': SERVICE,
      'usr/a.service.d/user.conf': user('specific'),
      'usr/service.d/user.conf': user('general'),
      'etc/a.service.d/cwd.conf': '[Service]\nWorkingDirectory=/etc\n',
      'usr/a.service.d/cwd.conf': '[Service]\nWorkingDirectory=/usr\n',
    }
    const { found } = await imported(await tree(files), 'etc', 'usr', '--all')
    expect(found).toMatchObject([{ timer: '*-*-* 01:00:00', args: { user: 'specific', cwd: '/etc' } }])
  })

  test('are masked by an empty file or a link to /dev/null with the same name in an earlier folder', async () => {
    const files = {
      'usr/a.timer': timer,
      'usr/a.timer.d/one.conf': '[Timer]\nOnCalendar=hourly\n',
      'usr/a.timer.d/two.conf': '[Timer]\nOnCalendar=weekly\n',
      'usr/a.service': SERVICE,
      'etc/a.timer.d/one.conf': '->/dev/null',
      'etc/a.timer.d/two.conf': '',
    }
    const { found } = await imported(await tree(files), 'etc', 'usr', '--all')
    expect(found.map((one) => one.timer)).toEqual(['*-*-* 00:00:00'])
  })
})

describe('the search path', () => {
  const timer = (event: string) => `[Timer]\nOnCalendar=${event}\n`

  test('the first folder with the unit takes precedence, for timers and services', async () => {
    const files = {
      'etc/a.timer': timer('daily'),
      'run/a.timer': timer('hourly'),
      'run/a.service': SERVICE.replace('/bin/a', '/bin/run'),
      'usr/a.service': SERVICE.replace('/bin/a', '/bin/usr'),
    }
    const { found } = await imported(await tree(files), 'etc', 'run', 'usr', '--all')
    expect(found).toMatchObject([{ timer: '*-*-* 00:00:00', args: { argv: ['/bin/run'] } }])
  })

  test("without folders, the system's search path applies", async () => {
    const { code, stderr } = await imported(await temporaryFolder(), '--only', 'no-such')
    expect(code).toBe(3)
    expect(stderr).toContain('no-such.timer does not exist in the system folders')
  })

  test('an alias is the same unit, with the drop-ins of both names [C3]', async () => {
    const files = {
      'usr/a.timer': timer('daily'),
      'usr/a.service': SERVICE,
      'etc/old.timer': '->../usr/a.timer',
      'etc/old.timer.d/p.conf': '[Timer]\nPersistent=yes\n',
      'etc/timers.target.wants/old.timer': '->../old.timer',
    }
    const { found } = await imported(await tree(files), 'etc', 'usr')
    expect(found).toMatchObject([{ source: 'a.timer', result: 'would be created', catchUp: 1 }])
  })

  test('a timer that is a link to a file outside the search path has the name of the link', async () => {
    const files = {
      'opt/x.timer': timer('daily'),
      'etc/x.timer': timer('hourly'),
      'etc/a.timer': '->../opt/x.timer',
      'etc/a.service': SERVICE,
      'etc/timers.target.wants/a.timer': '->../a.timer',
    }
    const { found } = await imported(await tree(files), 'etc', '--only', 'a')
    expect(found).toMatchObject([{ source: 'a.timer', timer: '*-*-* 00:00:00' }])
  })
})

describe('which timers run', () => {
  const timer = '[Timer]\nOnCalendar=daily\n'

  test.each([
    ['masked by a link', { 'etc/a.timer': '->/dev/null' }, 'it is masked'],
    ['masked by an empty file', { 'etc/a.timer': '' }, 'it is masked'],
    ['of a masked service', { 'etc/a.service': '->/dev/null' }, 'a.service is masked'],
    ['whose link is masked', { 'etc/timers.target.wants/a.timer': '->/dev/null' }, 'it is not enabled'],
  ])('a timer %s is reported and left out, unless --all is given [C3]', async (_what, mask, why) => {
    const cwd = await tree({
      'usr/a.timer': timer,
      'usr/a.service': SERVICE,
      'usr/timers.target.wants/a.timer': '->../a.timer',
      ...mask,
    })
    const { code, found, stderr } = await imported(cwd, 'etc', 'usr')
    expect(found).toMatchObject([
      { source: 'a.timer', result: 'left out', notes: [expect.stringContaining(why)] },
    ])
    expect(stderr).toContain('1 left out.')
    expect(code).toBe(0)
    const all = await imported(cwd, 'etc', 'usr', '--all')
    expect(all.found).toMatchObject([{ source: 'a.timer', result: 'would be created' }])
  })

  test('a timer is enabled by a link from any target in any folder', async () => {
    const files = {
      'usr/a.timer': timer,
      'usr/b.timer': timer,
      'usr/c.timer': timer,
      'usr/a.service': SERVICE,
      'usr/b.service': SERVICE,
      'usr/c.service': SERVICE,
      'usr/timers.target.wants/a.timer': '->../a.timer',
      'etc/multi-user.target.requires/b.timer': '->/usr/lib/systemd/system/b.timer',
    }
    const { found } = await imported(await tree(files), 'etc', 'usr')
    expect(found.map(({ source, result }) => [source, result])).toEqual([
      ['a.timer', 'would be created'],
      ['b.timer', 'would be created'],
      ['c.timer', 'left out'],
    ])
  })

  test('the instances of a template that are enabled or named by --only are imported', async () => {
    const cwd = await tree({
      'cron@.timer': '[Timer]\nOnCalendar=%i\n',
      'cron@.service': SERVICE,
      'timers.target.wants/cron@daily.timer': '->../cron@.timer',
    })
    const { found } = await imported(cwd, '.')
    expect(found.map(({ source, result, timer: event }) => [source, result, event])).toEqual([
      ['cron@.timer', 'left out', undefined],
      ['cron@daily.timer', 'would be created', '*-*-* 00:00:00'],
    ])
    const named = await imported(cwd, '.', '--all', '--only', 'cron@weekly')
    expect(named.found).toMatchObject([{ source: 'cron@weekly.timer', timer: 'Mon *-*-* 00:00:00' }])
  })
})

describe('specifiers', () => {
  test.each([
    ['%i', String.raw`a\x20b-c`],
    ['%I', 'a b/c'],
    ['%p', 'my-disk'],
    ['%P', 'my/disk'],
    ['%j', 'disk'],
    ['%f', '/a b/c'],
    ['%n', String.raw`my-disk@a\x20b-c.service`],
    ['%N', String.raw`my-disk@a\x20b-c`],
    ['%u:%U:%g:%G:%h', 'root:0:root:0:/root'],
    ['%t %S %C %L %E %T %V'.replaceAll(' ', ':'), '/run:/var/lib:/var/cache:/var/log:/etc:/tmp:/var/tmp'],
    ['100%%', '100%'],
    ['100%', '100%'],
  ])('%s is expanded, and stays one word', async (text, value) => {
    const cwd = await tree({
      'a.timer': `[Timer]\nOnCalendar=daily\nUnit=my-disk@a\\x20b-c.service\n`,
      'my-disk@.service': `[Service]\nType=oneshot\nEnvironment=V=${text}\nExecStart=/bin/a ${text} end\n`,
    })
    const { found } = await imported(cwd, '.', '--all')
    expect(found).toMatchObject([{ args: { argv: ['/bin/a', value, 'end'], env: { V: value } } }])
  })

  test('are expanded in [Timer] and in the description', async () => {
    const cwd = await tree({
      'disk@.timer':
        '[Unit]\nDescription=Check %f\n[Timer]\nOnCalendar=Mon 07:00\nUnit=check-%p@%i.service\n',
      'check-disk@.service': SERVICE,
      'timers.target.wants/disk@dev-sda1.timer': '->../disk@.timer',
    })
    const { found } = await imported(cwd, '.', '--only', 'disk@dev-sda1')
    expect(found).toMatchObject([{ summary: 'Check /dev/sda1', timer: 'Mon *-*-* 07:00:00' }])
  })

  test('%f of the root folder is /', async () => {
    const cwd = await tree({
      'a.timer': '[Timer]\nOnCalendar=daily\nUnit=q@-.service\n',
      'q@.service': SERVICE.replace('/bin/a', '/bin/a %f'),
    })
    expect((await imported(cwd, '.', '--all')).found).toMatchObject([{ args: { argv: ['/bin/a', '/'] } }])
  })

  test.each([
    ['a.timer', '[Timer]\nOnCalendar=%k\n', '%k'],
    ['a.timer', '[Timer]\nOnCalendar=daily\nUnit=a%z.service\n', '%z'],
    ['a.timer', '[Unit]\nDescription=At %H\n[Timer]\nOnCalendar=daily\n', '%H'],
    ['a.service', `${SERVICE}User=%Q\n`, '%Q'],
    ['a.service', `${SERVICE}WorkingDirectory=/srv/%H\n`, '%H'],
    ['a.service', `${SERVICE}Environment=A=%m\n`, '%m'],
    ['a.service', `${SERVICE}EnvironmentFile=/etc/%l\n`, '%l'],
  ])('in %s, the error names a specifier that is not expanded: %j [L71]', async (name, text, specifier) => {
    const cwd = await tree({ 'a.timer': '[Timer]\nOnCalendar=daily\n', 'a.service': SERVICE, [name]: text })
    const { code, found } = await imported(cwd, '.', '--all')
    expect(found).toMatchObject([
      {
        result: 'refused',
        notes: [expect.stringContaining(`${name} uses ${specifier}, whose value only systemd knows`)],
      },
    ])
    expect(code).toBe(1)
  })
})

describe('units of users', () => {
  const isRoot = userInfo().uid === 0
  const timer = '[Timer]\nOnCalendar=daily\n'
  const other = findUser('nobody')

  test.each([
    ['in a folder of a user', '.config/systemd/user', { 'a.timer': timer, 'a.service': SERVICE }],
    [
      'with a timer that default.target wants',
      'units',
      { 'a.timer': `${timer}[Install]\nWantedBy=default.target\n`, 'a.service': SERVICE },
    ],
    [
      'with a service that default.target wants',
      'units',
      { 'a.timer': timer, 'a.service': `${SERVICE}[Install]\nWantedBy=timers.target default.target\n` },
    ],
  ])(
    '%s run as the owner of the file or as --user, and never as root [C3, L71]',
    async (_what, folder, units) => {
      const files = Object.entries(units).map(([name, text]) => [join(folder, name), text] as const)
      const cwd = await tree(Object.fromEntries(files))
      const own = await imported(cwd, folder, '--all')
      if (isRoot)
        expect(own.found).toMatchObject([
          {
            result: 'refused',
            notes: [expect.stringContaining('belongs to root: name the user with --user')],
          },
        ])
      else expect(own.found).toMatchObject([{ args: { user: userInfo().username } }])

      if (isRoot) {
        for (const [path] of files) chownSync(join(cwd, path), other?.uid ?? -1, other?.gid ?? -1)
        expect((await imported(cwd, folder, '--all')).found).toMatchObject([{ args: { user: 'nobody' } }])
      }
      const named = await imported(cwd, folder, '--all', '--user', 'daemon')
      expect(named.found).toMatchObject([{ args: { user: 'daemon' } }])
    },
  )

  test('have the home directory, folders and rights of the user', async () => {
    const cwd = await tree({
      'systemd/user/a.timer': timer,
      'systemd/user/a.service': '[Service]\nType=oneshot\nUser=root\nExecStart=+%h/bin/a %u %U %t %E\n',
    })
    const { found } = await imported(cwd, 'systemd/user', '--all', '--user', 'nobody')
    const { home = '', uid = 0 } = other ?? {}
    expect(found).toMatchObject([
      {
        args: {
          argv: [`${home}/bin/a`, 'nobody', String(uid), `/run/user/${uid}`, `${home}/.config`],
          user: 'nobody',
          cwd: home,
          env: { HOME: home },
        },
      },
    ])
  })

  test('cannot be imported together with system units', async () => {
    const cwd = await tree({ 'systemd/user/a.timer': timer, 'systemd/system/b.timer': timer })
    const { code, stderr } = await imported(cwd, 'systemd/system', 'systemd/user')
    expect(code).toBe(2)
    expect(stderr).toContain('import user units separately')
  })

  test('with --user, units in a folder that is neither for system nor for user units belong to that user', async () => {
    const cwd = await tree({
      'units/a.timer': `${timer}[Install]\nWantedBy=timers.target\n`,
      'units/a.service': SERVICE,
    })
    const { found } = await imported(cwd, 'units', '--all', '--user', 'daemon')
    expect(found).toMatchObject([{ args: { user: 'daemon', cwd: findUser('daemon')?.home } }])
  })

  test('--user contradicts system folders', async () => {
    const cwd = await tree({ 'etc/systemd/system/a.timer': timer, 'etc/systemd/system/a.service': SERVICE })
    const { code, stderr } = await imported(cwd, 'etc/systemd/system', '--user', 'daemon')
    expect(code).toBe(2)
    expect(stderr).toMatch(
      /option '--user': .*\/etc\/systemd\/system contains system units: leave --user out/,
    )
  })

  test('a unit in a system folder belongs to the system, whichever unit wants it', async () => {
    const cwd = await tree({
      'etc/systemd/system/a.timer': `${timer}[Install]\nWantedBy=default.target\n`,
      'etc/systemd/system/a.service': SERVICE,
    })
    const { found } = await imported(cwd, 'etc/systemd/system', '--all')
    expect(found).toMatchObject([{ args: { user: 'root', cwd: '/' } }])
  })
})

describe('a setting that systemd only warns about', () => {
  const comment = 'a comment needs its own line'

  test.each([
    ['Persistent=true # keep', { catchUp: 0 }],
    ['RandomizedDelaySec=5min # spread', { jitter: 0 }],
    ['RandomizedDelaySec=1min\nRandomizedDelaySec=5min # spread', { jitter: 60_000 }],
    ['OnCalendar=hourly # too often', {}],
    ['OnUnitActiveSec=1h # too often', {}],
    ['Unit=a.service # it', { args: { argv: ['/bin/a'] } }],
    ['Unit=a.service\nUnit=b.service # it', { args: { argv: ['/bin/a'] } }],
    ['Unit=b.service # it\nUnit=a.service', { args: { argv: ['/bin/a'] } }],
  ])('in [Timer] is ignored, and a note reports it: %j', async (text, settings) => {
    const cwd = await tree({ 'a.timer': `[Timer]\nOnCalendar=daily\n${text}\n`, 'a.service': SERVICE })
    const { found } = await imported(cwd, '.', '--all')
    expect(found).toMatchObject([{ timer: '*-*-* 00:00:00', result: 'would be created', ...settings }])
    const ignored = text.split('\n').find((line) => line.includes('#'))
    expect(found[0]?.notes[0]).toBe(
      `systemd ignores '${ignored}', because it cannot read the value; ${comment}`,
    )
  })

  test.each([
    ['Type=oneshot # once', {}],
    ['TimeoutStartSec=5min # long', { timeout: '24h' }],
    ['Environment=A=1 # one', { args: { argv: ['/bin/a'], env: { A: '1' } } }],
    ["Environment=A=1 # don't change\nEnvironment=B=2", { args: { env: { A: '1', B: '2' } } }],
    ["Type=oneshot\nExecStart=-/bin/b # don't", { args: { argv: ['/bin/a'] } }],
    ["Type=oneshot\nExecStart='/bin/b # it", { args: { argv: ['/bin/a'] } }],
    ['EnvironmentFile=etc/a # it', { args: { argv: ['/bin/a'] } }],
  ])('in [Service] is ignored, and a note reports it: %j', async (text, settings) => {
    const cwd = await tree({
      'a.timer': '[Timer]\nOnCalendar=daily\n',
      'a.service': `[Service]\n${text}\nExecStart=/bin/a\n`,
    })
    const { found } = await imported(cwd, '.', '--all')
    expect(found).toMatchObject([{ result: 'would be created', ...settings }])
    expect(found[0]?.notes[0]).toContain(comment)
  })

  test('a timer that is left without a time is rejected, as in systemd', async () => {
    const cwd = await tree({ 'a.timer': '[Timer]\nOnCalendar=daily # nightly\n', 'a.service': SERVICE })
    const { found } = await imported(cwd, '.', '--all')
    expect(found).toMatchObject([{ result: 'refused', notes: [expect.stringContaining(comment)] }])
  })
})

describe('an infinite or zero span, which systemd reads without a warning', () => {
  const never = 'OnUnitActiveSec=infinity never elapses'
  const notesOf = async (lines: string) => {
    const cwd = await tree({ 'a.timer': `[Timer]\n${lines}\n`, 'a.service': SERVICE })
    return (await imported(cwd, '.', '--all')).found
  }

  test('a span of infinity never elapses, but other times still do', async () => {
    expect(await notesOf('OnCalendar=daily\nOnUnitActiveSec=infinity')).toMatchObject([
      { timer: '*-*-* 00:00:00', notes: [never] },
    ])
    expect(await notesOf('OnUnitActiveSec=infinity')).toMatchObject([
      { result: 'refused', notes: [expect.stringContaining(never)] },
    ])
  })

  test.each([
    ['OnUnitActiveSec=0', 'every 1min'],
    ['OnUnitInactiveSec=0s', 'every 1min after finish'],
  ])('with %s, the timer elapses again within AccuracySec=: %s', async (line, timer) => {
    expect(await notesOf(line)).toMatchObject([
      { timer, notes: expect.arrayContaining([expect.stringMatching(`^${line}: systemd starts it again`)]) },
    ])
  })

  test('a random delay of infinity is rejected', async () => {
    expect(await notesOf('OnCalendar=daily\nRandomizedDelaySec=infinity')).toMatchObject([
      { result: 'refused', notes: ['its random delay is infinite, so it practically never runs'] },
    ])
  })
})

test('times relative to the last start or end become `every …`, and several times become several schedules', async () => {
  const cwd = await tree({
    'a.timer': '[Timer]\nOnUnitInactiveSec=5min\n',
    'a.service': SERVICE,
    'b.timer': '[Timer]\nOnCalendar=Mon 9:00\nOnCalendar=daily Asia/Tokyo\nUnit=a.service\nPersistent=yes\n',
    'c.timer': '[Timer]\nOnBootSec=1min\nUnit=a.service\n',
    'd.timer': '[Timer]\nOnCalendar=daily\n',
    'e.timer': '[Timer]\nOnCalendar=daily\nUnit=a.service\nUnit=d.service\n',
  })
  const { found } = await imported(cwd, '.', '--all')
  expect(found).toMatchObject([
    { id: 'systemd.a', timer: 'every 5min after finish', catchUp: 0 },
    { id: 'systemd.b', timer: 'Mon *-*-* 09:00:00', catchUp: 1 },
    { id: 'systemd.b-2', timer: '*-*-* 00:00:00 Asia/Tokyo' },
    { result: 'refused', notes: [expect.stringContaining('OnBootSec')] },
    { result: 'refused', notes: [expect.stringContaining('d.service does not exist')] },
    { id: 'systemd.e', timer: '*-*-* 00:00:00' },
  ])
})
