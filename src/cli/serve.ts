/** The server of `kalends start`, loaded only with --http. Invalid options are reported before the worker starts. */
import { once } from 'node:events'
import { lstatSync, rmSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import { connect, type Socket } from 'node:net'
import { resolve } from 'node:path'
import { messageOf } from '../errors.ts'
import { clientKey, isLoopback, TrustedProxies } from '../http/client-address.ts'
import { bearer, http, node } from '../http/index.ts'
import type { Kalends } from '../kalends.ts'
import type { Logger } from '../logger.ts'
import { CommandError, EXIT, hasCode, UsageError } from './failure.ts'
import { say } from './output.ts'
import { givenToken, ownToken, type Token } from './token.ts'

interface HttpFlags {
  readonly tokenFile?: string
  readonly trustedProxy: readonly string[]
  readonly httpBuiltInTasks?: boolean
}

/** A port, or a Unix socket that only the worker's user can connect to. */
type Address = { readonly host: string; readonly port: number } | { readonly path: string }

/** Starts the server, and returns a function that closes it. */
export type Serve = (kalends: Kalends, log: Logger) => Promise<() => Promise<void>>

/** In milliseconds. */
const TIMEOUTS = { headersTimeout: 10_000, requestTimeout: 60_000, connectionsCheckingInterval: 1000 }
const CLOSE_MS = 2000
const CONNECTIONS = { total: 1000, perClient: 100 }
/** All users of the page share one token. */
const STREAMS_PER_TOKEN = 50
const PLAIN_HTTP =
  'The token travels over plain HTTP, and other machines can reach this address, so others on the network can read the token. Listen on 127.0.0.1 behind a proxy with TLS, and pass its address with --trusted-proxy'

/**
 * @param text  the address: `127.0.0.1:4040`, `[::1]:4040`, `4040` for this machine only, or `unix:/path`
 * @throws UsageError for options that are invalid or cannot be combined
 */
export function serving(
  text: string,
  { tokenFile, trustedProxy, httpBuiltInTasks }: HttpFlags,
  database: string,
): Serve {
  const address = addressOf(text)
  const isSocket = 'path' in address
  if (isSocket && trustedProxy.length > 0)
    throw new UsageError(
      "option '--trusted-proxy': proxies are identified by address, which a Unix socket does not have; listen on a port",
    )
  const proxies = new TrustedProxies(trustedProxy)
  // A port always requires a token. If a socket requires none, anyone who can connect to it is an administrator.
  const token = givenToken(tokenFile) ?? (isSocket ? null : ownToken(database))
  return async (kalends, logger) => {
    const handler = http(kalends, {
      logger,
      builtInTasks: httpBuiltInTasks === true,
      events: { perUser: STREAMS_PER_TOKEN },
      ...(token === null
        ? { open: 'admin' }
        : {
            authorize: bearer({ [token.value]: { role: 'admin', submit: true, user: 'token' } }),
            trustedProxies: trustedProxy,
          }),
    })
    const server = createServer(TIMEOUTS, node(handler))
    limitConnections(server, CONNECTIONS, (from) => (proxies.trusts(from) ? null : clientKey(from)))
    await listen(server, address)
    announce(server, address, token, logger)
    return async () => {
      const closed = once(server, 'close')
      server.close()
      handler.close()
      server.closeIdleConnections()
      const late = setTimeout(() => server.closeAllConnections(), CLOSE_MS)
      await closed
      clearTimeout(late)
    }
  }
}

function addressOf(text: string): Address {
  if (text.startsWith('unix:') && text.length > 'unix:'.length)
    return { path: resolve(text.slice('unix:'.length)) }
  const parts = /^(?:(\[[\da-f:.]+\]|[\w.-]+)?:)?(\d{1,5})$/i.exec(text)
  const port = Number(parts?.[2])
  if (parts === null || port > 65_535)
    throw new UsageError(
      "option '--http' must be an address such as '127.0.0.1:4040', a port, or a socket such as 'unix:/run/kalends.sock'",
    )
  return { host: (parts[1] ?? '127.0.0.1').replace(/^\[|\]$/g, ''), port }
}

/** `http://127.0.0.1:4040/` or `unix:/path` */
function urlOf(address: Address, port?: number): string {
  if ('path' in address) return `unix:${address.path}`
  const host = address.host.includes(':') ? `[${address.host}]` : address.host
  return `http://${host}:${port ?? address.port}/`
}

/** @throws CommandError if the server cannot listen on the address */
async function listen(server: Server, address: Address): Promise<void> {
  const url = urlOf(address)
  try {
    if ('path' in address) await removeStaleSocket(address.path)
    // `listen` creates the socket within this call, with this umask, so other users cannot connect even briefly.
    const before = process.umask(0o177)
    try {
      server.listen({ ...address })
    } finally {
      process.umask(before)
    }
    await once(server, 'listening')
  } catch (cause) {
    throw new CommandError(`cannot listen on ${url}: ${messageOf(cause)}`, EXIT.failed, { cause })
  }
}

/** A server that was killed leaves its socket behind. */
async function removeStaleSocket(path: string): Promise<void> {
  const found = lstatSync(path, { throwIfNoEntry: false })
  if (found === undefined) return
  if (!found.isSocket())
    throw new Error('the path exists and is not a socket; remove it, or choose another path')
  if (await isAnswered(path))
    throw new Error('another server is already listening there; stop it, or choose another path')
  rmSync(path)
}

async function isAnswered(path: string): Promise<boolean> {
  const socket = connect(path)
  try {
    await once(socket, 'connect')
    return true
  } catch (error) {
    if (hasCode(error, 'ECONNREFUSED')) return false
    throw error
  } finally {
    socket.destroy()
  }
}

function announce(server: Server, address: Address, token: Token | null, log: Logger): void {
  const bound = server.address()
  const tcp = typeof bound === 'string' ? null : bound
  const url = urlOf(address, tcp?.port)
  log.info({ url, token: token === null ? 'none needed' : 'needed' }, 'The REST API is served')
  // The host may be a name that resolves to any address, so check the bound address. No browser can open a Unix socket.
  if (tcp === null) return
  const isRemote = !isLoopback(tcp.address)
  if (isRemote) log.warn({ url }, PLAIN_HTTP)
  if (token === null) return
  // Do not use the logger here, because logs are stored and forwarded. Do not print a token that the user chose.
  if (token.isOwn) {
    // Browsers cannot open a wildcard address, which stands for all addresses of this machine.
    const page = url.replace(/\/\/(?:0\.0\.0\.0|\[::\]):/, '//localhost:')
    say(`Sign in: ${page}#token=${token.value}`)
    say(`The token is stored in ${token.file}.`)
  } else say(`Sign in at ${url} with the token from ${token.file ?? 'KALENDS_TOKEN'}.`)
  if (isRemote) say(`warning: ${PLAIN_HTTP}.`)
}

interface Connection {
  readonly client: string | null
  requests: number
}

const TOO_MANY =
  'HTTP/1.1 429 Too Many Requests\r\nretry-after: 5\r\nconnection: close\r\ncontent-length: 0\r\n\r\n'

/**
 * At a limit, a new connection replaces the oldest one without an open request, so that silent sockets cannot block
 * clients. If every connection has an open request, the new one is refused.
 *
 * @param clientOf  the client at a remote address, whose connections are counted together; null for no limit per client
 */
export function limitConnections(
  server: Server,
  { total, perClient }: typeof CONNECTIONS,
  clientOf: (address: string) => string | null,
): void {
  // Oldest first.
  const connections = new Map<Socket, Connection>()
  const hasRoom = (most: number, counts: (connection: Connection) => boolean): boolean => {
    const counted = [...connections].filter(([, connection]) => counts(connection))
    if (counted.length < most) return true
    const silent = counted.find(([, { requests }]) => requests === 0)?.[0]
    if (silent === undefined) return false
    connections.delete(silent)
    silent.destroy()
    return true
  }
  server.on('connection', (socket) => {
    const client = socket.remoteAddress === undefined ? null : clientOf(socket.remoteAddress)
    const isAdmitted =
      (client === null || hasRoom(perClient, (other) => other.client === client)) &&
      hasRoom(total, () => true)
    if (!isAdmitted) {
      socket.end(TOO_MANY)
      socket.destroySoon()
      return
    }
    connections.set(socket, { client, requests: 0 })
    socket.once('close', () => connections.delete(socket))
  })
  server.on('request', (request, response) => {
    const connection = connections.get(request.socket)
    if (connection === undefined) return
    connection.requests += 1
    response.once('close', () => {
      connection.requests -= 1
    })
  })
}
