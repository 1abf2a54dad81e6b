import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { mkdtemp } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { expect, it } from 'vitest'
import { startPrivateServer } from './servers-private.ts'

const superviseScript = fileURLToPath(new URL('supervise.sh', import.meta.url))

it('reports the output of a server that does not start, and leaves no folder', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'kalends-private-'))
  const starting = startPrivateServer({
    name: 'Broken',
    folder,
    seen: folder,
    socket: join(folder, 'socket'),
    initialize: ['sh', '-c', ':'],
    serve: (port) => ['sh', '-c', `echo "cannot use port ${port}" >&2; exit 3`],
  })
  await expect(starting).rejects.toThrow(/^Broken exited \(3\)[^]*cannot use port \d+/)
  expect(existsSync(folder)).toBe(false)
})

it('reports why a data folder could not be created, and leaves no folder', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'kalends-private-'))
  const starting = startPrivateServer({
    name: 'Broken',
    folder,
    seen: folder,
    socket: join(folder, 'socket'),
    initialize: ['false'],
    serve: () => ['true'],
  })
  await expect(starting).rejects.toThrow(/Broken could not create its data folder/)
  expect(existsSync(folder)).toBe(false)
})

it('stops the server and removes its folder when the test runner is killed', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'kalends-private-'))
  // A runner that starts an endless server and is killed with -9 as soon as the server reports that it is running.
  const server = 'trap "echo stopped; exit" TERM; echo running; while :; do sleep 0.1; done'
  const runner = spawn(
    process.execPath,
    [
      '-e',
      `const [script, folder, server] = process.argv.slice(1)
       require('node:child_process').spawn('sh', [script, folder, 'sh', '-c', server],
         { detached: true, stdio: ['pipe', 'inherit', 'inherit'] })`,
      superviseScript,
      folder,
      server,
    ],
    { stdio: ['ignore', 'pipe', 'inherit'] },
  )
  const lines: string[] = []
  const output = createInterface({ input: runner.stdout })
  output.on('line', (line) => {
    lines.push(line)
    if (line === 'running') runner.kill('SIGKILL')
  })
  // The pipe closes when the runner, the supervisor and the server have all ended.
  await once(output, 'close')

  expect(lines).toEqual(['running', 'stopped'])
  expect(existsSync(folder)).toBe(false)
})
