import type { IncomingMessage, ServerResponse } from 'node:http'
import { getRequestListener } from '@hono/node-server'
import type { HttpHandler } from './http.ts'

type Incoming = IncomingMessage & {
  /** The original URL, set by Express, which removes the mount point from `url`. */
  readonly originalUrl?: string
  /** The mount point, set by Express. */
  readonly baseUrl?: string
  readonly body?: unknown
  rawBody?: Buffer
}

/**
 * A request listener for `createServer(node(handler))`, Express's `app.use('/kalends', node(handler))`, and similar.
 *
 * If a middleware such as `express.json()` has already read the body, the body is taken from `request.body`.
 */
export function node(handler: HttpHandler): (request: IncomingMessage, response: ServerResponse) => void {
  return (request: Incoming, response) => {
    const basePath = mountPointOf(request)
    if (request.originalUrl !== undefined) request.url = request.originalUrl
    if (request.readableDidRead && request.body !== undefined && request.body !== null)
      request.rawBody = bytesOf(request.body)
    const listener = getRequestListener((web) => handler(web, { incoming: request, basePath }), {
      // The globals belong to the application, so they are not replaced.
      overrideGlobalObjects: false,
      errorHandler: () => new Response(null, { status: 400 }),
    })
    // The connection was closed before the response.
    listener(request, response).catch(() => response.destroy())
  }
}

/** @returns undefined if no framework reported a mount point or removed one from the URL */
function mountPointOf({ baseUrl, originalUrl, url }: Incoming): string | undefined {
  // Express reports the mount point, even if it has parameters. Connect removes it from the URL without reporting it.
  if (baseUrl !== undefined) return baseUrl
  if (originalUrl === undefined || url === undefined || !originalUrl.endsWith(url)) return undefined
  return originalUrl.slice(0, originalUrl.length - url.length)
}

function bytesOf(body: unknown): Buffer {
  if (Buffer.isBuffer(body)) return body
  return Buffer.from(typeof body === 'string' ? body : JSON.stringify(body))
}
