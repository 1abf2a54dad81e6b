/**
 * Decides which requests are allowed. The API is closed by default: without `authorize`, every request except health
 * checks is refused, unless the option `open` is set. An open API responds only to `localhost`, `127.0.0.1`, `[::1]` and
 * the names in `hosts`, so a web page whose host name points to this machine (DNS rebinding) gets no response. An open
 * API rejects requests that it recognises as forwarded, because all clients behind a proxy seem to be on this machine.
 */
import { InvalidInputError } from '../errors.ts'
import type { Logger } from '../index.ts'
import { type Access, type Authorize, checkAccess, isRole, type RequestContext, type Role } from './access.ts'
import { isForwarded, isLoopback, TrustedProxies } from './client-address.ts'
import { FailedSignIns, hasCredentials } from './failed-sign-ins.ts'
import type { HttpOptions } from './options.ts'
import { Problem, shortened } from './problem.ts'

const LOOPBACK = ['localhost', '127.0.0.1', '[::1]']

export class Gate {
  readonly #authorize: Authorize | null
  readonly #open: Role | null
  /** Null means any. */
  readonly #hosts: ReadonlySet<string> | null
  readonly #origins: ReadonlySet<string>
  readonly #proxies: TrustedProxies
  readonly #failedSignIns = new FailedSignIns()
  readonly #logger: Logger
  readonly #warned = new Set<string>()

  /** @throws InvalidInputError */
  constructor({ authorize, open, hosts, origins = [], trustedProxies = [] }: HttpOptions, logger: Logger) {
    if (authorize !== undefined && typeof authorize !== 'function')
      throw new InvalidInputError('authorize', 'must be a function (request) => ({ role }) | null')
    if (open !== undefined && !isRole(open))
      throw new InvalidInputError('open', `must be 'read', 'operate' or 'admin', got ${JSON.stringify(open)}`)
    if (authorize === undefined && open !== undefined && trustedProxies.length > 0)
      throw new InvalidInputError(
        'trustedProxies',
        "an 'open' API is for this machine only; behind a proxy, use 'authorize' instead of 'open'",
      )
    this.#proxies = new TrustedProxies(trustedProxies)
    this.#logger = logger
    this.#authorize = authorize ?? null
    this.#open = open ?? null
    const names = hosts ?? (authorize === undefined ? [] : null)
    this.#hosts = names === null ? null : new Set([...LOOPBACK, ...names.map(hostName)])
    this.#origins = new Set(origins.map((origin) => originOf(origin)))
  }

  /** The same context, with the client's address instead of the connection's. */
  withClient(request: Request, context: RequestContext): RequestContext {
    const connection = (context.incoming?.socket.remoteAddress ?? context.address) || null
    const address = this.#proxies.clientOf(connection, request.headers)
    if (this.#authorize !== null && connection !== null && !this.#proxies.trusts(connection)) {
      if (isForwarded(request.headers))
        this.#warnOnce(
          'A request came through a proxy that is not in trustedProxies. Its forwarding headers are ignored, and all its clients count as one address. Add its address to trustedProxies of kalends/http, or pass it with --trusted-proxy.',
          { address },
        )
      if (
        address !== null &&
        !isLoopback(address) &&
        request.url.startsWith('http:') &&
        request.headers.has('authorization')
      )
        this.#warnOnce(
          'A token was sent over plain HTTP from another machine, so others on the network can read it. Put a proxy with TLS in front and add its address to trustedProxies.',
          { address },
        )
    }
    return { ...context, address: address ?? undefined }
  }

  /**
   * @throws Problem 421 when the request names an unknown host
   * @throws Problem 403 when an open API is behind a proxy, because everyone who can reach the proxy could use it
   */
  checkHost(request: Request, { incoming }: RequestContext): void {
    const host = hostOf(request)
    if (this.#hosts !== null && !this.#hosts.has(hostName(host)))
      throw new Problem(
        421,
        'UNKNOWN_HOST',
        `This server does not respond to the host '${shortened(host)}'; add it to the option 'hosts'`,
      )
    if (this.#open === null || this.#authorize !== null) return
    // Some proxies, such as nginx before 1.29.7 with its defaults, add no header but use HTTP/1.0.
    if (!isForwarded(request.headers) && incoming?.httpVersion !== '1.0') return
    throw new Problem(
      403,
      'FORWARDED',
      "This API is 'open' for this machine only and refuses requests through a proxy; use 'authorize', and add the proxy's address to 'trustedProxies'",
    )
  }

  /** Rejects writes that a page on another site made a browser send. @throws Problem 403 */
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

  /** @param waits  whether the response to a failed sign-in is delayed. @throws Problem 401, 403, 429 */
  async access(request: Request, context: RequestContext, waits: boolean): Promise<Access> {
    const authorize = this.#authorize
    if (authorize === null) {
      if (this.#open !== null) return { role: this.#open, submit: this.#open === 'admin' }
      throw new Problem(
        403,
        'CLOSED',
        "This API has no 'authorize' hook, so it refuses every request except health checks; see 'authorize' and 'open' of kalends/http",
      )
    }
    const signIn = async () => (await authorize(request, context)) ?? null
    const { address } = context
    const access =
      address === undefined || !hasCredentials(request.headers)
        ? await signIn()
        : await this.#failedSignIns.check(address, signIn, waits)
    if (access === null)
      throw new Problem(401, 'NOT_SIGNED_IN', 'Sign in first, or send a token: authorization: Bearer …', {
        headers: { 'www-authenticate': 'Bearer realm="kalends"' },
      })
    checkAccess(access)
    return access
  }

  close(): void {
    this.#failedSignIns.close()
  }

  #warnOnce(message: string, fields: object): void {
    if (this.#warned.has(message)) return
    this.#warned.add(message)
    this.#logger.warn(fields, message)
  }
}

function foreign(source: string): Problem {
  return new Problem(
    403,
    'FOREIGN_ORIGIN',
    `A write from ${source} is refused; if that site is yours, add its origin to the option 'origins'`,
  )
}

function hostOf(request: Request): string {
  return request.headers.get('host') ?? new URL(request.url).host
}

/** The host as a browser writes it in `origin`: without the default port of the scheme. */
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
    `must be an origin such as 'https://app.example', got ${JSON.stringify(origin)}`,
  )
}
