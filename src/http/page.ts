/**
 * The web page: the files of dist/ui, under any base path. They are the same for everybody and hold nothing of the
 * database, so nobody has to sign in for them; what the page shows comes from the API, as that caller may see it.
 */
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { gzipSync } from 'node:zlib'

/** Built by vite; beside the sources while these are run as they are. */
const FOLDER = fileURLToPath(
  new URL(import.meta.url.endsWith('.ts') ? '../../dist/ui' : '../ui', import.meta.url),
)

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

/** The addresses of the page, as src/ui knows them. */
const ROUTE = /^(.*?)(?:\/schedules(?:\/[^/]+(?:\/edit)?)?|\/jobs(?:\/[^/]+)?|\/calendar|\/workers)\/?$/
/** Whose paths end as those of the page do. */
const API = '/api/v1'
const FOREVER = 'public, max-age=31536000, immutable'

interface File {
  readonly type: string
  readonly bytes: Uint8Array<ArrayBuffer>
  readonly zipped: Uint8Array<ArrayBuffer>
}

export class WebPage {
  readonly #base: string | null
  readonly #html: string | null
  readonly #files = new Map<string, File>()

  /** @param base  the mount point without a slash at its end; null: whatever stands before the page's own addresses */
  constructor(base: string | null) {
    this.#base = base
    const index = join(FOLDER, 'index.html')
    this.#html = existsSync(index) ? readFileSync(index, 'utf8') : null
    if (this.#html === null) return
    for (const name of readdirSync(FOLDER, { recursive: true, encoding: 'utf8' })) {
      const type = TYPES[name.split('.').at(-1) ?? '']
      if (type === undefined) continue
      const bytes = new Uint8Array(readFileSync(join(FOLDER, name)))
      this.#files.set(name.replaceAll('\\', '/'), { type, bytes, zipped: new Uint8Array(gzipSync(bytes)) })
    }
  }

  /** What a browser that shows a page asks for at one of its addresses; null: something else. */
  shown(request: Request, path: string): Response | null {
    if (!wantsPage(request)) return null
    const at = this.#base ?? ROUTE.exec(path)?.[1]
    if (at === undefined || at.endsWith(API) || !path.startsWith(`${at}/`)) return null
    const below = path.slice(at.length)
    return below === '/' || ROUTE.exec(below)?.[1] === '' ? this.#page(below) : null
  }

  /** Where nothing else is: the files of the page, and the place where it is mounted. */
  found(request: Request, path: string): Response | null {
    if (this.#html === null || (request.method !== 'GET' && request.method !== 'HEAD')) return null
    for (const [name, file] of this.#files)
      if (this.#base === null ? path.endsWith(`/${name}`) : path === `${this.#base}/${name}`)
        return answerWith(file, name, request)
    if (!wantsPage(request)) return null
    if (path.endsWith('/')) return this.#base === null || path === `${this.#base}/` ? this.#page('/') : null
    if (this.#base !== null && path !== this.#base) return null
    // Relative addresses start from the folder, so the mount point has to look like one. Only what is below the
    // server's name is told: the name itself is what the caller says.
    return new Response(null, { status: 308, headers: { location: `./${path.split('/').at(-1) ?? ''}/` } })
  }

  #page(below: string): Response | null {
    if (this.#html === null) return null
    const up = '../'.repeat(below.split('/').length - 2)
    return new Response(
      this.#html.replace('<base href="./" />', `<base href="${up === '' ? './' : up}" />`),
      {
        headers: { 'content-type': 'text/html; charset=utf-8', 'content-security-policy': POLICY },
      },
    )
  }
}

function wantsPage(request: Request): boolean {
  return request.method === 'GET' && (request.headers.get('accept') ?? '').includes('text/html')
}

function answerWith({ type, bytes, zipped }: File, name: string, request: Request): Response {
  const zips = /\bgzip\b/.test(request.headers.get('accept-encoding') ?? '')
  return new Response(request.method === 'HEAD' ? null : zips ? zipped : bytes, {
    headers: {
      'content-type': type,
      'cache-control': name.startsWith('assets/') ? FOREVER : 'no-cache',
      'content-security-policy': POLICY,
      vary: 'accept-encoding',
      ...(zips && { 'content-encoding': 'gzip' }),
    },
  })
}
