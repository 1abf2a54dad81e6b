/** A proxy to the database server. A test can cut or delay its connections while the server still serves others. */
import { once } from 'node:events'
import { createServer, connect, type Server, type Socket } from 'node:net'

/** The MySQL protocol command that carries a statement as text. */
const COM_QUERY = 3
/** The length of a packet's content, and the packet's number. */
const HEADER = 4

export interface ProxyOptions {
  /** Whether to record the text of statements; true by default. Turn it off in tests with millions of statements. */
  readonly keepsStatements?: boolean
  /** Returns the statement that the server gets instead of this one, which waits until then. */
  readonly replace?: (statement: string) => string | Promise<string>
}

export class Proxy {
  readonly #server: Server
  readonly #target: URL
  readonly #keepsStatements: boolean
  readonly #replace: ProxyOptions['replace']
  readonly #pairs = new Set<readonly [Socket, Socket]>()
  /** The text of the recorded statements. */
  readonly statements: string[] = []
  #doomed: { readonly statement: RegExp; readonly tell: () => void } | null = null
  #state: 'open' | 'cut' | 'stalled' = 'open'
  #delayMs = 0

  private constructor(server: Server, target: URL, { keepsStatements = true, replace }: ProxyOptions) {
    this.#server = server
    this.#target = target
    this.#replace = replace
    this.#keepsStatements = keepsStatements
  }

  /** @param url  the database's own URL, without the proxy */
  static async open(url: string, options: ProxyOptions = {}): Promise<Proxy> {
    const server = createServer()
    const proxy = new Proxy(server, new URL(url), options)
    server.on('connection', (client) => proxy.#connect(client))
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    return proxy
  }

  /** The database's URL through this proxy. */
  get url(): string {
    const address = this.#server.address()
    if (address === null || typeof address === 'string') throw new Error('the proxy is closed')
    const url = new URL(this.#target)
    url.hostname = '127.0.0.1'
    url.port = String(address.port)
    return url.href
  }

  /** Resets all connections, including new ones. */
  cut(): void {
    this.#state = 'cut'
    for (const pair of this.#pairs) for (const socket of pair) socket.resetAndDestroy()
  }

  /** Silently holds back all packets in both directions. */
  stall(): void {
    this.#state = 'stalled'
    for (const pair of this.#pairs) for (const socket of pair) socket.pause()
  }

  /** Existing connections go silent but stay open; new ones work. */
  strand(): void {
    this.stall()
    this.#state = 'open'
  }

  /** Delays every packet by this time. */
  slow(ms: number): void {
    this.#delayMs = ms
  }

  /** Restores normal operation and delivers held packets. */
  mend(): void {
    this.#state = 'open'
    this.#delayMs = 0
    for (const pair of this.#pairs) for (const socket of pair) socket.resume()
  }

  /**
   * The next transaction with a matching statement is committed, but the response to its COMMIT and the connection are
   * lost. Resolves once this has happened.
   */
  async loseAnswer(statement: RegExp): Promise<void> {
    await new Promise<void>((tell) => {
      this.#doomed = { statement, tell }
    })
  }

  async close(): Promise<void> {
    this.cut()
    this.#server.close()
    await once(this.#server, 'close')
  }

  #connect(client: Socket): void {
    if (this.#state === 'cut') {
      client.resetAndDestroy()
      return
    }
    const server = connect(Number(this.#target.port || '3306'), this.#target.hostname)
    const pair = [client, server] as const
    this.#pairs.add(pair)
    const transaction = { isDoomed: false, isCommitted: false }
    const toServer = this.#lane()
    const toClient = this.#lane()
    this.#onPackets(client, (data) => {
      const statement = statementIn(data)
      if (statement !== null) {
        if (this.#keepsStatements) this.statements.push(statement)
        if (statement === 'COMMIT') transaction.isCommitted = transaction.isDoomed
        else transaction.isDoomed ||= this.#doomed?.statement.test(statement) ?? false
      }
      toServer(() => server.write(data))
    })
    server.on('data', (data) => {
      if (!transaction.isCommitted) {
        toClient(() => client.write(data))
        return
      }
      client.resetAndDestroy()
      this.#doomed?.tell()
      this.#doomed = null
    })
    for (const [one, other, lane] of [
      [client, server, toServer],
      [server, client, toClient],
    ] as const) {
      one.on('error', () => other.destroy())
      one.on('close', () => {
        this.#pairs.delete(pair)
        lane(() => other.destroy())
      })
    }
    if (this.#state === 'stalled') this.stall()
  }

  /** Passes on what the client sends. If statements are replaced, it is divided into packets. */
  #onPackets(client: Socket, pass: (data: Buffer) => void): void {
    const replace = this.#replace
    if (replace === undefined) {
      client.on('data', pass)
      return
    }
    let rest = Buffer.alloc(0)
    const forward = async (packet: Buffer, before: Promise<void>) => {
      await before
      const statement = statementIn(packet)
      pass(statement === null ? packet : withStatement(packet, await replace(statement)))
    }
    let turn = Promise.resolve()
    client.on('data', (data) => {
      rest = Buffer.concat([rest, data])
      while (rest.length >= HEADER && rest.length >= HEADER + rest.readUIntLE(0, 3)) {
        const packet = rest.subarray(0, HEADER + rest.readUIntLE(0, 3))
        rest = rest.subarray(packet.length)
        turn = forward(packet, turn)
      }
    })
  }

  /** One direction of a connection: forwards data in order, with the current delay. */
  #lane(): (pass: () => void) => void {
    let clearAt = 0
    return (pass) => {
      const now = performance.now()
      clearAt = Math.max(clearAt, now + this.#delayMs)
      if (clearAt <= now) pass()
      else setTimeout(pass, Math.ceil(clearAt - now))
    }
  }
}

/**
 * The statement in a packet from the driver, or null if the packet contains another command. The driver sends one
 * packet at a time: three bytes of length, the packet's number, the command and its text. On MySQL, an empty list of
 * query attributes comes before the text.
 */
function statementIn(data: Buffer): string | null {
  if (data[3] !== 0 || data[4] !== COM_QUERY) return null
  return data.subarray(textIn(data)).toString()
}

const textIn = (data: Buffer) => (data[5] === 0 ? HEADER + 3 : HEADER + 1)

function withStatement(packet: Buffer, statement: string): Buffer {
  const replaced = Buffer.concat([packet.subarray(0, textIn(packet)), Buffer.from(statement)])
  replaced.writeUIntLE(replaced.length - HEADER, 0, 3)
  return replaced
}
