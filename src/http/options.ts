import type { Logger } from '../index.ts'
import type { Access, Authorize, Role } from './access.ts'
import type { ChangesOptions } from './changes.ts'

/** The source of metrics: a registry of prom-client. */
export interface MetricsRegistry {
  readonly contentType: string
  metrics(): Promise<string>
}

export interface HttpOptions {
  /**
   * Returns the caller and its permissions, or null if the caller is unknown. Without this option, every request
   * except health checks is rejected, unless `open` is set. The function must not read the body.
   */
  readonly authorize?: Authorize | undefined
  /**
   * The role of every caller, if there is no `authorize`. Only for demos, on a server that listens on the loopback
   * interface. The API then responds only to `localhost`, `127.0.0.1`, `[::1]` and the names in `hosts`, and rejects
   * requests that have forwarding headers or use HTTP/1.0. It cannot detect every proxy, so behind a proxy, use
   * `authorize`.
   */
  readonly open?: Role | undefined
  /**
   * Whether callers without a scope may use Kalends' own tasks (`kalends.*`) and the task `command`, which runs
   * programs; default false. Callers with a scope may never use them.
   */
  readonly builtInTasks?: boolean | undefined
  /**
   * Called before each write, for each schedule and job, and before each freeze and thaw. To refuse the write, return
   * false or a message for the caller.
   */
  readonly permit?: Permit | undefined
  /** Host names that the API responds to, in addition to the local ones; default with `authorize`: any. */
  readonly hosts?: readonly string[] | undefined
  /**
   * Origins of other sites whose pages may write, such as `https://admin.example`. The API's own origin is always
   * allowed.
   */
  readonly origins?: readonly string[] | undefined
  /**
   * Addresses and CIDR ranges of the proxies in front of the API, such as `10.0.0.0/8`. `X-Forwarded-For` is trusted
   * only from these proxies. Limits and the log then use the client's address, not the proxy's.
   */
  readonly trustedProxies?: readonly string[] | undefined
  /**
   * The mount point, such as `/kalends`. Other paths return 404. Default: the path where Express mounted
   * `node(handler)`, otherwise the root.
   */
  readonly basePath?: string | undefined
  /** The largest body in bytes; default 1,000,000. */
  readonly bodyLimit?: number | undefined
  /** Receives an audit event for each write, and messages about refused requests and errors; default: Kalends' logger. */
  readonly logger?: Logger | undefined
  /** A registry with the metrics of `kalends/prometheus`; default: a new one, if prom-client is installed. */
  readonly metrics?: MetricsRegistry | undefined
  readonly events?: ChangesOptions | undefined
  /** Whether to serve the web page as well; default true. A closed API never serves it. */
  readonly page?: boolean | undefined
}

/** The row that is about to be written. Its ids are those that the caller uses, without the prefix of a scope. */
export interface Subject {
  readonly task: string
  readonly scheduleId?: string | null
  readonly jobId?: string | null
  /** What a freeze or a thaw applies to: everything that matches all of these. If it names no task, `task` is `*`. */
  readonly freeze?: {
    readonly task: string | null
    readonly group: string | null
    readonly scheduleId: string | null
  }
}

/** One write by one caller. */
export interface WriteRequest extends Subject {
  /** The operation, such as `pauseSchedule`. */
  readonly action: string
  readonly access: Access
}

export type Permit = (write: WriteRequest) => boolean | string | Promise<boolean | string>
