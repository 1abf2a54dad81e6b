/** `kalends migrate`: the tables, as a step of a deployment. */
import { Command } from 'commander'
import { Kalends } from '../kalends.ts'
import { type DatabaseOptions, shownUrl, withDatabaseOptions } from './database-options.ts'

export function migrateCommand(): Command {
  const command = new Command('migrate')
    .summary('bring the tables of a database to what this version needs')
    .description(
      'Creates the tables of Kalends, or brings them to what this version needs, and tells which migrations it\n' +
        'applied. Does nothing when they are up to date. Several may run at once: one does it, the others wait.\n' +
        "A table of the application's own that has one of our names is never touched: the command fails and\n" +
        'says so.',
    )
    .addHelpText(
      'after',
      `
Examples:
  $ kalends migrate
  $ kalends migrate --database mysql://root@localhost/app
  $ KALENDS_DATABASE=mysql://root@localhost/app kalends migrate --table-prefix kalends_

Kalends.open does the same, unless it is called with { migrate: false }. Run it by itself where the
application's user may not create tables.`,
    )
  return withDatabaseOptions(command).action(async ({ database, tablePrefix }: DatabaseOptions) => {
    const applied = await Kalends.migrate(database, { tablePrefix })
    const where = shownUrl(database)
    if (applied.length === 0) process.stdout.write(`${where}: up to date, nothing to do\n`)
    else process.stdout.write(`${where}: applied ${applied.join(', ')}\n`)
  })
}
