/** Responses are JSON, compressed if large; their headers tell browsers not to cache, frame or execute the content. */
import { promisify } from 'node:util'
import { gzip } from 'node:zlib'
import { parseAccept } from 'hono/utils/accept'
import type { Answer } from './operation.ts'

const HEADERS: Readonly<Record<string, string>> = {
  'cache-control': 'no-store',
  'content-security-policy':
    "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  'cross-origin-resource-policy': 'same-origin',
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
}
/** Shorter responses fit in a single packet anyway. */
const SHORTEST_COMPRESSED = 1024
const gzipped = promisify(gzip)

export function secured(response: Response): Response {
  for (const [name, value] of Object.entries(HEADERS))
    if (!response.headers.has(name)) response.headers.set(name, value)
  return response
}

export async function toResponse(
  { status, body, headers = {} }: Answer,
  request: Request,
): Promise<Response> {
  if (body === undefined) return new Response(null, { status, headers })
  const text = JSON.stringify(body)
  const type = { 'content-type': 'application/json; charset=utf-8', vary: 'accept-encoding' }
  // Hono's middleware is not used, because it makes entity tags weak, and If-Match requires strong ones.
  const zips = text.length >= SHORTEST_COMPRESSED && acceptsGzip(request)
  return new Response(zips ? await gzipped(text) : text, {
    status,
    headers: { ...type, ...(zips && { 'content-encoding': 'gzip' }), ...headers },
  })
}

export function acceptsGzip({ headers }: Request): boolean {
  const accepted = parseAccept(headers.get('accept-encoding') ?? '')
  const weightOf = (name: string) => accepted.find(({ type }) => type.toLowerCase() === name)?.q
  return (weightOf('gzip') ?? weightOf('*') ?? 0) > 0
}
