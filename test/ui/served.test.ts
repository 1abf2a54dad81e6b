/** The page is served under any base path, even before sign-in, and its policy allows only content from its server. */
import { describe, expect, it, onTestFinished } from 'vitest'
import { http, type HttpOptions } from '../../src/http/index.ts'
import { Kalends } from '../../src/index.ts'

const HTML = { accept: 'text/html,application/xhtml+xml' }

async function served(options: HttpOptions = { open: 'read' }) {
  const kalends = await Kalends.open('sqlite::memory:', { retention: false })
  onTestFinished(() => kalends.stop())
  const handler = http(kalends, options)
  return (path: string, headers: Record<string, string> = HTML) =>
    handler(new Request(`http://localhost:4040${path}`, { headers }))
}

describe.each([
  ['', './'],
  ['/schedules', './'],
  ['/schedules/', '../'],
  ['/jobs/one', '../'],
  ['/calendar', './'],
  ['/workers', './'],
  ['/schedules/jobs', '../'],
  ['/schedules/health', '../'],
  ['/schedules/a%2Fb/edit', '../../'],
])('the address %j of the page', (address, base) => {
  it.each([undefined, '/kalends', '/deep/er'])('is below the mount point %j', async (basePath) => {
    const get = await served({ open: 'read', basePath })
    const response = await get(`${basePath ?? ''}${address === '' ? '/' : address}`)
    expect(response.status).toBe(200)
    expect(response.headers.get('content-type')).toBe('text/html; charset=utf-8')
    expect(response.headers.get('content-security-policy')).toContain("script-src 'self'")
    expect(await response.text()).toContain(`<base href="${base}" />`)
  })

  it('is nowhere else', async () => {
    const get = await served()
    expect((await get(`/evil${address === '' ? '/' : address}`)).status).toBe(404)
  })
})

it.each(['/schedules/a/b', '/schedules//edit', '/jobs/one/two', '/calendar/x', '/schedules//', '//', '/x'])(
  '%s is not a URL of the page',
  async (path) => {
    const response = await (await served())(path)
    expect(response.status).toBe(404)
    // The body is the page, which reports the unknown address and links back.
    expect(response.headers.get('content-type')).toBe('text/html; charset=utf-8')
  },
)

it('the mount point without a trailing slash redirects to the URL with one', async () => {
  const get = await served({ open: 'read', basePath: '/admin/kalends/' })
  const response = await get('/admin/kalends')
  expect(response.status).toBe(308)
  const location = response.headers.get('location') ?? ''
  expect(new URL(location, 'http://localhost:4040/admin/kalends').pathname).toBe('/admin/kalends/')
})

it('the files of the page are compressed, and those with hashed names can be cached forever', async () => {
  const get = await served({ open: 'read', basePath: 'kalends' })
  const html = await (await get('/kalends/')).text()
  const [, script] = /src="\.\/(assets\/[^"]+\.js)"/.exec(html) ?? []
  const response = await get(`/kalends/${script}`, { 'accept-encoding': 'gzip, br' })
  expect(response.headers.get('content-encoding')).toBe('gzip')
  expect(response.headers.get('cache-control')).toContain('immutable')
  expect(response.headers.get('content-type')).toBe('text/javascript; charset=utf-8')
  for (const path of [`/${script}`, `/other/${script}`]) expect((await get(path)).status).toBe(404)
})

it('the API responds with JSON even to browsers, and other clients never get the page', async () => {
  const get = await served()
  expect((await get('/api/v1/schedules')).headers.get('content-type')).toContain('application/json')
  expect((await get('/health')).headers.get('content-type')).toContain('application/json')
  expect((await get('/api/v1/nothing', { accept: 'application/json' })).status).toBe(404)
  expect((await get('/schedules', { accept: 'application/json' })).status).toBe(404)
})

it('a request with an unknown host gets no page', async () => {
  const get = await served()
  expect((await get('/', { ...HTML, host: 'evil.example' })).status).toBe(421)
  expect((await get('/icon.svg', { host: 'evil.example' })).status).toBe(421)
})

it('no page is served if the API is closed or the page is switched off', async () => {
  expect((await (await served({}))('/')).status).toBe(404)
  expect((await (await served({ open: 'admin', page: false }))('/')).status).toBe(404)
})

it('a user who is not signed in gets the page but no data', async () => {
  const get = await served({ authorize: () => null })
  expect((await get('/schedules')).status).toBe(200)
  expect((await get('/api/v1/schedules')).status).toBe(401)
})
