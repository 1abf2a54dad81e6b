/** `kalends start --http`: the REST API on a server of its own. Loaded only when it is asked for. */
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { Logger } from '../index.ts'
import type { Kalends } from '../kalends.ts'
import { bearer, http, node } from '../http/index.ts'
import { CommandError, EXIT } from './failure.ts'
import { type HttpAddress, isLoopback } from './http-address.ts'

export interface Serving {
  /** Where it is. */
  readonly url: string
  readonly close: () => Promise<void>
}

/** A header that comes in pieces, or never ends, is given up. */
const HEADERS_MS = 20_000
const REQUEST_MS = 60_000
const MOST_CONNECTIONS = 1000

/**
 * @param token  whoever sends it may do everything; null: whoever is on this machine may
 * @throws CommandError when nothing can listen there
 */
export async function serve(
  kalends: Kalends,
  { host, port }: HttpAddress,
  token: string | null,
  logger: Logger,
): Promise<Serving> {
  const handler = http(
    kalends,
    token === null
      ? { open: 'admin', hosts: [host.includes(':') ? `[${host}]` : host], logger }
      : { authorize: bearer({ [token]: { role: 'admin', user: 'token' } }), logger },
  )
  const listener = node(handler)
  const server = createServer({ headersTimeout: HEADERS_MS, requestTimeout: REQUEST_MS }, listener)
  server.maxConnections = MOST_CONNECTIONS
  server.listen(port, host)
  try {
    await once(server, 'listening')
  } catch (cause) {
    throw new CommandError(
      `cannot listen on ${host}:${port}: ${cause instanceof Error ? cause.message : String(cause)}`,
      { cause, exitCode: EXIT.failed },
    )
  }
  const address = server.address()
  const close = async () => {
    const closed = once(server, 'close')
    server.close()
    handler.close()
    server.closeIdleConnections()
    const late = setTimeout(() => server.closeAllConnections(), 2000)
    await closed
    clearTimeout(late)
  }
  const bound = typeof address === 'object' && address !== null ? address : { address: host, port }
  // A name may lead anywhere.
  if (token === null && !isLoopback(bound.address)) {
    await close()
    throw new CommandError(
      `'${host}' is ${bound.address}, which others can reach; give a token: --token or KALENDS_TOKEN`,
      {
        exitCode: EXIT.usage,
      },
    )
  }
  return { url: `http://${host.includes(':') ? `[${host}]` : host}:${bound.port}/`, close }
}
