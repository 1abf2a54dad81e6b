/** A command's work on the database: opened, and closed whatever happens. */
import { existsSync } from 'node:fs'
import type { Kalends } from '../kalends.ts'
import { type Configuration, configurationOf, type DatabaseFlags, sqlitePath } from './configuration.ts'
import { CommandError, EXIT } from './failure.ts'

/**
 * Opens the database as it is: a command that looks or edits makes no tables, which is what `kalends migrate` and
 * workers are for.
 */
export async function withKalends<Result>(
  flags: DatabaseFlags,
  work: (kalends: Kalends) => Promise<Result>,
  options: { readonly lease?: string | undefined } = {},
): Promise<Result> {
  const configuration = configurationOf(flags)
  mustExist(configuration)
  const { database, tablePrefix } = configuration
  const { Kalends } = await import('../kalends.ts')
  const kalends = await Kalends.open(database, { ...options, tablePrefix, migrate: false, retention: false })
  try {
    return await work(kalends)
  } finally {
    await kalends.stop({ grace: 0 })
  }
}

/** SQLite would make an empty file where there is none, in whatever folder one happens to be. */
export function mustExist({ database, origin }: Configuration): void {
  const path = sqlitePath(database)
  if (path === null || existsSync(path)) return
  throw new CommandError(
    `there is no database file '${path}' (from ${origin}): name one with --database, or make it with 'kalends migrate'`,
    { exitCode: EXIT.unavailable },
  )
}
