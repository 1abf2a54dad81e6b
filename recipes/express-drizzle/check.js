// Orders twice: the second order violates the primary key, so its job is rolled back too.
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'

const child = spawn(process.execPath, ['app.js'], { stdio: ['ignore', 'pipe', 'inherit'] })
try {
  const [port] = await once(child.stdout, 'data')
  const url = `http://127.0.0.1:${Number(port)}`
  const order = () => fetch(`${url}/orders/tea`, { method: 'POST' })
  assert.equal((await order()).status, 201)
  assert.equal((await order()).status, 500)
  const orders = await (await fetch(`${url}/orders`)).json()
  assert.deepEqual(orders, [{ item: 'tea', state: 'success', result: 'Sent tea' }])
  const { items } = await (await fetch(`${url}/kalends/api/v1/jobs?task=confirm`)).json()
  assert.equal(items.length, 1)
} finally {
  child.kill('SIGTERM')
}
const [, signal] = await once(child, 'exit')
assert.equal(signal, 'SIGTERM')
