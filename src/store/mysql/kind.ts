import type { DatabaseKind, MysqlTarget } from '../database.ts'
import { isMysql } from './application-pool.ts'

export const mysqlKind: DatabaseKind = {
  example: 'mysql://user@host/name',
  isUrl: (url) => /^(?:mysql|mariadb):\/\//.test(url),
  isObject: isMysql,
  objects: 'a pool of mysql2 (connections and pool clusters are not supported)',
  unsupported: { driver: 'is only for SQLite', clock: 'only SQLite accepts a clock: a server uses its own' },
  async open(target, options) {
    const { openMysql } = await import('./open.ts')
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- see isObject
    return openMysql(target as string | MysqlTarget, options)
  },
}
