/**
 * The files that vite builds from src/ui. They are the same for every caller and contain no data from the database, so
 * they need no sign-in.
 */
import { gzipSync } from 'node:zlib'
import { PAGE } from '../generated/page.ts'
import { acceptsGzip } from './response.ts'

const TYPES: Readonly<Record<string, string>> = {
  js: 'text/javascript; charset=utf-8',
  css: 'text/css; charset=utf-8',
  svg: 'image/svg+xml',
}

const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self'",
  "connect-src 'self'",
  "base-uri 'self'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ')

/** The page's addresses, as defined in src/ui. */
const ADDRESS = /^\/(?:(?:schedules(?:\/[^/]+(?:\/edit)?)?|jobs(?:\/[^/]+)?|calendar|workers)\/?)?$/

interface File {
  readonly type: string
  readonly bytes: Uint8Array<ArrayBuffer>
  readonly zipped: Uint8Array<ArrayBuffer>
}

export class WebPage {
  /** Null if Kalends runs from its sources without a built page. */
  readonly #html = PAGE['index.html'] ?? null
  readonly #files = new Map<string, File>()

  constructor() {
    for (const [name, content] of Object.entries(PAGE)) {
      const type = TYPES[name.split('.').at(-1) ?? '']
      if (type === undefined) continue
      const bytes = new TextEncoder().encode(content)
      this.#files.set(name, { type, bytes, zipped: new Uint8Array(gzipSync(bytes)) })
    }
  }

  /** @param path  the path below the mount point; empty for the mount point itself */
  found(request: Request, base: string, path: string): Response | null {
    if (this.#html === null || (request.method !== 'GET' && request.method !== 'HEAD')) return null
    const file = this.#files.get(path.slice(1))
    if (file !== undefined) return answerWith(file, path.slice(1), request)
    if (!wantsPage(request)) return path === '' || path === '/' ? this.#hint(base) : null
    if (ADDRESS.test(path)) return page(this.#html, path, 200)
    // The page reports the unknown address and links back.
    if (path !== '') return path.startsWith('/api/') ? null : page(this.#html, path, 404)
    // Browsers resolve relative addresses against the folder, so this adds a trailing slash to the mount point. The
    // location is relative, because the caller chooses the host name in the request.
    return new Response(null, {
      status: 308,
      headers: { location: `./${base.slice(base.lastIndexOf('/') + 1)}/` },
    })
  }

  /** For curl and other programs that do not request HTML. */
  #hint(base: string): Response {
    const text = `This is Kalends. Open this address in a browser for its web page.\nThe REST API: ${base}/api/v1/schedules; its description: ${base}/api/v1/openapi.json\n`
    return new Response(text, { headers: { 'content-type': 'text/plain; charset=utf-8' } })
  }
}

function page(html: string, below: string, status: number): Response {
  const up = '../'.repeat(below.split('/').length - 2) || './'
  return new Response(html.replace('<base href="./" />', `<base href="${up}" />`), {
    status,
    headers: { 'content-type': 'text/html; charset=utf-8', 'content-security-policy': POLICY },
  })
}

function wantsPage(request: Request): boolean {
  return request.method === 'GET' && (request.headers.get('accept') ?? '').includes('text/html')
}

function answerWith({ type, bytes, zipped }: File, name: string, request: Request): Response {
  const zips = acceptsGzip(request)
  return new Response(request.method === 'HEAD' ? null : zips ? zipped : bytes, {
    headers: {
      'content-type': type,
      'cache-control': name.startsWith('assets/') ? 'public, max-age=31536000, immutable' : 'no-cache',
      'content-security-policy': POLICY,
      vary: 'accept-encoding',
      ...(zips && { 'content-encoding': 'gzip' }),
    },
  })
}
