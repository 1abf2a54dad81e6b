/**
 * Who may do what. Closed by default: without `authorize` everything is refused, unless `open` says that
 * whoever reaches the server may, and then only under the names of this machine, so that a page of the web that
 * points its own name here (DNS rebinding) reaches nothing.
 */
import { createHash, timingSafeEqual } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import { InvalidInputError } from '../errors.ts'
import { Problem, shortened } from './problem.ts'

/** read: look; operate: also run, pause, resume, reset, cancel, retry; admin: also make, change and delete. */
export type Role = 'read' | 'operate' | 'admin'

/** Whoever calls. */
export interface Access {
  readonly role: Role
  /** Reaches only these rows; neither: everything. */
  readonly scope?:
    | { readonly group?: string | undefined; readonly submitter?: string | undefined }
    | undefined
  /** For the audit log. */
  readonly user?: string | undefined
}

/** Where a request comes from, beside what it says itself. */
export interface RequestContext {
  /** Node's own request, with what the application's middleware has put there, such as a session. */
  readonly incoming?: IncomingMessage | undefined
}

/** @returns null when it does not know the caller. It must not read the body. */
export type Authorize = (request: Request, context: RequestContext) => Access | null | Promise<Access | null>

const RANK: Readonly<Record<Role, number>> = { read: 1, operate: 2, admin: 3 }
const LOOPBACK = new Set(['localhost', '127.0.0.1', '[::1]'])

export interface AccessOptions {
  readonly authorize?: Authorize | undefined
  readonly open?: Role | undefined
  readonly hosts?: readonly string[] | undefined
  readonly origins?: readonly string[] | undefined
}

export class Gate {
  readonly #authorize: Authorize | null
  readonly #open: Role | null
  /** Null: any. */
  readonly #hosts: ReadonlySet<string> | null
  readonly #origins: ReadonlySet<string>

  /** @throws InvalidInputError */
  constructor({ authorize, open, hosts, origins = [] }: AccessOptions) {
    if (authorize !== undefined && typeof authorize !== 'function')
      throw new InvalidInputError('authorize', 'a function (request) => ({ role }) | null is needed')
    if (open !== undefined && !Object.hasOwn(RANK, open))
      throw new InvalidInputError(
        'open',
        `'read', 'operate' or 'admin' is needed, not ${JSON.stringify(open)}`,
      )
    this.#authorize = authorize ?? null
    this.#open = open ?? null
    const names = hosts ?? (authorize === undefined ? [] : null)
    this.#hosts = names === null ? null : new Set([...LOOPBACK, ...names.map(hostName)])
    this.#origins = new Set(origins.map((origin) => originOf(origin)))
  }

  /** @throws Problem when the request names a host that is not ours */
  checkHost(request: Request): void {
    if (this.#hosts === null) return
    const host = hostOf(request)
    if (this.#hosts.has(hostName(host))) return
    throw new Problem(
      421,
      'UNKNOWN_HOST',
      `This server does not answer for the host '${shortened(host)}'; name it in the option 'hosts'`,
    )
  }

  /** A write that a page of another site has made a browser send. @throws Problem */
  checkOrigin(request: Request): void {
    const origin = request.headers.get('origin')
    if (origin !== null) {
      if (this.#origins.has(origin)) return
      if (!URL.canParse(origin) || new URL(origin).host !== hostWithPort(request, origin))
        throw foreign(`the origin '${shortened(origin)}'`)
    }
    const site = request.headers.get('sec-fetch-site')
    if (site !== null && site !== 'same-origin' && site !== 'none') throw foreign('another site')
  }

  /** @throws Problem 401, 403 */
  async access(request: Request, context: RequestContext): Promise<Access> {
    if (this.#authorize === null) {
      if (this.#open !== null) return { role: this.#open }
      throw new Problem(
        403,
        'CLOSED',
        "This API has no 'authorize' hook, so it refuses every request; see 'authorize' and 'open' of kalends/http",
      )
    }
    const access = await this.#authorize(request, context)
    if (access === null || access === undefined) {
      throw new Problem(401, 'NOT_SIGNED_IN', 'Sign in first, or send a token: authorization: Bearer …', {
        headers: { 'www-authenticate': 'Bearer realm="kalends"' },
      })
    }
    if (!Object.hasOwn(RANK, access.role))
      throw new TypeError(
        `authorize gave the role ${JSON.stringify(access.role)}: read, operate or admin is needed`,
      )
    return access
  }
}

/** @throws Problem 403 */
export function requireRole({ role }: Access, needed: Role): void {
  if (RANK[role] >= RANK[needed]) return
  throw new Problem(403, 'ROLE_TOO_LOW', `This needs the role '${needed}'; yours is '${role}'`)
}

/**
 * An `authorize` for tokens in the header `authorization: Bearer …`.
 *
 * @param tokens  what each token may do; compared in constant time
 */
export function bearer(tokens: Readonly<Record<string, Access>>): Authorize {
  const known = Object.entries(tokens).map(([token, access]) => {
    if (token.length < 16)
      throw new InvalidInputError(
        'tokens',
        'a token needs at least 16 characters; make one with openssl rand -hex 32',
      )
    return { digest: digestOf(token), access }
  })
  return (request) => {
    const sent = /^bearer +(\S+) *$/i.exec(request.headers.get('authorization') ?? '')?.[1]
    if (sent === undefined) return null
    const digest = digestOf(sent)
    let found: Access | null = null
    // All of them, whichever it is: the time tells nothing.
    for (const { digest: one, access } of known) if (timingSafeEqual(one, digest)) found = access
    return found
  }
}

/** Of equal length, whatever came in. */
function digestOf(token: string): Buffer {
  return createHash('sha256').update(token).digest()
}

function foreign(whence: string): Problem {
  return new Problem(
    403,
    'FOREIGN_ORIGIN',
    `A write from ${whence} is refused; if it is yours, name it in the option 'origins'`,
  )
}

function hostOf(request: Request): string {
  return request.headers.get('host') ?? new URL(request.url).host
}

/** As the browser writes it in `origin`: without the port of the scheme. */
function hostWithPort(request: Request, origin: string): string {
  const { protocol } = new URL(origin)
  const url = `${protocol}//${hostOf(request)}`
  return URL.canParse(url) ? new URL(url).host : ''
}

function hostName(host: string): string {
  return host.toLowerCase().replace(/:\d+$/, '').replace(/\.$/, '')
}

function originOf(origin: string): string {
  if (URL.canParse(origin) && new URL(origin).origin === origin) return origin
  throw new InvalidInputError(
    'origins',
    `an origin such as 'https://app.example' is needed, not ${JSON.stringify(origin)}`,
  )
}
