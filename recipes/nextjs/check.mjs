// Runs the standalone output of `next build` after removing the package `kalends`.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { rm } from 'node:fs/promises'
import { createServer } from 'node:net'

await rm('node_modules/kalends', { recursive: true })
const free = createServer().listen(0, '127.0.0.1')
await once(free, 'listening')
const { port } = free.address()
free.close()

const child = spawn(process.execPath, ['.next/standalone/server.js'], {
  env: { ...process.env, PORT: String(port), HOSTNAME: '127.0.0.1' },
  stdio: ['ignore', 'pipe', 'inherit'],
})
for (let answer; answer === undefined; ) {
  await new Promise((resolve) => setTimeout(resolve, 100))
  const response = await fetch(`http://127.0.0.1:${port}/api/run`).catch(() => undefined)
  answer = await response?.json()
  if (answer !== undefined && (answer.result !== 'Hello world' || answer.title !== 'Kalends'))
    throw new Error(JSON.stringify(answer))
}
child.kill()
