/** `kalends start --http`: the REST API on a server of its own. Loaded only when it is asked for. */
import { once } from 'node:events'
import { lstatSync, rmSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import { connect } from 'node:net'
import { InvalidInputError } from '../errors.ts'
import type { Logger } from '../index.ts'
import type { Kalends } from '../kalends.ts'
import { clientKey, isLoopback, TrustedProxies } from '../http/client-address.ts'
import { bearer, http, node } from '../http/index.ts'
import { limitConnections } from './connections.ts'
import { CommandError, EXIT } from './failure.ts'
import { type HttpAddress, type PortAddress, type SocketAddress, urlHost } from './http-address.ts'

export interface ServeOptions {
  readonly address: HttpAddress
  /** Who sends it may do everything. Null: who can connect to the socket may; a port always has one. */
  readonly token: string | null
  readonly trustedProxies: readonly string[]
  /** Whether callers may use `command` and `kalends.*`. */
  readonly builtInTasks: boolean
  readonly logger: Logger
}

export interface Serving {
  /** Where it is: `http://127.0.0.1:4040/` or `unix:/path`. */
  readonly url: string
  /** Null: a socket, which no browser can open. */
  readonly port: number | null
  /** Whether other machines can reach it. */
  readonly isRemote: boolean
  readonly close: () => Promise<void>
}

/** A header that comes in pieces, or never, is given up. */
const HEADERS_MS = 10_000
const CHECKED_EVERY_MS = 1000
const REQUEST_MS = 60_000
const CONNECTIONS = { total: 1000, perClient: 100 }
/** One token is shared by all who read the page. */
const STREAMS_PER_TOKEN = 50

/** @throws CommandError when a range cannot be meant */
export function checkTrustedProxies(ranges: readonly string[]): TrustedProxies {
  try {
    return new TrustedProxies(ranges)
  } catch (error) {
    if (!(error instanceof InvalidInputError)) throw error
    throw new CommandError(error.message.replace('trustedProxies', "option '--trusted-proxy'"), {
      exitCode: EXIT.usage,
    })
  }
}

/** @throws CommandError when nothing can listen there */
export async function serve(
  kalends: Kalends,
  { address, token, trustedProxies, builtInTasks, logger }: ServeOptions,
): Promise<Serving> {
  if (token === null && !('path' in address))
    throw new CommandError('a server on a port needs a token', { exitCode: EXIT.usage })
  const handler = http(kalends, {
    logger,
    builtInTasks,
    events: { perUser: STREAMS_PER_TOKEN },
    ...(token === null
      ? { open: 'admin' }
      : { authorize: bearer({ [token]: { role: 'admin', submit: true, user: 'token' } }), trustedProxies }),
  })
  const server = createServer(
    {
      headersTimeout: HEADERS_MS,
      requestTimeout: REQUEST_MS,
      connectionsCheckingInterval: CHECKED_EVERY_MS,
    },
    node(handler),
  )
  const proxies = checkTrustedProxies(trustedProxies)
  limitConnections(server, CONNECTIONS, (from) => (proxies.trusts(from) ? null : clientKey(from)))
  const url = 'path' in address ? `unix:${address.path}` : `http://${urlHost(address.host)}:${address.port}/`
  try {
    await ('path' in address ? listenOnSocket(server, address) : listenOnPort(server, address))
  } catch (cause) {
    if (cause instanceof CommandError) throw cause
    throw new CommandError(
      `cannot listen on ${url}: ${cause instanceof Error ? cause.message : String(cause)}`,
      { cause, exitCode: EXIT.failed },
    )
  }
  const close = async () => {
    const closed = once(server, 'close')
    server.close()
    handler.close()
    server.closeIdleConnections()
    const late = setTimeout(() => server.closeAllConnections(), 2000)
    await closed
    clearTimeout(late)
  }
  const bound = server.address()
  if (typeof bound !== 'object' || bound === null || 'path' in address)
    return { url, port: null, isRemote: false, close }
  return {
    url: `http://${urlHost(address.host)}:${bound.port}/`,
    port: bound.port,
    // A name may lead anywhere.
    isRemote: !isLoopback(bound.address),
    close,
  }
}

async function listenOnPort(server: Server, { host, port }: PortAddress): Promise<void> {
  server.listen(port, host)
  await once(server, 'listening')
}

async function listenOnSocket(server: Server, { path }: SocketAddress): Promise<void> {
  const found = lstatSync(path, { throwIfNoEntry: false })
  if (found !== undefined) {
    if (!found.isSocket())
      throw new CommandError(
        `cannot listen on unix:${path}: the path exists and is not a socket; remove it or name another path`,
      )
    if (await isAnswered(path))
      throw new CommandError(
        `cannot listen on unix:${path}: another server listens there; stop it or name another path`,
      )
    // A server that was killed leaves its socket behind.
    rmSync(path)
  }
  // The socket is created within this call, so no other process can connect before its mode is set.
  const before = process.umask(0o177)
  try {
    server.listen(path)
  } finally {
    process.umask(before)
  }
  await once(server, 'listening')
}

async function isAnswered(path: string): Promise<boolean> {
  const socket = connect(path)
  try {
    await once(socket, 'connect')
    return true
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ECONNREFUSED') return false
    throw error
  } finally {
    socket.destroy()
  }
}
