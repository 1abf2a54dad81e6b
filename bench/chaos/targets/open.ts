/** Opens the database of a run: a private server or file, or the target of a URL. */
import { findGalera } from '../../../test/support/servers-galera.ts'
import { findMariadb } from '../../../test/support/servers-mariadb.ts'
import { findMysql } from '../../../test/support/servers-mysql.ts'
import { findProgram } from '../../../test/support/servers-programs.ts'
import { type Target, TARGETS } from '../fault.ts'
import { openGalera } from './galera.ts'
import { openGroup, openGroupMulti } from './group.ts'
import { openMariadb } from './mariadb.ts'
import { openMysql } from './mysql.ts'
import type { TargetOptions } from './own-server.ts'
import { openReplica } from './replica.ts'
import { openSqlite } from './sqlite.ts'
import { openUrlTarget } from './url.ts'

interface OwnTarget {
  /** The kind of database. */
  readonly database: 'sqlite' | 'mariadb' | 'mysql'
  /** Finds the programs, or returns the reason why they are missing. */
  readonly find: () => Promise<unknown>
  readonly open: (options: TargetOptions) => Promise<Target>
}

const mysql = { database: 'mysql', find: () => findMysql(process.env) } as const

export const OWN: Readonly<Record<Target['kind'], OwnTarget>> = {
  sqlite: { database: 'sqlite', find: async () => null, open: openSqlite },
  mariadb: { database: 'mariadb', find: findMariadb, open: openMariadb },
  mysql: { ...mysql, open: openMysql },
  galera: { database: 'mariadb', find: findGalera, open: openGalera },
  group: { ...mysql, open: openGroup },
  'group-multi': { ...mysql, open: openGroupMulti },
  replica: { ...mysql, open: openReplica },
}

/** @returns why a private target is not available on this machine, and how to get it; null if it is available */
export async function missingFor(kind: Target['kind']): Promise<string | null> {
  if (findProgram('flock') === null) return 'flock is missing: install util-linux'
  const programs = await OWN[kind].find()
  return typeof programs === 'string' ? programs : null
}

/**
 * @param name  the name of a private target, or a URL
 * @throws Error if it is not available; the message says what is missing
 */
export async function openTarget(name: string, options: TargetOptions): Promise<Target> {
  const own = TARGETS.find((kind) => kind === name)
  return own === undefined ? await openUrlTarget(name, options) : await OWN[own].open(options)
}
