// Starts app.js, uses its page and its API, and stops it with SIGTERM: even with open connections, it leaves no row in
// the worker table.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import Database from 'libsql'

const child = spawn(process.execPath, ['app.js'], { stdio: ['ignore', 'pipe', 'inherit'] })
try {
  const [port] = await once(child.stdout, 'data')
  const url = `http://127.0.0.1:${Number(port)}`
  const { result } = await (await fetch(`${url}/greet/world`, { method: 'POST' })).json()
  if (result !== 'Hello world') throw new Error(`The result is ${result}`)
  const page = await fetch(`${url}/kalends/`, { headers: { accept: 'text/html' } })
  if (!(await page.text()).includes('<title>Kalends')) throw new Error('The page is missing')
  const created = await fetch(`${url}/kalends/api/v1/schedules`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ task: 'greet', timer: 'daily', args: { name: 'Bob' } }),
  })
  if (created.status !== 201) throw new Error(`POST: ${created.status} ${await created.text()}`)
} finally {
  child.kill('SIGTERM')
}
const [code, signal] = await once(child, 'exit')
if (signal !== 'SIGTERM') throw new Error(`app.js ended with ${code ?? signal}`)
const { workers } = new Database('app.db').prepare('SELECT COUNT(*) AS workers FROM worker').get()
if (workers !== 0) throw new Error('The worker is still registered')
