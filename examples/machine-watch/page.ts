/** The web page and the REST API, for anyone with the printed link. */
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { Kalends } from 'kalends'
import { bearer, http, node } from 'kalends/http'

export interface Page {
  /** Opening it signs the user in. The token follows #, so browsers never send it in the request. */
  readonly link: string
  close(): Promise<void>
}

const HOST = '127.0.0.1'

/**
 * Listens on the loopback interface only, and still requires a token, because the machine may have other accounts.
 *
 * @param port  if it is in use, a free port is used instead
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
  if (address === null || typeof address === 'string') throw new Error('The server has no TCP port')
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
