/** How the task `command` runs a program: its streams, its user and the outcome. */
import childProcess from 'node:child_process'
import { EventEmitter } from 'node:events'
import { existsSync, writeFileSync } from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'
import { join } from 'node:path'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { expect, onTestFinished, test, vi } from 'vitest'
import { type CommandArgs, commandTask, runCommand } from '../../src/cli/command-task.ts'
import { type Job, Kalends } from '../../src/index.ts'
import { allLogs, ended, until } from '../kalends/scene.ts'
import { temporaryFolder } from './program.ts'

async function run(args: CommandArgs): Promise<{ job: Job; lines: string[] }> {
  const kalends = await Kalends.open('sqlite::memory:')
  onTestFinished(() => kalends.stop())
  kalends.handle(commandTask, (context) => runCommand(context, null))
  await kalends.start({ scheduler: false })
  const job = await ended(kalends, await kalends.jobs.submit(commandTask, args))
  const logged = await allLogs(kalends, job.id)
  return { job, lines: logged.map(({ level, message }) => `${level} ${message}`) }
}

/** The number of open pipes, such as those to programs, that keep this process alive. */
const openPipes = () => process.getActiveResourcesInfo().filter((name) => name === 'PipeWrap').length

/** Bytes in use, not counting garbage. */
function liveMemory(): number {
  setFlagsFromString('--expose-gc')
  const collectGarbage: unknown = runInNewContext('gc')
  if (typeof collectGarbage !== 'function') throw new Error('there is no gc')
  collectGarbage()
  const { heapUsed, external } = process.memoryUsage()
  return heapUsed + external
}

test.each([
  ['stdout', 'info', ''],
  ['stderr', 'warn', '>&2'],
])(
  '600 MB without a line break on %s become one line of 16 KB and need little memory',
  async (_name, level, to) => {
    const before = liveMemory()
    let most = before
    const watching = setInterval(() => {
      most = Math.max(most, liveMemory())
    }, 100)
    const { job, lines } = await run({
      shell: `{ head -c 600000000 /dev/zero | tr '\\0' x; echo; echo next; } ${to}`,
    })
    clearInterval(watching)
    expect(job.state).toBe('success')
    expect(lines).toEqual([
      expect.stringMatching(new RegExp(`^${level} x{16000,}… \\(cut, .*\\)$`)),
      'warn The line above has at least 32768 characters: the rest of it is discarded',
      `${level} next`,
    ])
    expect(Buffer.byteLength(lines[0] ?? '')).toBeLessThanOrEqual(`${level} `.length + 16_384)
    expect(most).toBeGreaterThan(before)
    expect(most - before).toBeLessThan(100_000_000)
  },
  // On a busy machine, the shell can take minutes to print this much output.
  600_000,
)

test.runIf(process.getuid?.() === 0)(
  'a worker that runs as root runs a command as the user in its args, in the home directory of that user',
  async () => {
    const { lines } = await run({ shell: 'id -un; echo "$USER $HOME"; pwd', user: 'daemon' })
    const [, , , , , home] = childProcess
      .execFileSync('getent', ['passwd', 'daemon'], { encoding: 'utf8' })
      .split(':')
    expect(lines).toEqual([`info daemon`, `info daemon ${home}`, `info ${home}`])
    expect((await run({ shell: 'pwd', user: 'nobody' })).lines).toEqual(['info /'])
  },
)

test('lines end with a line feed, a carriage return or both, regardless of where the chunks of output end', async () => {
  const { lines } = await run({
    shell: String.raw`printf 'a\nb\r\nc\rd\r'; sleep 0.05; printf '\ne\n\nf\303'; sleep 0.05; printf '\244\r\r\n\nlast'`,
  })
  expect(lines).toEqual(['a', 'b', 'c', 'd', 'e', '', 'fä', '', '', 'last'].map((line) => `info ${line}`))
})

test('after a program ends, its background processes can still print, and do not keep this process alive', async () => {
  const folder = await temporaryFolder()
  const [go, done] = [join(folder, 'go'), join(folder, 'done')]
  const before = openPipes()
  const { job, lines } = await run({
    shell: `echo now; ( while [ ! -e ${go} ]; do sleep 0.05; done; for line in 1 2 3; do echo $line; echo $line >&2; done; touch ${done} ) & exit 0`,
  })
  expect(job.state).toBe('success')
  expect(lines).toEqual(['info now'])
  expect(openPipes()).toBe(before)
  writeFileSync(go, '')
  await until(async () => (existsSync(done) ? true : null))
})

test('the exit code decides the outcome, even if a program closes its streams or does not read its input', async () => {
  const stdin = 'x'.repeat(200_000)
  expect((await run({ shell: 'exec <&- >&- 2>&-; exit 0', stdin })).job.state).toBe('success')
  expect((await run({ shell: 'exit 7', stdin })).job).toMatchObject({
    state: 'failed',
    error: expect.stringContaining('exited with code 7'),
  })
})

test('a program that cannot start fails the job, not the worker', async () => {
  const spawn = vi.spyOn(childProcess, 'spawn').mockImplementation(() => {
    const child = new EventEmitter()
    process.nextTick(() => child.emit('error', new Error('spawn EMFILE')))
    // If no file descriptor is free, spawn only emits an event.
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion
    return child as childProcess.ChildProcess
  })
  syncBuiltinESMExports()
  onTestFinished(() => {
    spawn.mockRestore()
    syncBuiltinESMExports()
  })
  expect((await run({ argv: ['true'] })).job).toMatchObject({
    state: 'failed',
    error: expect.stringContaining('the program cannot be started: spawn EMFILE'),
  })
})
