import { expect, it, vi } from 'vitest'
import { databases } from '../support/databases.ts'
import { Proxy } from '../support/worker-proxy.ts'
import { apiScene } from './scene.ts'
import { until } from '../kalends/scene.ts'

const server = databases.find(({ kind }) => kind !== 'sqlite')
const sqlite = databases.find(({ kind }) => kind === 'sqlite')

it.skipIf(server === undefined)(
  'if the database is unavailable, readiness responds with 503 and reasons, and liveness with 200',
  async () => {
    if (server === undefined) return
    const proxies: Proxy[] = []
    const fresh = async () => {
      const database = await server.fresh()
      const proxy = await Proxy.open(database.url)
      proxies.push(proxy)
      return {
        kind: database.kind,
        url: proxy.url,
        query: database.query.bind(database),
        drop: async () => {
          await proxy.close()
          await database.drop()
        },
      }
    }
    const { kalends, call } = await apiScene({ fresh }, {}, { lease: 2000 })
    await kalends.start()
    expect(await call('GET /health')).toMatchObject({
      status: 200,
      body: { ok: true, live: true, reasons: [] },
    })
    for (const proxy of proxies) proxy.cut()
    const broken = await until(async () => {
      const reply = await call('GET /health')
      return reply.status === 503 ? reply : null
    })
    expect(broken.body.reasons[0]).toMatchObject({
      code: 'failing',
      text: expect.stringContaining('database'),
    })
    expect(await call('GET /health/live')).toMatchObject({ status: 200, body: { ok: false, live: true } })
    // The reasons may contain host and user names, so unknown callers do not get them.
    expect((await call('GET /health', { as: 'nobody' })).body).toEqual({ ok: false, live: true })
    for (const proxy of proxies) proxy.mend()
    await until(async () => ((await call('GET /health')).status === 200 ? true : null))
  },
)

it.skipIf(sqlite === undefined)('if the process hangs permanently, liveness responds with 503', async () => {
  if (sqlite === undefined) return
  const { kalends, call } = await apiScene(sqlite)
  const health = kalends.health()
  vi.spyOn(kalends, 'health').mockReturnValue({ ...health, ok: false, live: false })
  expect((await call('GET /health/live')).status).toBe(503)
  expect((await call('GET /health/live', { as: 'nobody' })).body).toEqual({ ok: false, live: false })
})
