/** Connections are limited in total and per client, and silent connections never block other clients. */
import { once } from 'node:events'
import { createServer, type ServerResponse } from 'node:http'
import { type AddressInfo, connect, type Socket } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { limitConnections } from '../../src/cli/serve.ts'

const OURS = '127.0.0.1'
const THEIRS = '127.0.0.2'
const PROXY = '127.0.0.3'

/** Responds to `/` at once; the test itself completes the responses to `/wait`, which are in `waiting`. */
async function serving(limits: Parameters<typeof limitConnections>[1]) {
  const waiting: ServerResponse[] = []
  const server = createServer((request, response) => {
    if (request.url === '/wait') waiting.push(response)
    else response.end('done')
  })
  limitConnections(server, limits, (address) => (address === PROXY ? null : address))
  server.listen(0, OURS)
  await once(server, 'listening')
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the server listens on a port
  const { port } = server.address() as AddressInfo
  const open = async (localAddress: string): Promise<Socket> => {
    const socket = connect({ port, host: OURS, localAddress }).on('error', () => undefined)
    onTestFinished(() => void socket.destroy())
    const accepted = once(server, 'connection')
    await Promise.all([once(socket, 'connect'), accepted])
    return socket
  }
  const answered = async (socket: Socket, path = '/'): Promise<string> => {
    socket.write(`GET ${path} HTTP/1.1\r\nhost: x\r\n\r\n`)
    const [data] = await once(socket, 'data')
    return String(data)
  }
  /** Connections with active requests. */
  const busy = async (localAddress: string, count: number): Promise<Socket[]> => {
    const sockets: Socket[] = []
    for (let index = 0; index < count; index += 1) {
      const socket = await open(localAddress)
      const requested = once(server, 'request')
      socket.write('GET /wait HTTP/1.1\r\nhost: x\r\n\r\n')
      await requested
      sockets.push(socket)
    }
    return sockets
  }
  return { open, answered, busy, waiting }
}

test('a client that opens silent connections loses its oldest connections, and other clients are not affected', async () => {
  const { open, answered } = await serving({ total: 100, perClient: 3 })
  const other = await open(OURS)
  const silent: Socket[] = []
  for (let index = 0; index < 10; index += 1) silent.push(await open(THEIRS))
  for (const socket of silent.slice(0, 7)) if (!socket.closed) await once(socket, 'close')
  expect(silent.slice(7).map(({ destroyed }) => destroyed)).toEqual([false, false, false])
  expect(await answered(other)).toContain('done')
  expect(await answered(await open(THEIRS))).toContain('done')
})

test('active connections stay open, and further connections get 429 with Retry-After', async () => {
  const { open, answered, busy, waiting } = await serving({ total: 100, perClient: 3 })
  const kept = await busy(THEIRS, 3)
  const refused = await open(THEIRS)
  const [data] = await once(refused, 'data')
  expect(String(data)).toMatch(/^HTTP\/1\.1 429 .*\r\nretry-after: 5\r\n/)
  expect(kept.map(({ destroyed }) => destroyed)).toEqual([false, false, false])
  expect(await answered(await open(OURS))).toContain('done')
  // Once a request has been answered, another connection is accepted.
  const [first] = kept
  waiting[0]?.end('done')
  if (first !== undefined) await once(first, 'data')
  expect(await answered(await open(THEIRS))).toContain('done')
})

test('silent connections from a hundred clients do not block other clients [V4]', async () => {
  const { open, answered } = await serving({ total: 50, perClient: 5 })
  for (let index = 0; index < 200; index += 1) await open(`127.0.1.${1 + (index % 100)}`)
  expect(await answered(await open(OURS))).toContain('done')
})

test('when all connections are active, further connections get 429', async () => {
  const { open, busy } = await serving({ total: 4, perClient: 3 })
  await busy(THEIRS, 2)
  await busy(OURS, 2)
  const [data] = await once(await open('127.0.0.9'), 'data')
  expect(String(data)).toMatch(/^HTTP\/1\.1 429 /)
})

test('a trusted proxy is exempt from the limit per client, because its connections belong to many clients', async () => {
  const { open, answered, busy } = await serving({ total: 100, perClient: 2 })
  await busy(PROXY, 10)
  expect(await answered(await open(PROXY))).toContain('done')
})
