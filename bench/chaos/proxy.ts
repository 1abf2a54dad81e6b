/**
 * The connection of one worker to the database: one proxy to each host. A fault affects all of these proxies together.
 */
import { Proxy } from '../../test/support/worker-proxy.ts'
import type { Way, WayProxy } from './fault.ts'

export interface OpenWay extends Way {
  readonly proxy: WayProxy
  /** One proxy for each host, in the order of the URL. */
  readonly proxies: readonly Proxy[]
  close(): Promise<void>
}

/**
 * @param url  the URL of the database, of which only the user, the password, the name and the options are used
 * @param hosts  such as `127.0.0.1:3306`, in the order in which this worker should try them
 */
export async function openWay(url: URL, hosts: readonly string[]): Promise<OpenWay> {
  const proxies = await Promise.all(
    hosts.map((host) => Proxy.open(`mysql://${host}`, { keepsStatements: false })),
  )
  const each = (hurt: (proxy: Proxy) => void) => () => proxies.forEach(hurt)
  const list = proxies.map((proxy) => new URL(proxy.url).host).join(',')
  const user = `${url.username}${url.password === '' ? '' : `:${url.password}`}`
  return {
    url: `mysql://${user}@${list}${url.pathname}${url.search}`,
    proxies,
    proxy: {
      cut: each((proxy) => proxy.cut()),
      stall: each((proxy) => proxy.stall()),
      strand: each((proxy) => proxy.strand()),
      slow: (ms) => proxies.forEach((proxy) => proxy.slow(ms)),
      mend: each((proxy) => proxy.mend()),
    },
    async close() {
      await Promise.all(proxies.map((proxy) => proxy.close()))
    },
  }
}
