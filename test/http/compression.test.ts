import { gunzipSync } from 'node:zlib'
import { expect, it } from 'vitest'
import { databases } from '../support/databases.ts'
import { apiScene } from './scene.ts'

const sqlite = databases.find(({ kind }) => kind === 'sqlite')

it.skipIf(sqlite === undefined)('large JSON is compressed only for clients that accept gzip', async () => {
  if (sqlite === undefined) return
  const { send } = await apiScene(sqlite)
  const path = '/api/v1/openapi.json'
  const plain = await send(`GET ${path}`)
  expect(plain.headers.get('content-encoding')).toBeNull()
  expect(plain.headers.get('vary')).toBe('accept-encoding')
  const text = await plain.text()
  for (const accepted of ['gzip', 'br, gzip;q=0.5', '*', 'GZIP']) {
    const packed = await send(`GET ${path}`, { headers: { 'accept-encoding': accepted } })
    expect(packed.headers.get('content-encoding')).toBe('gzip')
    expect(packed.headers.get('vary')).toBe('accept-encoding')
    const bytes = Buffer.from(await packed.arrayBuffer())
    expect(bytes.length).toBeLessThan(text.length / 3)
    expect(gunzipSync(bytes).toString()).toBe(text)
  }
  for (const refused of ['br', 'gzip;q=0', '*, gzip;q=0', ''])
    expect(
      (await send(`GET ${path}`, { headers: { 'accept-encoding': refused } })).headers.get(
        'content-encoding',
      ),
    ).toBeNull()
  const headers = { 'accept-encoding': 'gzip' }
  const head = await send(`HEAD ${path}`, { headers })
  expect([head.status, head.headers.get('content-encoding'), await head.text()]).toEqual([200, 'gzip', ''])
  expect((await send('GET /api/v1/me', { headers })).headers.get('content-encoding')).toBeNull()
  const stream = await send('GET /api/v1/events', { headers })
  expect(stream.headers.get('content-encoding')).toBeNull()
  await stream.body?.cancel()
})
