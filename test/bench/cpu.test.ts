import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { afterEach, describe, expect, it } from 'vitest'
import { cpuOfServer } from '../../bench/cpu.ts'

/** For each message, uses 50 ms of processor time, and another 50 ms in a child process. */
const SERVER = `
const burn = 'while (process.cpuUsage().user < 50_000 + BEFORE);'
const { spawnSync } = require('node:child_process')
const server = require('node:net').createServer().listen(0, '127.0.0.1', () => process.send(server.address().port))
process.on('message', () => {
  eval(burn.replace('BEFORE', process.cpuUsage().user))
  spawnSync(process.execPath, ['-e', burn.replace('BEFORE', '0')])
  process.send('done')
})`

let server: ChildProcess | null = null
afterEach(() => server?.kill())

describe.skipIf(process.platform !== 'linux')('the processor time of a server', () => {
  it('includes the process that listens at the URL and its child processes', async () => {
    server = spawn(process.execPath, ['-e', SERVER], { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] })
    const [port] = await once(server, 'message')
    const cpuMs = cpuOfServer(`redis://127.0.0.1:${port}`)
    const before = await cpuMs()
    server.send('burn')
    await once(server, 'message')
    // The processor time of each process is counted in ticks of 10 ms.
    expect((await cpuMs()) - before).toBeGreaterThanOrEqual(80)
  })

  it('is NaN if no local process listens at the URL, as for a server on another machine', async () => {
    expect(await cpuOfServer('mysql://root@127.0.0.1:1')()).toBeNaN()
  })
})
