/** A way to the database server that a test can cut, or hold up, while the server goes on for others. */
import { once } from 'node:events'
import { createServer, connect, type Server, type Socket } from 'node:net'

/** The command of MySQL's protocol that carries a statement as text. */
const COM_QUERY = 3

export class Proxy {
  readonly #server: Server
  readonly #target: URL
  readonly #pairs = new Set<readonly [Socket, Socket]>()
  /** The texts of the statements that came through. */
  readonly statements: string[] = []
  #state: 'open' | 'cut' | 'stalled' = 'open'

  private constructor(server: Server, target: URL) {
    this.#server = server
    this.#target = target
  }

  /** @param url  of the database, as Kalends.open takes it */
  static async open(url: string): Promise<Proxy> {
    const server = createServer()
    const proxy = new Proxy(server, new URL(url))
    server.on('connection', (client) => proxy.#connect(client))
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    return proxy
  }

  /** The database's URL by this way. */
  get url(): string {
    const address = this.#server.address()
    if (address === null || typeof address === 'string') throw new Error('the proxy is closed')
    const url = new URL(this.#target)
    url.hostname = '127.0.0.1'
    url.port = String(address.port)
    return url.href
  }

  /** Ends every connection and refuses new ones. */
  cut(): void {
    this.#state = 'cut'
    for (const pair of this.#pairs) for (const socket of pair) socket.resetAndDestroy()
  }

  /** Nothing comes through in either direction, and nobody is told. */
  stall(): void {
    this.#state = 'stalled'
    for (const pair of this.#pairs) for (const socket of pair) socket.pause()
  }

  /** As if nothing had been. */
  mend(): void {
    this.#state = 'open'
    for (const pair of this.#pairs) for (const socket of pair) socket.resume()
  }

  async close(): Promise<void> {
    this.cut()
    this.#server.close()
    await once(this.#server, 'close')
  }

  /** The driver sends one packet at a time: three bytes of length, its number, and the command. */
  #note(data: Buffer): void {
    if (data[3] === 0 && data[4] === COM_QUERY) this.statements.push(data.subarray(5).toString())
  }

  #connect(client: Socket): void {
    if (this.#state === 'cut') {
      client.resetAndDestroy()
      return
    }
    const server = connect(Number(this.#target.port || '3306'), this.#target.hostname)
    const pair = [client, server] as const
    this.#pairs.add(pair)
    for (const [from, to] of [
      [client, server],
      [server, client],
    ] as const) {
      from.on('data', (data) => {
        if (from === client) this.#note(data)
        to.write(data)
      })
      from.on('error', () => to.destroy())
      from.on('close', () => {
        this.#pairs.delete(pair)
        to.destroy()
      })
    }
    if (this.#state === 'stalled') this.stall()
  }
}
