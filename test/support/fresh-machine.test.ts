/**
 * `npm test` on a machine without database servers: it passes and reports what it did not test, both for an ordinary
 * user and for root if apt-get fails. Only CI=true makes a missing server a failure.
 */
import { execFile } from 'node:child_process'
import { chmod, mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, it, onTestFinished } from 'vitest'
import { findProgram, isRoot } from './servers-programs.ts'

const root = fileURLToPath(new URL('../..', import.meta.url))

/** Suites that need something that such a machine lacks, and that finish quickly without it. */
const suites = [
  'test/store/batch.test.ts',
  'test/chaos/targets-mysql.full.test.ts',
  'test/chaos/targets-galera.full.test.ts',
  'test/store/galera.full.test.ts',
  'test/examples/bullmq.test.ts',
  'test/docs/api.test.ts',
]

/** The only available programs: a shell and the tools that the tests' scripts use. */
const programs = ['sh', 'flock', 'chmod', 'rm', 'sleep', 'awk']

interface Ended {
  readonly code: number
  readonly output: string
}

/** @param user  command prefix that switches to the user */
async function testRun(user: readonly string[], more: NodeJS.ProcessEnv = {}): Promise<Ended> {
  const folder = await mkdtemp(join(tmpdir(), 'kalends-fresh-'))
  onTestFinished(() => rm(folder, { recursive: true, force: true }))
  const bin = join(folder, 'programs')
  await mkdir(bin)
  await mkdir(join(folder, 'tmp'))
  await chmod(folder, 0o755)
  await chmod(join(folder, 'tmp'), 0o777)
  for (const name of programs) {
    const path = findProgram(name)
    if (path !== null) await symlink(path, join(bin, name))
  }
  // As without a network.
  await writeFile(join(bin, 'apt-get'), '#!/bin/sh\necho "E: Unable to locate package $1" >&2\nexit 100\n')
  await chmod(join(bin, 'apt-get'), 0o755)
  const inherited = Object.entries(process.env).filter(
    ([name]) => !/^(CI$|KALENDS_|VITEST|NODE_OPTIONS|PATH$|TMPDIR$|HOME$|XDG_)/.test(name),
  )
  const env = {
    ...Object.fromEntries(inherited),
    PATH: bin,
    HOME: join(folder, 'tmp'),
    TMPDIR: join(folder, 'tmp'),
    NO_COLOR: '1',
    KALENDS_TEST_SUITE: 'full',
    ...more,
  }
  const script = join(root, 'scripts/test.mjs')
  const [program = '', ...args] = [...user, process.execPath, script, ...suites]
  return await new Promise((resolve) => {
    execFile(program, args, { cwd: root, env, maxBuffer: 64 * 1024 * 1024 }, (error, stdout, stderr) => {
      const code = error === null ? 0 : typeof error.code === 'number' ? error.code : -1
      resolve({ code, output: `${stdout}\n${stderr}` })
    })
  })
}

/** The user `nobody`, with the capability to read a clone that belongs to root, for example in /root. */
const asNobody = [
  findProgram('setpriv') ?? 'setpriv',
  '--reuid=65534',
  '--regid=65534',
  '--clear-groups',
].concat('--inh-caps=-all,+dac_override', '--ambient-caps=-all,+dac_override')
const users = isRoot()
  ? [
      { name: 'an ordinary user', user: asNobody, why: /only root on Debian can install it here/ },
      { name: 'root without a network', user: [], why: /apt-get could not install .*: E: Unable to locate/ },
    ]
  : [{ name: 'an ordinary user', user: [], why: /only root on Debian can install it here/ }]

describe.each(users)('without servers, for $name,', { timeout: 180_000 }, ({ user, why }) => {
  it('the tests pass, and the last lines report what was not tested and how to enable it [L66]', async () => {
    const { code, output } = await testRun(user)

    expect(code, output).toBe(0)
    expect(output).toMatch(/^databases tested: SQLite /m)
    for (const what of ['MySQL', 'MariaDB', 'Galera', 'Chaos on mysql', 'Chaos on galera', 'BullMQ']) {
      const line = output.split('\n').findLast((one) => one.startsWith(`${what} is NOT TESTED: `))
      expect(line, `${what}\n${output}`).toMatch(/mysql-root|install/)
    }
    const [, mariadb] = /^MariaDB is NOT TESTED: (.*)$/m.exec(output) ?? []
    expect(mariadb).toMatch(why)
  })

  it('with CI=true, the run fails and reports what is missing [L66]', async () => {
    const { code, output } = await testRun(user, { CI: 'true' })

    expect(code, output).not.toBe(0)
    expect(output).toMatch(/CI tests every database\. .*(MySQL|MariaDB) is NOT TESTED/)
  })
})
