/** The hosts and the group in a URL, `mysql://user:password@h1:3306,h2,[::1]:3307/name?option=…`. */
import { InvalidInputError } from '../../errors.ts'

export interface HostUrl {
  /** As written in the URL, such as 'h1:3306'. */
  readonly name: string
  /** The URL with only this host, and with the options as the driver expects them. */
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
  const [path = ''] = rest.split('?')
  const options = driverOptions(new URLSearchParams(rest.slice(path.length + 1)))
  const query = options.size === 0 ? '' : `?${String(options)}`
  const hosts = list.split(',').map((entry): HostUrl => {
    const name = entry.trim()
    return { name, url: `mysql://${user}${name}${path}${query}` }
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

/** Options that are passed on to the driver. */
const OF_DRIVER = ['connectTimeout', 'socketPath', 'localAddress', 'compress']
/** Options of other drivers that have the meaning of `ssl-mode`, in lower case and without dashes and underscores. */
const OF_TLS = ['sslmode', 'ssl', 'tls', 'usessl', 'sslaccept']

/**
 * The meanings of `ssl-mode`, as in https://dev.mysql.com/doc/refman/8.4/en/connection-options.html, and of the values
 * of the other options. Null means without TLS.
 */
const TLS: Readonly<Record<string, object | null>> = {
  disabled: null,
  disable: null,
  required: { rejectUnauthorized: false },
  require: { rejectUnauthorized: false },
  skipverify: { rejectUnauthorized: false },
  acceptinvalidcerts: { rejectUnauthorized: false },
  verifyca: { rejectUnauthorized: true },
  verifyidentity: { verifyIdentity: true },
  verifyfull: { verifyIdentity: true },
  strict: { verifyIdentity: true },
}
/** Values that leave open whether the certificate is verified. */
const UNCLEAR = /^(|true|1|on|yes|preferred|prefer|allow)$/
const OFF = /^(false|0|off|no)$/

const simplified = (text: string) => text.toLowerCase().replaceAll(/[-_]/g, '')

/**
 * The options that the driver gets. It would ignore unknown ones: with `?sslmode=require`, it would connect without TLS.
 *
 * @throws InvalidInputError when an option or its value is unknown
 */
function driverOptions(given: URLSearchParams): URLSearchParams {
  const options = new URLSearchParams()
  for (const [name, value] of given) {
    if (name === 'group') continue
    if (OF_TLS.includes(simplified(name))) {
      if (options.has('ssl')) throw refused(`'${name}' and another option about TLS are both given`)
      options.set('ssl', tlsOption(name, value))
    } else if (OF_DRIVER.includes(name)) options.set(name, value)
    else
      throw refused(
        `the option '${name}' is not supported: it must be one of ssl-mode, ssl, group, ${OF_DRIVER.join(', ')}; for anything else, pass a mysql2 pool`,
      )
  }
  if (options.get('ssl') === '') options.delete('ssl')
  return options
}

/** @returns JSON or the name of one of the driver's profiles; empty for no TLS */
function tlsOption(name: string, value: string): string {
  const meaning = TLS[simplified(value)]
  if (meaning === null || OFF.test(value.toLowerCase())) return ''
  if (meaning !== undefined) return JSON.stringify(meaning)
  const isOfDriver = name === 'ssl' && !UNCLEAR.test(value.toLowerCase())
  if (isOfDriver) return value
  throw refused(
    `'${name}=${value}' is not supported: write ssl-mode=VERIFY_IDENTITY, or ssl-mode=VERIFY_CA if the certificate does not name the host (for your own authority, also set NODE_EXTRA_CA_CERTS), ssl-mode=REQUIRED to encrypt without verifying the certificate, or ssl-mode=DISABLED`,
  )
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
