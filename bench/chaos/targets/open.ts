/** A database to run on: a server or a file of our own, or what a URL names. */
import type { Target } from '../fault.ts'
import { findGalera } from '../../../test/support/servers-galera.ts'
import { findMariadb } from '../../../test/support/servers-mariadb.ts'
import { findMysql } from '../../../test/support/servers-mysql.ts'
import { findProgram } from '../../../test/support/servers-programs.ts'
import { openGalera } from './galera.ts'
import { openGroup, openGroupMulti } from './group.ts'
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
  group: openGroup,
  'group-multi': openGroupMulti,
}

/** The names of those that are ours from begin to end. */
export const ownTargets: readonly string[] = Object.keys(own)

/** @returns why a target of ours is not available on this machine, and how to get it; null: it is */
export async function missingFor(kind: Target['kind']): Promise<string | null> {
  if (findProgram('flock') === null) return 'there is no flock on this machine: install util-linux'
  const found = {
    sqlite: async () => null,
    mariadb: findMariadb,
    mysql: () => findMysql(process.env),
    galera: findGalera,
    group: () => findMysql(process.env),
    'group-multi': () => findMysql(process.env),
  }
  const programs = await found[kind]()
  return typeof programs === 'string' ? programs : null
}

/**
 * @param name  `sqlite`, `mariadb`, `mysql`, `galera`, `group`, `group-multi`, or a URL
 * @throws Error when it cannot be had, saying what is missing
 */
export async function openTarget(name: string, options: TargetOptions): Promise<Target> {
  const open = own[name]
  return open === undefined ? await openUrlTarget(name, options) : await open(options)
}
