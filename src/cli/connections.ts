/**
 * Limits a server's connections, in total and per client. A new connection replaces an idle one, so silent sockets
 * cannot block clients.
 */
import type { Server } from 'node:http'
import type { Socket } from 'node:net'

export interface ConnectionLimits {
  readonly total: number
  readonly perClient: number
}

interface Connection {
  readonly client: string | null
  requests: number
}

const TOO_MANY =
  'HTTP/1.1 429 Too Many Requests\r\nretry-after: 5\r\nconnection: close\r\ncontent-length: 0\r\n\r\n'

/** @param clientOf  the client at a remote address, whose connections are counted together; null means no limit */
export function limitConnections(
  server: Server,
  { total, perClient }: ConnectionLimits,
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
