/** Anyone can write forwarding headers, so only headers from a trusted proxy count. */
import { BlockList, isIP } from 'node:net'
import { expandIPv6 } from 'hono/utils/ipaddr'
import { InvalidInputError } from '../errors.ts'

const FORWARDING =
  /^(?:forwarded|via|x-forwarded.*|x-real-ip|x(?:-cluster)?-client-ip|true-client-ip|(?:cf-connecting|fly-client)-ip)$/

export class TrustedProxies {
  readonly #proxies = new BlockList()

  /** @throws InvalidInputError unless each is an address or a CIDR range: `10.0.0.5`, `10.0.0.0/8`, `fd00::/8` */
  constructor(ranges: readonly string[]) {
    for (const range of ranges) {
      const [address = '', prefix, ...rest] = range.split('/')
      const bits = isIP(address) === 6 ? 128 : 32
      const length = prefix === undefined ? bits : /^\d{1,3}$/.test(prefix) ? Number(prefix) : NaN
      if (isIP(address) === 0 || rest.length > 0 || !(length <= bits))
        throw new InvalidInputError(
          'trustedProxies',
          `must be an address or a CIDR range such as '10.0.0.0/8', got ${JSON.stringify(range)}`,
        )
      this.#proxies.addSubnet(address, length, familyOf(address))
    }
  }

  trusts(connection: string): boolean {
    const address = plainAddress(connection)
    return address !== null && this.#proxies.check(address, familyOf(address))
  }

  /**
   * The address of the connection or, behind a trusted proxy, the right-most address in `X-Forwarded-For` that is not a
   * trusted proxy. The client itself may have written any addresses to the left of this one.
   *
   * @param connection  the remote address of the connection, or null if unknown, for example for a Unix socket
   */
  clientOf(connection: string | null, headers: Headers): string | null {
    let client = connection === null ? null : plainAddress(connection)
    if (client === null || !this.trusts(client)) return client
    for (const hop of (headers.get('x-forwarded-for') ?? '').split(',').toReversed()) {
      const address = plainAddress(hop)
      if (address === null) break
      client = address
      if (!this.trusts(address)) break
    }
    return client
  }
}

export function isForwarded(headers: Headers): boolean {
  return [...headers.keys()].some((name) => FORWARDING.test(name))
}

export function isLoopback(address: string): boolean {
  return address === '::1' || /^127(?:\.\d{1,3}){3}$/.test(address)
}

/**
 * The key under which a limit counts one client: an IPv4 address, or an IPv6 /64 network, because providers give each
 * customer such a network, which has more addresses than any table can hold.
 */
export function clientKey(address: string): string {
  const plain = plainAddress(address) ?? address
  return isIP(plain) === 6 ? `${expandIPv6(plain).split(':').slice(0, 4).join(':')}::/64` : plain
}

/**
 * Removes what sockets and proxies add to an address, as in `::ffff:10.0.0.1`, `[::1]:4040`, `10.0.0.1:4040` and
 * `fe80::1%eth0`. Returns null if the text is not an address.
 */
function plainAddress(text: string): string | null {
  const trimmed = text.trim()
  // No address with a port is longer than this.
  if (trimmed.length > 80) return null
  const bare =
    /^\[([\da-f:.]+)(?:%\w+)?\](?::\d+)?$/i.exec(trimmed)?.[1] ??
    /^([\d.]+):\d+$/.exec(trimmed)?.[1] ??
    trimmed
  const address = bare.toLowerCase().replace(/%.*$/, '')
  const mapped = /^::ffff:([\d.]+)$/.exec(address)?.[1] ?? address
  return isIP(mapped) === 0 ? null : mapped
}

function familyOf(address: string): 'ipv4' | 'ipv6' {
  return isIP(address) === 6 ? 'ipv6' : 'ipv4'
}
