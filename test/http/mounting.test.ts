/** The handler, mounted in common web servers and frameworks. */
import { once } from 'node:events'
import { createServer, request as rawRequest, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { connect } from 'node:net'
import express from 'express'
import fastify from 'fastify'
import { Hono } from 'hono'
import { describe, expect, it, onTestFinished } from 'vitest'
import { http, type HttpHandler, type HttpOptions, node } from '../../src/http/index.ts'
import { Kalends } from '../../src/index.ts'

const mail = { task: 'mail', timer: 'daily', args: { to: 'ä' } }

async function kalendsAndHandler(
  options: HttpOptions = {},
): Promise<{ kalends: Kalends; handler: HttpHandler }> {
  const kalends = await Kalends.open('sqlite::memory:')
  onTestFinished(() => kalends.stop())
  const handler = http(kalends, {
    // As in an application with its own sign-in, whose middleware sets the user on the request.
    authorize: (request, { incoming }) => {
      const user: unknown =
        incoming === undefined ? request.headers.get('x-user') : incoming.headers['x-user']
      return typeof user === 'string' ? { role: 'admin', user } : null
    },
    ...options,
  })
  onTestFinished(() => handler.close())
  return { kalends, handler }
}

async function listening(server: Server): Promise<string> {
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  // A server that listens on a port has an address of this type.
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

const mounts: Record<string, () => Promise<{ url: string }>> = {
  'node:http': async () => {
    const { handler } = await kalendsAndHandler()
    return {
      url: await listening(createServer((request, response) => node(handler)(request, response))),
    }
  },
  'node:http under a path': async () => {
    const { handler } = await kalendsAndHandler({ basePath: '/deep/er' })
    return {
      url: `${await listening(createServer((request, response) => node(handler)(request, response)))}/deep/er`,
    }
  },
  'Express 5': async () => {
    const { handler } = await kalendsAndHandler()
    const app = express()
    app.use('/kalends', node(handler))
    return { url: `${await listening(createServer(app))}/kalends` }
  },
  'Express 5 behind express.json()': async () => {
    const { handler } = await kalendsAndHandler()
    const app = express()
    app.use(express.json())
    app.use('/kalends', node(handler))
    return { url: `${await listening(createServer(app))}/kalends` }
  },
  'Fastify 5': async () => {
    const { handler } = await kalendsAndHandler({ basePath: '/kalends' })
    const app = fastify({ forceCloseConnections: true })
    await app.register((scope, _options, done) => {
      scope.removeAllContentTypeParsers()
      scope.addContentTypeParser('*', (_request, _payload, parsed) => parsed(null))
      scope.all('/kalends/*', (request, reply) => {
        reply.hijack()
        return node(handler)(request.raw, reply.raw)
      })
      done()
    })
    onTestFinished(() => app.close())
    return { url: `${await app.listen({ port: 0, host: '127.0.0.1' })}/kalends` }
  },
  Hono: async () => {
    const { handler } = await kalendsAndHandler({ basePath: '/kalends' })
    const app = new Hono()
    app.all('/kalends/*', (c) => handler(c.req.raw))
    return {
      url: `${await listening(
        createServer((request, response) =>
          node(Object.assign((web: Request) => Promise.resolve(app.fetch(web)), { close: () => {} }))(
            request,
            response,
          ),
        ),
      )}/kalends`,
    }
  },
}

describe.each(Object.entries(mounts))('%s', (_name, mount) => {
  it('every kind of call works', async () => {
    const { url } = await mount()
    const call = (method: string, path: string, body?: unknown) =>
      fetch(`${url}${path}`, {
        method,
        headers: { 'x-user': 'ada', ...(body !== undefined && { 'content-type': 'application/json' }) },
        ...(body !== undefined && { body: JSON.stringify(body) }),
      })
    expect((await fetch(`${url}/api/v1/schedules`)).status).toBe(401)
    const made = await call('POST', '/api/v1/schedules', { ...mail, id: 'a b?c' })
    expect(made.status).toBe(201)
    expect(made.headers.get('location')).toBe(
      `${new URL(url).pathname.replace(/^\/$/, '')}/api/v1/schedules/a%20b%3Fc`,
    )
    expect(await (await call('GET', '/api/v1/schedules/?limit=1')).json()).toMatchObject({
      items: [{ id: 'a b?c', args: { to: 'ä' } }],
      total: 1,
    })
    expect((await call('PATCH', '/api/v1/schedules/a%20b%3Fc/', { summary: 'x' })).status).toBe(200)
    expect((await call('POST', '/api/v1/schedules/a%20b%3Fc/pause')).status).toBe(200)
    expect((await call('POST', '/api/v1/schedules', { ...mail, unknown: 1 })).status).toBe(422)
    expect((await call('DELETE', '/api/v1/schedules/a%20b%3Fc')).status).toBe(204)
    expect((await call('GET', '/health')).status).toBe(200)
    expect((await call('GET', '/health/live')).status).toBe(200)
    expect(await (await call('GET', '/metrics')).text()).toContain('kalends_running_jobs 0')
    expect((await call('GET', '/api/v1/nowhere')).status).toBe(404)
    const document: { servers: { url: string }[] } = JSON.parse(
      await (await call('GET', '/api/v1/openapi.json')).text(),
    )
    expect(document.servers).toEqual([{ url: new URL(url).pathname.replace(/(.)\/$/, '$1') }])
    const controller = new AbortController()
    const events = await fetch(`${url}/api/v1/events`, {
      headers: { 'x-user': 'ada' },
      signal: controller.signal,
    })
    const first = await events.body?.getReader().read()
    expect(new TextDecoder().decode(first?.value)).toContain('event: hello')
    controller.abort()
  })
})

it('a request that does not accept HTML gets a helpful message at the URL of the page', async () => {
  const { handler } = await kalendsAndHandler()
  for (const path of ['', '/'])
    for (const accept of ['*/*', 'application/json']) {
      const request = new Request(`http://localhost/kalends${path}`, { headers: { accept } })
      const response = await handler(request, { basePath: '/kalends' })
      expect(response.status).toBe(200)
      expect(await response.text()).toMatch(/browser .*\n.* \/kalends\/api\/v1\/schedules;/)
    }
})

describe('without basePath', () => {
  it.each(['/evil/api/v1/me', '/evil/health', '/api/v1x/api/v1/me', '/kalends/', '/evil/'])(
    '%s is 404, because nothing is mounted there',
    async (path) => {
      const { handler } = await kalendsAndHandler()
      const response = await handler(
        new Request(`http://localhost${path}`, { headers: { 'x-user': 'ada', accept: 'text/html' } }),
      )
      expect(response.status).toBe(404)
    },
  )

  it('Express reports its mount point, even with parameters', async () => {
    const { handler } = await kalendsAndHandler()
    const app = express()
    app.use('/:tenant/kalends', node(handler))
    const url = await listening(createServer(app))
    const status = async (path: string) =>
      (await fetch(`${url}${path}`, { headers: { 'x-user': 'ada', accept: 'text/html' } })).status
    expect(await status('/acme/kalends/api/v1/me')).toBe(200)
    expect(await status('/acme/kalends/evil/api/v1/me')).toBe(404)
    // The handler redirects to the mount point with a trailing slash, where it serves the page.
    expect(await status('/acme/kalends?x=1')).toBe(200)
  })

  it('a framework that only strips the mount point, such as Connect, also works', async () => {
    const { handler } = await kalendsAndHandler()
    const listener = node(handler)
    const url = await listening(
      createServer((request, response) => {
        const whole = request.url ?? ''
        request.url = whole.replace('/mounted', '')
        listener(Object.assign(request, { originalUrl: whole }), response)
      }),
    )
    const status = async (path: string) =>
      (await fetch(`${url}${path}`, { headers: { 'x-user': 'ada' } })).status
    expect(await status('/mounted/api/v1/me?x')).toBe(422)
    expect(await status('/mounted/api/v1/me')).toBe(200)
    expect(await status('/mounted/evil/api/v1/me')).toBe(404)
  })
})

describe('with basePath', () => {
  it.each(['/kalends', 'kalends', '/kalends/', '//kalends//'])(
    '%s: only paths below the base path are served',
    async (basePath) => {
      const { handler } = await kalendsAndHandler({ basePath })
      const status = async (path: string) =>
        (await handler(new Request(`http://localhost${path}`, { headers: { 'x-user': 'ada' } }))).status
      expect(await status('/kalends/api/v1/me')).toBe(200)
      for (const path of [
        '/api/v1/me',
        '/kalendsx/api/v1/me',
        '/evil/kalends/api/v1/me',
        '/kalends/x/api/v1/me',
      ])
        expect([path, await status(path)]).toEqual([path, 404])
    },
  )

  it('a path with . or .. segments is never below the base path', async () => {
    const { handler, kalends } = await kalendsAndHandler({ basePath: '/kal' })
    const url = await listening(createServer((request, response) => node(handler)(request, response)))
    const status = async (path: string) => {
      const request = rawRequest(url, { path, headers: { 'x-user': 'ada' } }).end()
      const [response] = await once(request, 'response')
      response.resume()
      return response.statusCode
    }
    for (const path of [
      '/x/../kal/api/v1/me',
      '/x/%2e%2E/kal/api/v1/me',
      '/x/.%2e/kal/api/v1/me',
      '/./kal/api/v1/me',
      '/kal/../kal/api/v1/me',
      '/kal/x/../api/v1/me',
      '/kal/api/v1/%2e/me',
      '/kal/api/v1/me/.',
      '/x/..?/kal/api/v1/me',
    ])
      expect([path, await status(path)]).toEqual([path, 404])
    expect(await status('/kal/api/v1/me')).toBe(200)
    expect(await status('/kal/api/v1/schedules?text=/../&task=a/..')).toBe(200)
    await kalends.schedules.create({ ...mail, id: '..a' })
    expect(await status('/kal/api/v1/schedules/..a')).toBe(200)
  })

  it('a base path that is not percent-encoded also matches', async () => {
    const { handler } = await kalendsAndHandler({ basePath: '/größe' })
    const request = new Request('http://localhost/größe/api/v1/me', { headers: { 'x-user': 'ada' } })
    expect((await handler(request)).status).toBe(200)
  })

  it.each(['/a?b', '/a#b', '\\a'])('%s is rejected because it is not a path', async (basePath) => {
    await expect(kalendsAndHandler({ basePath })).rejects.toThrow('basePath: ')
  })
})

it('a client that disconnects ends its stream', async () => {
  const { handler } = await kalendsAndHandler()
  let streams = 0
  const counted: HttpHandler = Object.assign(
    async (...args: Parameters<HttpHandler>) => {
      const response = await handler(...args)
      streams += 1
      args[0].signal.addEventListener('abort', () => {
        streams -= 1
      })
      return response
    },
    { close: () => handler.close() },
  )
  const url = await listening(createServer((request, response) => node(counted)(request, response)))
  for (let index = 0; index < 3; index += 1) {
    const request = rawRequest(`${url}/api/v1/events`, { headers: { 'x-user': 'ada' } }).end()
    const [response] = await once(request, 'response')
    await once(response, 'data')
    request.destroy()
  }
  await expect.poll(() => streams).toBe(0)
})

it('the server rejects malformed requests, such as one with two content lengths', async () => {
  const { handler } = await kalendsAndHandler()
  const url = new URL(await listening(createServer((request, response) => node(handler)(request, response))))
  for (const text of [
    'POST /api/v1/schedules HTTP/1.1\r\nhost: x\r\ncontent-length: 5\r\ncontent-length: 6\r\n\r\n',
    'GET /api/v1/me HTTP/1.1\r\nhost: a\r\nhost: b\r\n\r\n',
    'GET //evil.example/api/v1/me HTTP/1.1\r\nhost: \r\nconnection: close\r\n\r\n',
    'GET http://[::1/api/v1/me HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n',
    'GET /api/v1/schedules/%ff%fe HTTP/1.1\r\nhost: x\r\nx-user: ada\r\nconnection: close\r\n\r\n',
  ]) {
    const socket = connect(Number(url.port), url.hostname)
    socket.end(text)
    let answer = ''
    for await (const part of socket) answer += String(part)
    expect([text, answer.slice(9, 12)]).toEqual([text, expect.stringMatching(/^4/)])
  }
})
