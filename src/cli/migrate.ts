/** `kalends migrate`: the tables, as a step of a deployment. */
import { Command } from 'commander'
import { Kalends } from '../kalends.ts'
import { configurationOf, type DatabaseFlags, shownUrl, withDatabaseOptions } from './configuration.ts'
import { print, printJson } from './output.ts'
import { progressBar } from './progress-bar.ts'

export function migrateCommand(): Command {
  const command = new Command('migrate')
    .description(
      'Creates the tables of Kalends, or brings them to what this version needs, and tells which migrations it\n' +
        'applied. Does nothing when they are up to date. Several may run at once: one does it, the others wait.\n' +
        "A table of the application's own that has one of our names is never touched: the command fails and\n" +
        'says so.',
    )
    .option('--json', 'print JSON')
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
  return withDatabaseOptions(command).action(async (options: DatabaseFlags & { readonly json?: boolean }) => {
    const { database, tablePrefix } = configurationOf(options)
    const bar = progressBar('Migrating')
    const applied = await Kalends.migrate(database, {
      tablePrefix,
      onStep: (done, of) => bar.update(done, of),
    }).finally(() => bar.end())
    const where = shownUrl(database)
    if (options.json === true) printJson({ database: where, applied })
    else if (applied.length === 0) print(`${where}: up to date, nothing to do\n`)
    else print(`${where}: applied ${applied.join(', ')}\n`)
  })
}
