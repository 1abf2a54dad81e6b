/**
 * Who may do what. Closed by default: without `authorize` everything is refused, unless `open` says that
 * whoever reaches the server may, and then only under the names of this machine, so that a page of the web that
 * points its own name here (DNS rebinding) reaches nothing, and never through a proxy, which would let in the whole
 * world under this machine's address.
 */
import { createHash, timingSafeEqual } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import { InvalidInputError } from '../errors.ts'
import type { GrantedTasks, Logger, OwnerLimits } from '../index.ts'
import { isForwarded, isLoopback, TrustedProxies } from './client-address.ts'
import { type Attempt, credentialsOf, FailedSignIns } from './failed-sign-ins.ts'
import { Problem, shortened } from './problem.ts'

/** read: look; operate: also run, pause, resume, reset, cancel, retry; admin: also make, change and delete schedules. */
export type Role = 'read' | 'operate' | 'admin'
/** What an operation needs. */
export type Permission = Role | 'submit'

/** Whoever calls. */
export interface Access {
  readonly role: Role
  /** Whether it may submit jobs, and run a schedule with other args; default false. No role includes it. */
  readonly submit?: boolean | undefined
  /** Reaches only these rows; neither: everything. */
  readonly scope?:
    | { readonly group?: string | undefined; readonly submitter?: string | undefined }
    | undefined
  /**
   * The tasks whose schedules and jobs it may write. Needed with a scope, unless it may only read; without a scope the
   * default is every task but the built-in ones.
   */
  readonly tasks?: GrantedTasks | undefined
  /** How much its owner may have and ask for; without a scope there are none by default. */
  readonly limits?: OwnerLimits | undefined
  /** For the audit log. */
  readonly user?: string | undefined
}

/** The names of the tasks that a caller may use; undefined: not limited. */
export function taskNames({ tasks }: Access): string[] | undefined {
  return tasks?.map((one) => (typeof one === 'string' ? one : one.name))
}

/** Where a request comes from, beside what it says itself. */
export interface RequestContext {
  /** Node's own request, with what the application's middleware has put there, such as a session. */
  readonly incoming?: IncomingMessage | undefined
  /** Where the framework has mounted the handler, such as `/kalends`; `node` takes it from Express. */
  readonly basePath?: string | undefined
  /**
   * The address of the connection, for servers without `incoming`. `authorize` gets the client's address here, where
   * it is known: behind a proxy of `trustedProxies` that is what the proxy says.
   */
  readonly address?: string | undefined
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
  readonly trustedProxies?: readonly string[] | undefined
}

export class Gate {
  readonly #authorize: Authorize | null
  readonly #open: Role | null
  /** Null: any. */
  readonly #hosts: ReadonlySet<string> | null
  readonly #origins: ReadonlySet<string>
  readonly #proxies: TrustedProxies
  readonly #failedSignIns = new FailedSignIns()
  readonly #logger: Logger
  /** Warnings that were given: once is enough. */
  readonly #warned = new Set<string>()

  /** @throws InvalidInputError */
  constructor({ authorize, open, hosts, origins = [], trustedProxies = [] }: AccessOptions, logger: Logger) {
    if (authorize !== undefined && typeof authorize !== 'function')
      throw new InvalidInputError('authorize', 'a function (request) => ({ role }) | null is needed')
    if (open !== undefined && !Object.hasOwn(RANK, open))
      throw new InvalidInputError(
        'open',
        `'read', 'operate' or 'admin' is needed, not ${JSON.stringify(open)}`,
      )
    if (authorize === undefined && open !== undefined && trustedProxies.length > 0)
      throw new InvalidInputError(
        'trustedProxies',
        "an API that is 'open' never answers through a proxy; give 'authorize' in place of 'open'",
      )
    this.#proxies = new TrustedProxies(trustedProxies)
    this.#logger = logger
    this.#authorize = authorize ?? null
    this.#open = open ?? null
    const names = hosts ?? (authorize === undefined ? [] : null)
    this.#hosts = names === null ? null : new Set([...LOOPBACK, ...names.map(hostName)])
    this.#origins = new Set(origins.map((origin) => originOf(origin)))
  }

  /** With the client's address in place of the connection's. */
  withClient(request: Request, context: RequestContext): RequestContext {
    const connection = (context.incoming?.socket.remoteAddress ?? context.address) || null
    const address = this.#proxies.clientOf(connection, request.headers)
    if (this.#authorize !== null && connection !== null && !this.#proxies.trusts(connection)) {
      if (isForwarded(request.headers))
        this.#warnOnce(
          'A request came through a proxy that trustedProxies does not name: what it says of the client is not believed, and all its clients count as one address. Name it in trustedProxies of kalends/http, or with --trusted-proxy.',
          { address },
        )
      if (
        address !== null &&
        !isLoopback(address) &&
        request.url.startsWith('http:') &&
        request.headers.has('authorization')
      )
        this.#warnOnce(
          'A token was sent over plain HTTP from another machine, so others on the network can read it. Put a proxy with TLS in front and name it in trustedProxies.',
          { address },
        )
    }
    return { ...context, address: address ?? undefined }
  }

  /** An open API behind a proxy would be open to all who reach the proxy. @throws Problem 403 */
  checkProxy(request: Request, { incoming }: RequestContext): void {
    if (this.#open === null || this.#authorize !== null) return
    // Proxies that add no header, such as nginx as it comes, speak HTTP/1.0.
    if (!isForwarded(request.headers) && incoming?.httpVersion !== '1.0') return
    throw new Problem(
      403,
      'FORWARDED',
      "This API is 'open' for this machine alone and refuses what comes through a proxy; give it 'authorize', and name the proxy in 'trustedProxies'",
    )
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

  /**
   * @param waits  whether a failed sign-in takes its time
   * @throws Problem 401, 403, 429
   */
  async access(request: Request, context: RequestContext, waits = true): Promise<Access> {
    if (this.#authorize === null) {
      if (this.#open !== null) return { role: this.#open, submit: this.#open === 'admin' }
      throw new Problem(
        403,
        'CLOSED',
        "This API has no 'authorize' hook, so it refuses every request; see 'authorize' and 'open' of kalends/http",
      )
    }
    const attempt = this.#attempt(request, context)
    const access = await this.#authorized(this.#authorize, request, context, attempt)
    if (access === null || access === undefined) {
      const answer = attempt?.rejected()
      if (waits) await answer
      throw new Problem(401, 'NOT_SIGNED_IN', 'Sign in first, or send a token: authorization: Bearer …', {
        headers: { 'www-authenticate': 'Bearer realm="kalends"' },
      })
    }
    attempt?.accepted()
    if (!Object.hasOwn(RANK, access.role))
      throw new TypeError(
        `authorize gave the role ${JSON.stringify(access.role)}: read, operate or admin is needed`,
      )
    checkScope(access.scope)
    const mayWrite = access.role !== 'read' || access.submit === true
    if (access.scope !== undefined && mayWrite && access.tasks === undefined)
      throw new TypeError(
        'authorize gave a scope that may write, and no tasks: name those that it may use, as in { role, scope, tasks }',
      )
    return access
  }

  async #authorized(
    authorize: Authorize,
    request: Request,
    context: RequestContext,
    attempt: Attempt | null,
  ): Promise<Access | null> {
    try {
      return await authorize(request, context)
    } catch (error) {
      attempt?.undecided()
      throw error
    }
  }

  /** Ends the delays of failed sign-ins. */
  close(): void {
    this.#failedSignIns.close()
  }

  /** Null: nothing that could be a guess, or its origin is unknown. @throws Problem 429 */
  #attempt({ headers }: Request, { address }: RequestContext): Attempt | null {
    const credentials = credentialsOf(headers)
    if (credentials === null || address === undefined) return null
    const attempt = this.#failedSignIns.begin(address, credentials)
    if (attempt !== null) return attempt
    throw new Problem(
      429,
      'TOO_MANY_SIGN_INS',
      'Too many sign-ins from this address have failed; try again in a moment',
      { headers: { 'retry-after': '10' } },
    )
  }

  #warnOnce(message: string, fields: object): void {
    if (this.#warned.has(message)) return
    this.#warned.add(message)
    this.#logger.warn(fields, message)
  }
}

/**
 * Code without types may give anything, and only undefined means everything: null, or a misspelt name, must not.
 *
 * @throws TypeError
 */
function checkScope(scope: unknown): void {
  if (scope === undefined) return
  const entries: [string, unknown][] =
    typeof scope === 'object' && scope !== null && !Array.isArray(scope) ? Object.entries(scope) : []
  const given = entries.filter(([, value]) => value !== undefined)
  const isScope = given.every(
    ([name, value]) =>
      (name === 'group' || name === 'submitter') && typeof value === 'string' && value !== '',
  )
  if (given.length > 0 && isScope) return
  throw new TypeError(
    `authorize gave the scope ${shortened(JSON.stringify(scope) ?? typeof scope)}: { group, submitter } with a text for at least one of them is needed; leave it out for access to everything`,
  )
}

/** @throws Problem 403 */
export function requirePermission({ role, submit = false }: Access, needed: Permission): void {
  if (needed === 'submit') {
    if (submit) return
    throw new Problem(
      403,
      'MAY_NOT_SUBMIT',
      "This needs the permission 'submit', which goes with no role; the 'authorize' hook grants it",
    )
  }
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
