/** A database to run on: a server or a file of our own, or what a URL names. */
import type { Target } from '../fault.ts'
import { openGalera } from './galera.ts'
import { openMariadb } from './mariadb.ts'
import { openMysql } from './mysql.ts'
import type { TargetOptions } from './own-server.ts'
import { openSqlite } from './sqlite.ts'
import { openUrlTarget } from './url.ts'

const own: Readonly<Record<string, (options: TargetOptions) => Promise<Target>>> = {
  sqlite: openSqlite,
  mariadb: openMariadb,
  mysql: openMysql,
  galera: openGalera,
}

/** The names of those that are ours from begin to end. */
export const ownTargets: readonly string[] = Object.keys(own)

/**
 * @param name  `sqlite`, `mariadb`, `mysql`, `galera`, or a URL
 * @throws Error when it cannot be had, saying what is missing
 */
export async function openTarget(name: string, options: TargetOptions): Promise<Target> {
  const open = own[name]
  return open === undefined ? await openUrlTarget(name, options) : await open(options)
}
