/**
 * Limits the connections of a server, in all and of each client. A connection without a request gives way to a new
 * one, so that silent sockets keep no client out.
 */
import type { Server } from 'node:http'
import type { Socket } from 'node:net'

export interface ConnectionLimits {
  readonly total: number
  readonly perClient: number
}

interface Connection {
  readonly client: string | null
  /** That are being answered. */
  requests: number
}

const TOO_MANY =
  'HTTP/1.1 429 Too Many Requests\r\nretry-after: 5\r\nconnection: close\r\ncontent-length: 0\r\n\r\n'

/** @param clientOf  whose connections count together, by the address of the other end; null: they are not limited */
export function limitConnections(
  server: Server,
  { total, perClient }: ConnectionLimits,
  clientOf: (address: string) => string | null,
): void {
  // In the order in which they came.
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
