/** An interrupted test run leaves no processes behind: no fork, worker or server. */
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { until } from './worker-process.ts'

const root = join(import.meta.dirname, '../..')

/** The environment variables from outside this test run. */
const outside = Object.fromEntries(
  Object.entries(process.env).filter(([name]) => !/^(CI$|VITEST|KALENDS_)/.test(name)),
)

/** The ids of the processes of a session. */
function processesOf(session: number): string[] {
  return spawnSync('ps', ['-o', 'pid=', '-s', String(session)], { encoding: 'utf8' })
    .stdout.split('\n')
    .filter((line) => line.trim() !== '')
}

describe.each<[string, (leader: number) => void]>([
  ['Ctrl-C', (leader) => process.kill(-leader, 'SIGINT')],
  ['a signal only to the runner', (leader) => process.kill(leader, 'SIGTERM')],
  ['kill -9 of the runner', (leader) => process.kill(leader, 'SIGKILL')],
])('after %s', (_, interrupt) => {
  it('all processes of the test run end', async () => {
    // detached: a separate session, like that of a terminal.
    const runner = spawn(process.execPath, [join(root, 'scripts/test.mjs'), 'test/system/stop.test.ts'], {
      cwd: root,
      detached: true,
      env: { ...outside, KALENDS_TEST_SUITE: 'full', KALENDS_TEST_DATABASES: 'sqlite' },
      stdio: 'ignore',
    })
    const leader = runner.pid ?? 0
    const exit = once(runner, 'exit')
    onTestFinished(() => {
      for (const pid of processesOf(leader)) process.kill(Number(pid), 'SIGKILL')
    })
    // The runner, a fork for the test file, and a worker that the test has started.
    await until('a test has started a worker', async () => processesOf(leader).length >= 3)
    interrupt(leader)
    await exit
    await until('they have ended', async () => processesOf(leader).length === 0)
    expect(processesOf(leader)).toEqual([])
  })
})
