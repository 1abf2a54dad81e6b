/** The hosts and the group in a URL, `mysql://user:password@h1:3306,h2,[::1]:3307/name?option=…`. */
import { InvalidInputError } from '../../errors.ts'

export interface HostUrl {
  /** As written in the URL, such as 'h1:3306'. */
  readonly name: string
  /** The URL with only this host and without `group`, as the driver expects it. */
  readonly url: string
}

const EXAMPLE = 'mysql://user@host:3306/name, or mysql://user@host1,host2:3307/name'

/** @throws InvalidInputError when the URL is invalid; the message never shows text that may be a password */
export function hostsOf(url: string): readonly HostUrl[] {
  const { authority, rest } = partsOf(url)
  // Everything before the last @ is the user name and password.
  const [, user = '', list = ''] = /^(.*@)?(.*)$/s.exec(authority) ?? []
  // If the only @ comes after a /, ? or #, that character is in the user name or password, and was not encoded.
  if (user === '' && rest.includes('@')) throw refused(UNREADABLE)
  const hosts = list.split(',').map((entry): HostUrl => {
    const name = entry.trim()
    return { name, url: `mysql://${user}${name}${withoutGroup(rest)}` }
  })
  for (const [index, host] of hosts.entries()) check(host, index, hosts)
  return hosts
}

/** The group that the hosts must belong to: `?group=<UUID>`, or null for any. @throws InvalidInputError */
export function groupOf(url: string): string | null {
  const group = optionOf(url, 'group')
  if (group === null || UUID.test(group)) return group
  throw refused(`'group' is not a UUID; write the value of the server's group_replication_group_name`)
}

/**
 * How long a host may take to provide a usable connection: `?connectTimeout=<ms>`, or null.
 *
 * @throws InvalidInputError
 */
export function connectTimeoutOf(url: string): number | null {
  const text = optionOf(url, 'connectTimeout')
  if (text === null) return null
  const ms = Number(text)
  if (Number.isInteger(ms) && ms > 0) return ms
  throw refused(`'connectTimeout' is not a number of milliseconds`)
}

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i

function optionOf(url: string, name: string): string | null {
  const { rest } = partsOf(url)
  return new URLSearchParams(rest.slice(rest.indexOf('?') + 1)).get(name)
}

function partsOf(url: string): { readonly authority: string; readonly rest: string } {
  const [, authority = '', rest = ''] = /^\w+:\/\/([^/?#]*)(.*)$/s.exec(url) ?? []
  return { authority, rest }
}

/** Removes the option `group`, which the driver does not know. */
function withoutGroup(rest: string): string {
  const [path = '', ...query] = rest.split('?')
  const options = query.join('?').split('&')
  const others = options.filter((option) => !option.startsWith('group=')).join('&')
  return others === '' ? path : `${path}?${others}`
}

const UNREADABLE =
  'the URL cannot be read; in a user name or a password, write %40 for @, %23 for #, %2F for / and %25 for %'

function check({ name, url }: HostUrl, index: number, all: readonly HostUrl[]): void {
  // The host is named by its position, because the text could be anything, even a secret.
  const which = all.length === 1 ? 'the host' : `host ${index + 1} of ${all.length}`
  if (name === '') throw refused(`${which} is empty`)
  if (!URL.canParse(`mysql://${name}/`) || new URL(`mysql://${name}/`).hostname === '') {
    throw refused(
      `${which} is not a valid name or address with an optional port; write an IPv6 address in brackets`,
    )
  }
  if (!URL.canParse(url) || !decodes(url)) throw refused(UNREADABLE)
  if (new URL(url).pathname.length < 2) throw refused('the URL does not name a database')
  const ssl = new URL(url).searchParams.get('ssl')
  // The driver's SSL profiles have names such as 'Amazon RDS'.
  if (ssl !== null && /^(true|false|1|0|on|off|yes|no|required?|preferred|disabled|)$/i.test(ssl))
    throw refused(
      `ssl=${ssl} is not supported by the driver: for a server whose certificate is signed by a public authority, write ssl={"verifyIdentity":true}, percent-encoded; for your own authority, also set NODE_EXTRA_CA_CERTS, or pass a mysql2 pool with ssl: { ca }; without TLS, leave ssl out`,
    )
  if (all.some((other, at) => at < index && withPort(other.name) === withPort(name))) {
    throw refused(`${which} is listed twice`)
  }
}

function withPort(name: string): string {
  return /:\d+$/.test(name) ? name.toLowerCase() : `${name.toLowerCase()}:3306`
}

/** Whether the driver can decode the user, password and database name. If not, it would throw another kind of error. */
function decodes(url: string): boolean {
  const { username, password, pathname } = new URL(url)
  try {
    for (const part of [username, password, pathname]) decodeURIComponent(part)
    return true
  } catch {
    return false
  }
}

function refused(why: string): InvalidInputError {
  return new InvalidInputError('database', `${why}; write ${EXAMPLE}`)
}
