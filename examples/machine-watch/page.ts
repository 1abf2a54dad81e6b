/** The web page and the REST API, for whoever is on this machine. */
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { Kalends } from 'kalends'
import { http, node } from 'kalends/http'

export interface Page {
  readonly url: string
  close(): Promise<void>
}

const HOST = '127.0.0.1'

/**
 * Nobody has to sign in, so it listens to this machine alone, and answers only under its names.
 *
 * @param port  if another one of us has it already, any that is free
 */
export async function openPage(kalends: Kalends, port: number): Promise<Page> {
  const handler = http(kalends, { open: 'admin' })
  const server = createServer(node(handler))
  const listen = async (on: number) => {
    server.listen(on, HOST)
    await once(server, 'listening')
  }
  try {
    await listen(port)
  } catch {
    await listen(0)
  }
  const address = server.address()
  if (address === null || typeof address === 'string') throw new Error('The server has no port')
  return {
    url: `http://${HOST}:${address.port}/`,
    close: async () => {
      const closed = once(server, 'close')
      server.close()
      handler.close()
      server.closeAllConnections()
      await closed
    },
  }
}
