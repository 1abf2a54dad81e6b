/**
 * A machine with units and crontabs, and the results of `import --dry-run` on it. The results are compared with the
 * files in fixtures/import/expected, and with what systemd and Debian's crontab read from the same units and crontabs.
 */
import { execFileSync, spawnSync } from 'node:child_process'
import { chownSync, cpSync, mkdirSync, readdirSync, readFileSync, rmSync, symlinkSync } from 'node:fs'
import { chmod, mkdtemp, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest'
import { findUser } from '../../src/cli/command-user.ts'
import { hasProgram } from '../support/not-tested.ts'
import { findProgram, isRoot } from '../support/servers-programs.ts'
import { runHere } from './here.ts'
import { root } from './program.ts'

const fixtures = join(root, 'test/cli/fixtures/import')
const SYSTEM = ['etc/systemd/system', 'run/systemd/system', 'usr/lib/systemd/system']
const USER = 'home/.config/systemd/user'

interface Found {
  readonly source: string
  readonly original: string
  readonly result: string
  readonly timer?: string
  readonly catchUp?: number
  readonly timeout?: string
  readonly args?: { readonly argv?: string[]; readonly user?: string; readonly cwd?: string }
  readonly notes: readonly string[]
}

let machine = ''
beforeAll(async () => {
  machine = await mkdtemp(join(tmpdir(), 'kalends-machine-'))
  await chmod(machine, 0o755)
  cpSync(fixtures, machine, { recursive: true })
  for (const line of readFileSync(join(fixtures, 'links.txt'), 'utf8').trim().split('\n')) {
    const [path = '', target = ''] = line.split(' -> ')
    mkdirSync(dirname(join(machine, path)), { recursive: true })
    symlinkSync(target, join(machine, path))
  }
})
afterAll(() => rmSync(machine, { recursive: true }))

function dryRun(...args: readonly string[]) {
  return runHere(['import', ...args, '--dry-run', '--json', '--zone', 'UTC', '--iterations', '0'], {
    cwd: machine,
  })
}

async function foundIn(...args: readonly string[]): Promise<Found[]> {
  const { stdout } = await dryRun(...args)
  return stdout
    .trim()
    .split('\n')
    .map((line): Found => JSON.parse(line))
}

const crontabs = readdirSync(join(fixtures, 'crontabs'))

test.each([
  ['system', ['systemd', ...SYSTEM]],
  ['system-all', ['systemd', ...SYSTEM, '--all']],
  ['user', ['systemd', USER, '--user', 'nobody']],
  ['copied', ['systemd', 'copied', '--all', '--user', 'nobody']],
  ...crontabs.map((name): [string, string[]] => [`crontab-${name}`, ['crontab', `crontabs/${name}`]]),
])('the import of %s is as expected [C3]', async (name, args) => {
  const { code, stdout, stderr } = await dryRun(...args)
  await expect(`${stdout}${stderr}exit code ${code}\n`).toMatchFileSnapshot(
    join(fixtures, 'expected', `${name}.txt`),
  )
})

/** The properties that a service manager prints for its units, by unit and key. */
type Dump = ReadonlyMap<string, ReadonlyMap<string, readonly string[]>>

/** The units as printed by `systemd --test`, which works only for ordinary users. */
async function loaded(manager: 'system' | 'user', folders: readonly string[], start: string): Promise<Dump> {
  const nobody = findUser('nobody')
  const runtime = await mkdtemp(join(tmpdir(), 'kalends-runtime-'))
  const extra = await mkdtemp(join(tmpdir(), 'kalends-target-'))
  await writeFile(join(extra, 'default.target'), `[Unit]\nWants=${start}\n`, { mode: 0o644 })
  await chmod(extra, 0o755)
  chownSync(runtime, nobody?.uid ?? -1, nobody?.gid ?? -1)
  const path = [extra, ...folders.map((folder) => join(machine, folder)), ''].join(':')
  const home = manager === 'system' ? '/root' : nobody?.home
  const environment = [`SYSTEMD_UNIT_PATH=${path}`, `XDG_RUNTIME_DIR=${runtime}`, `HOME=${home}`]
  const command = ['env', '-i', ...environment, '/lib/systemd/systemd', '--test', `--${manager}`]
  const text = execFileSync('runuser', ['-u', 'nobody', '--', ...command], {
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'ignore'],
    maxBuffer: 2 ** 26,
  })
  for (const folder of [runtime, extra]) rmSync(folder, { recursive: true })
  const dump = new Map<string, Map<string, string[]>>()
  let unit = new Map<string, string[]>()
  for (const line of text.split('\n')) {
    const [, name] = /^\t-> Unit (\S+):$/.exec(line) ?? []
    const [, key, value] = /^\t+([^:]+): (.*)$/.exec(line) ?? []
    if (name !== undefined) dump.set(name, (unit = new Map()))
    else if (key !== undefined && value !== undefined) unit.set(key, [...(unit.get(key) ?? []), value])
  }
  return dump
}

/** The words of a command line printed by systemd, with the service's variables expanded. */
function words(line: string, environment: readonly string[]): string[] {
  const values = new Map(
    environment.map((text) => [text.split('=', 1)[0], text.slice(text.indexOf('=') + 1)]),
  )
  return [...line.matchAll(/"((?:[^"\\]|\\.)*)"|(\S+)/g)].map(([, inside, word = '']) =>
    (inside?.replaceAll(/\\(.)/g, '$1') ?? word).replaceAll(
      /\$\{(\w+)\}/g,
      (_, name: string) => values.get(name) ?? '',
    ),
  )
}

/** The imported schedules of one timer unit, in the same form as ofSystemd(). */
function asLoaded(found: readonly Found[], source: string) {
  const times = found
    .filter((one) => one.source === source)
    .map(({ original, timer = '' }) =>
      original.startsWith('OnCalendar') ? `OnCalendar: ${timer}` : original.replace('=', ': '),
    )
  const { args, catchUp, timeout } = found.find((one) => one.source === source) ?? {}
  return {
    times: times.toSorted(),
    persistent: catchUp === 1 ? 'yes' : 'no',
    argv: args?.argv,
    user: args?.user,
    folder: args?.cwd,
    timeout,
  }
}

function ofSystemd(dump: Dump, source: string, user: string) {
  const timer = dump.get(source)
  const service = dump.get(timer?.get('Unit')?.[0] ?? '')
  const times = ['OnCalendar', 'OnUnitActiveSec', 'OnUnitInactiveSec'].flatMap((key) =>
    (timer?.get(key) ?? []).map((value) => `${key}: ${value}`),
  )
  return {
    times: times.toSorted(),
    persistent: timer?.get('Persistent')?.[0],
    argv: words(service?.get('Command Line')?.[0] ?? '', service?.get('Environment') ?? []),
    user: service?.get('User')?.[0] ?? user,
    folder: service?.get('WorkingDirectory')?.[0],
    timeout: service?.get('TimeoutStartSec')?.[0],
  }
}

const hasSystemd =
  isRoot() && (await hasProgram(inject('testRun'), 'The import of units', 'systemd-analyze', 'systemd'))

describe.skipIf(!hasSystemd)('systemd reads the same units', () => {
  test('timers that can be imported have the same times, commands, users, folders and timeouts [C3, L71]', async () => {
    const dump = await loaded('system', SYSTEM, 'timers.target console.timer')
    const found = await foundIn('systemd', ...SYSTEM)
    const sources = new Set(
      found.filter(({ result }) => result === 'would be created').map(({ source }) => source),
    )
    expect(sources.size).toBe(15)
    for (const source of sources)
      expect(asLoaded(found, source), source).toEqual(ofSystemd(dump, source, 'root'))
  })

  test('of the other timers, systemd starts only two, which a worker cannot run', async () => {
    const dump = await loaded('system', SYSTEM, 'timers.target console.timer')
    const found = await foundIn('systemd', ...SYSTEM)
    const rest = found.filter(({ result }) => result !== 'would be created').map(({ source }) => source)
    const starts = (source: string) => {
      const timer = dump.get(source)
      const service = dump.get(timer?.get('Unit')?.[0] ?? '')
      return [timer, service].every((unit) => unit?.get('Unit Load State')?.[0] === 'loaded')
    }
    expect(rest).toHaveLength(11)
    expect(rest.filter(starts)).toEqual(['boot.timer', 'host.timer'])
  })

  test("the timers of a user's service manager have the same times, commands and folders", async () => {
    const dump = await loaded('user', [USER], 'timers.target')
    const found = await foundIn('systemd', USER, '--user', 'nobody')
    expect(found).toHaveLength(2)
    for (const { source } of found) {
      const { timeout: _, ...expected } = ofSystemd(dump, source, 'nobody')
      expect(asLoaded(found, source), source).toMatchObject(expected)
    }
  })
})

/** Debian's crontab checks a file with -n, an option that other crontab programs do not have. */
const crontab = findProgram('crontab')
const checks = (text: string) =>
  crontab === null ? null : spawnSync(crontab, ['-n', '-'], { input: text, encoding: 'utf8' })
const isDebians = checks('@daily x\n')?.status === 0

test.skipIf(!isDebians)(
  "Debian's crontab rejects exactly the invalid lines and those whose notes say so",
  async () => {
    const read = await Promise.all(
      crontabs
        .filter((name) => !['contradiction', 'some-accounts'].includes(name))
        .map((name) => foundIn('crontab', `crontabs/${name}`)),
    )
    for (const { original, result, notes } of read.flat()) {
      // Debian's check accepts dates that never occur, and @reboot.
      const isMistake = result === 'refused' && !/never|@reboot/.test(notes.join())
      const isRejected = isMistake || notes.join().includes('reject')
      expect(checks(`${original}\n`)?.status, original).toBe(isRejected ? 1 : 0)
    }
  },
)
