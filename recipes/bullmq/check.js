// Runs app.js with its own Redis server.
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { createServer } from 'node:net'
import Database from 'libsql'

const free = createServer().listen(0, '127.0.0.1')
await once(free, 'listening')
const { port } = free.address()
free.close()
const redis = spawn('redis-server', ['--port', String(port), '--bind', '127.0.0.1', '--save', ''], {
  stdio: ['ignore', 'pipe', 'inherit'],
})
try {
  for await (const line of redis.stdout) if (String(line).includes('Ready to accept connections')) break
  const { stdout, stderr } = spawnSync(process.execPath, ['app.js'], {
    encoding: 'utf8',
    timeout: 60_000,
    env: { ...process.env, REDIS_URL: `redis://127.0.0.1:${port}` },
  })
  if (!stdout.includes('Hello world')) throw new Error(`${stdout}${stderr}`)
  const states = new Database('app.db').prepare('SELECT DISTINCT state FROM job').all()
  if (!states.some(({ state }) => state === 'success')) throw new Error(JSON.stringify(states))
} finally {
  redis.kill()
}
