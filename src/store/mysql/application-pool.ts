/** The application's pool: only its configuration is used, to open our own connections. */
import type mysql from 'mysql2/promise'
import { InvalidInputError } from '../../errors.ts'
import type { MysqlTarget } from '../database.ts'
import { mysqlDriver } from './driver.ts'

export type CreatePool = (options: mysql.PoolOptions) => Promise<mysql.Pool>

/** How to reach the server and sign in. Everything else, such as type casts, is the same as for a URL. */
const FIELDS = [
  'host',
  'port',
  'localAddress',
  'socketPath',
  'stream',
  'user',
  'password',
  'password2',
  'password3',
  'passwordSha1',
  'database',
  'ssl',
  'authPlugins',
  'authSwitchHandler',
  'insecureAuth',
  'enableCleartextPlugin',
  'clientFlags',
  'compress',
  'connectAttributes',
  'keepAliveInitialDelay',
] as const

/**
 * Creates pools that connect to the same server, and as the same user, as the application's pool. Each new connection
 * reads that pool's configuration again, because the application may have replaced an expiring password.
 *
 * @throws InvalidInputError when the value is not a pool, or when its configuration cannot open further connections
 */
export function createPoolLike(target: MysqlTarget): CreatePool {
  const pool = callbackPoolIn(target)
  if (pool === null) throw refused('must be a pool of mysql2')
  const { database, stream } = settingsOf(pool)
  if (typeof database !== 'string' || database === '')
    throw refused('the pool does not name a database: set `database` in its options, or pass a URL')
  if (typeof stream === 'object' && stream !== null)
    throw refused(
      'the `stream` of the pool is a single stream, which serves only one connection: make it a function that returns a new one, or pass a URL',
    )
  return async (options) => {
    const driver = await mysqlDriver()
    const own = driver.createPool(options)
    const defaults = connectionConfig(own.pool)
    Object.defineProperty(own.pool.config, 'connectionConfig', {
      get: () =>
        Object.assign(Object.create(Object.getPrototypeOf(defaults)), defaults, {
          ...settingsOf(pool),
          ...(options.database !== undefined && { database: options.database }),
        }),
    })
    return own
  }
}

export function isMysql(target: object): boolean {
  return callbackPoolIn(target) !== null
}

/** A promise-based pool wraps the actual pool. */
function callbackPoolIn(target: object): object | null {
  const given: object = ('$client' in target ? Object(target.$client) : target) ?? {}
  const pool: unknown = 'pool' in given ? given.pool : given
  return typeof pool === 'object' &&
    pool !== null &&
    'getConnection' in pool &&
    connectionConfig(pool) !== null
    ? pool
    : null
}

function settingsOf(pool: object): Partial<Record<(typeof FIELDS)[number], unknown>> {
  const config = connectionConfig(pool) ?? {}
  // The fields differ between versions of the driver.
  return Object.fromEntries(
    FIELDS.filter((field) => field in config).map((field) => [field, Reflect.get(config, field)]),
  )
}

/** The driver's types do not include this property. */
function connectionConfig(pool: object): object | null {
  const config: unknown = Reflect.get(pool, 'config')
  if (typeof config !== 'object' || config === null) return null
  const found: unknown = Reflect.get(config, 'connectionConfig')
  return typeof found === 'object' ? found : null
}

function refused(why: string): InvalidInputError {
  return new InvalidInputError('database', why)
}
