/** Forwarding headers count only if trusted proxies send them, and an open API rejects requests with such headers. */
import { once } from 'node:events'
import { createServer, request as rawRequest } from 'node:http'
import { connect, type AddressInfo } from 'node:net'
import { describe, expect, it, onTestFinished } from 'vitest'
import { clientKey, TrustedProxies } from '../../src/http/client-address.ts'
import { type Access, http, type HttpOptions, node } from '../../src/http/index.ts'
import { Kalends } from '../../src/index.ts'
import { collectingLogger } from '../kalends/scene.ts'

const reader: Access = { role: 'read', user: 'rita' }

async function served(options: HttpOptions) {
  const kalends = await Kalends.open('sqlite::memory:', { retention: false })
  onTestFinished(() => kalends.stop())
  const { logger, lines } = collectingLogger()
  const handler = http(kalends, { logger, ...options })
  onTestFinished(() => handler.close())
  const server = createServer(node(handler)).listen(0)
  await once(server, 'listening')
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the server listens on a port
  const { port } = server.address() as AddressInfo
  const get = async (path: string, headers: Record<string, string> = {}, localAddress = '127.0.0.1') => {
    const sent = rawRequest({
      host: '127.0.0.1',
      port,
      path,
      localAddress,
      headers: { host: `localhost:${port}`, ...headers },
      agent: false,
    })
    sent.end()
    const [response] = await once(sent, 'response')
    let text = ''
    for await (const part of response) text += String(part)
    return { status: Number(response.statusCode), body: text.startsWith('{') ? JSON.parse(text) : text }
  }
  return { get, lines, port }
}

describe('an open API', () => {
  it.each([
    ['x-forwarded-for', '203.0.113.7'],
    ['X-Forwarded-Host', 'admin.example'],
    ['x-forwarded-proto', 'https'],
    ['x-forwarded', 'for=203.0.113.7'],
    ['Forwarded', 'for=203.0.113.7'],
    ['X-Real-IP', '127.0.0.1'],
    ['via', '1.1 proxy'],
    ['cf-connecting-ip', '203.0.113.7'],
  ])('rejects a request with %s, whatever its value [V4]', async (name, value) => {
    const { get, lines } = await served({ open: 'admin' })
    expect((await get('/api/v1/me')).status).toBe(200)
    for (const path of ['/api/v1/me', '/health', '/', '/icon.svg'])
      expect(await get(path, { [name]: value, accept: 'text/html' })).toMatchObject({
        status: 403,
        body: { code: 'FORWARDED', detail: expect.stringMatching(/authorize.*trustedProxies/) },
      })
    expect(lines).toContainEqual({
      level: 'warn',
      message: 'A request was refused',
      fields: { refused: expect.objectContaining({ code: 'FORWARDED', address: '127.0.0.1' }) },
    })
  })

  it('rejects HTTP/1.0, which is used by proxies that send no forwarding headers', async () => {
    const { port } = await served({ open: 'admin' })
    const socket = connect(port, '127.0.0.1')
    socket.end('GET /api/v1/me HTTP/1.0\r\nhost: 127.0.0.1\r\nconnection: close\r\n\r\n')
    let answer = ''
    for await (const part of socket) answer += String(part)
    expect(answer).toMatch(/^HTTP\/1\.1 403 /)
  })

  it('cannot have trusted proxies', async () => {
    await using kalends = await Kalends.open('sqlite::memory:')
    expect(() => http(kalends, { open: 'read', trustedProxies: ['127.0.0.1'] })).toThrow(
      /trustedProxies: .*authorize/,
    )
  })
})

describe('an API with authorize', () => {
  const seen = async (options: HttpOptions, headers: Record<string, string>, from?: string) => {
    let address: string | undefined
    const { get, lines } = await served({
      authorize: (_request, context) => {
        address = context.address
        return reader
      },
      ...options,
    })
    expect((await get('/api/v1/me', headers, from)).status).toBe(200)
    return { address, lines }
  }

  it('uses the address of the connection, regardless of headers', async () => {
    const { address, lines } = await seen(
      {},
      { 'x-forwarded-for': '203.0.113.7', 'x-real-ip': '203.0.113.8' },
    )
    expect(address).toBe('127.0.0.1')
    expect(lines).toEqual([
      { level: 'warn', message: expect.stringContaining('trustedProxies'), fields: { address: '127.0.0.1' } },
    ])
  })

  it.each([
    [
      'the rightmost address that is not a trusted proxy',
      '198.51.100.9, 203.0.113.7, 127.0.0.9',
      '203.0.113.7',
    ],
    ['the address after one that the client has added', '127.0.0.1, 203.0.113.7', '203.0.113.7'],
    ['an IPv4 address without its port', '203.0.113.7:5123', '203.0.113.7'],
    ['an IPv6 address without its port', '[2001:db8::1]:5123', '2001:db8::1'],
    ['the IPv4 address in an IPv6 address', '::ffff:203.0.113.7', '203.0.113.7'],
    ['the leftmost address if all are trusted proxies', '127.0.0.8, 127.0.0.9', '127.0.0.8'],
    ['the address of the connection if the header is invalid', '203.0.113.7, unknown', '127.0.0.1'],
    ['the address of the connection if the header is empty', '', '127.0.0.1'],
  ])('behind a trusted proxy, uses %s', async (_what, header, expected) => {
    const { address, lines } = await seen({ trustedProxies: ['127.0.0.0/8'] }, { 'x-forwarded-for': header })
    expect(address).toBe(expected)
    expect(lines).toEqual([])
  })

  it('does not trust a proxy at another address', async () => {
    const { address } = await seen(
      { trustedProxies: ['127.0.0.9', '10.0.0.0/8', 'fd00::/8'] },
      { 'x-forwarded-for': '203.0.113.7' },
      '127.0.0.2',
    )
    expect(address).toBe('127.0.0.2')
  })

  it("accepts the client's address from a server that has no Node.js request", async () => {
    await using kalends = await Kalends.open('sqlite::memory:')
    const addresses: (string | undefined)[] = []
    const handler = http(kalends, {
      trustedProxies: ['10.0.0.1'],
      authorize: (_request, { address }) => {
        addresses.push(address)
        return reader
      },
    })
    const request = () =>
      new Request('https://app.example/api/v1/me', { headers: { 'x-forwarded-for': '203.0.113.7' } })
    await handler(request(), { address: '10.0.0.1' })
    await handler(request(), { address: '10.0.0.2' })
    await handler(request())
    expect(addresses).toEqual(['203.0.113.7', '10.0.0.2', undefined])
  })

  it('warns once about tokens that another machine sends over plain HTTP', async () => {
    await using kalends = await Kalends.open('sqlite::memory:')
    const { logger, messages } = collectingLogger()
    const handler = http(kalends, { authorize: () => reader, trustedProxies: ['10.0.0.1'], logger })
    const call = (
      url: string,
      address: string,
      headers: Record<string, string> = { authorization: 'Bearer x' },
    ) => handler(new Request(url, { headers }), { address })
    await call('http://app.example/api/v1/me', '127.0.0.1')
    await call('http://app.example/api/v1/me', '10.0.0.1')
    await call('https://app.example/api/v1/me', '203.0.113.7')
    await call('http://app.example/api/v1/me', '203.0.113.7', {})
    expect(messages()).toEqual([])
    await call('http://app.example/api/v1/me', '203.0.113.7')
    await call('http://app.example/api/v1/me', '203.0.113.7')
    expect(messages()).toEqual([expect.stringContaining('warn: A token was sent over plain HTTP')])
  })
})

it.each([
  'localhost',
  '10.0.0.0/33',
  '10.0.0.0/-1',
  '10.0.0.0/8/8',
  'fd00::/129',
  '',
  '10.0.0/8',
  '10.0.0.0/',
])('trustedProxies rejects %j and states what it expects', (range) => {
  expect(() => new TrustedProxies([range])).toThrow(/trustedProxies: .*'10\.0\.0\.0\/8'/)
})

it('very long address lists are read correctly', () => {
  const proxies = new TrustedProxies(['10.0.0.0/8'])
  const headers = new Headers({ 'x-forwarded-for': `203.0.113.7,${'10.0.0.1,'.repeat(1700)}10.0.0.1` })
  expect(proxies.clientOf('10.0.0.1', headers)).toBe('203.0.113.7')
  expect(proxies.clientOf('10.0.0.1', new Headers({ 'x-forwarded-for': '['.repeat(15_000) }))).toBe(
    '10.0.0.1',
  )
})

it('limits treat the /64 of an IPv6 address as one client', () => {
  expect(clientKey('203.0.113.7')).toBe('203.0.113.7')
  expect(clientKey('2001:db8:1:2:3:4:5:6')).toBe(clientKey('2001:db8:1:2::9'))
  expect(clientKey('2001:db8::1')).toBe(clientKey('2001:db8:0:0:ffff::'))
  expect(clientKey('2001:db8:1:2::1')).not.toBe(clientKey('2001:db8:1:3::1'))
  expect(clientKey('::1')).toBe('0000:0000:0000:0000::/64')
  // A server that listens on :: gets the addresses of IPv4 clients in this form.
  expect(clientKey('::ffff:203.0.113.7')).toBe('203.0.113.7')
})
