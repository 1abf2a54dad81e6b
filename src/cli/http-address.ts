/** Where `--http` listens. */
import { resolve } from 'node:path'
import { InvalidArgumentError } from 'commander'

export interface PortAddress {
  readonly host: string
  readonly port: number
}

/** A Unix socket, which the worker's user alone may connect to. */
export interface SocketAddress {
  readonly path: string
}

export type HttpAddress = PortAddress | SocketAddress

/** @param text  `127.0.0.1:4040`, `[::1]:4040`, `localhost:4040`, a port of this machine alone, or `unix:/path` */
export function httpAddress(text: string): HttpAddress {
  if (text.startsWith('unix:') && text.length > 'unix:'.length)
    return { path: resolve(text.slice('unix:'.length)) }
  const parts = /^(?:(\[[\da-f:.]+\]|[\w.-]+)?:)?(\d{1,5})$/i.exec(text)
  const port = Number(parts?.[2])
  if (parts === null || port > 65_535)
    throw new InvalidArgumentError(
      "An address such as '127.0.0.1:4040', a port, or a socket such as 'unix:/run/kalends.sock' is needed.",
    )
  return { host: (parts[1] ?? '127.0.0.1').replace(/^\[|\]$/g, ''), port }
}

/** As it stands in a URL. */
export function urlHost(host: string): string {
  return host.includes(':') ? `[${host}]` : host
}
