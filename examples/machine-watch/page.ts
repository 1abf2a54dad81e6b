/** The web page and the REST API, for whoever has the link that is printed. */
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { Kalends } from 'kalends'
import { bearer, http, node } from 'kalends/http'

export interface Page {
  /** It signs in who opens it: the token is behind #, which browsers send to no server. */
  readonly link: string
  close(): Promise<void>
}

const HOST = '127.0.0.1'

/**
 * It listens to this machine alone, and asks for a token all the same: this machine has other accounts.
 *
 * @param port  if another one of us has it already, any that is free
 */
export async function openPage(kalends: Kalends, port: number): Promise<Page> {
  const token = randomBytes(32).toString('hex')
  const handler = http(kalends, { authorize: bearer({ [token]: { role: 'admin', user: 'page' } }) })
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
    link: `http://${HOST}:${address.port}/#token=${token}`,
    close: async () => {
      const closed = once(server, 'close')
      server.close()
      handler.close()
      server.closeAllConnections()
      await closed
    },
  }
}
