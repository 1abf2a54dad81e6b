import { Kalends } from '../kalends.ts'
import { type AnyCommand, Command, examples } from './commander.ts'
import { configurationOf, shownUrl, withDatabaseOptions } from './configuration.ts'
import { print, printJson, printResult } from './output.ts'

export default function migrateCommand(): AnyCommand {
  const command = new Command('migrate')
    .description(
      'Creates the tables of Kalends or updates them to this version, and prints the migrations that it applied. Does\n' +
        'nothing if they are up to date. Several processes may run it at once: one migrates, the others wait. The\n' +
        'command fails without a change if a table of the application has a name that Kalends needs.',
    )
    .option('--print', 'print the statements instead of running them')
    .option('--json', 'print JSON')
    .addHelpText(
      ...examples(
        'migrate',
        'migrate --database mysql://root@localhost/app',
        'migrate --database mysql://root@localhost/app --table-prefix kalends_',
        'migrate --print > kalends.sql',
      ),
    )
    .addHelpText(
      'after',
      `
Kalends.open does the same, unless it is called with { migrate: false }. Run this command if the user of the
application may not create tables. With --print, it changes nothing and prints the missing statements, so that
another user can run them.`,
    )
  return withDatabaseOptions(command).action(async ({ json, print: isPrinted, ...flags }) => {
    const { database, tables } = configurationOf(flags)
    if (isPrinted === true) {
      const statements = await Kalends.migrationStatements(database, tables)
      printResult(json, { statements }, statements.map((statement) => `${statement};\n`).join(''))
      return
    }
    const applied = await Kalends.migrate(database, tables)
    const where = shownUrl(database)
    if (json === true) printJson({ database: where, applied })
    else if (applied.length === 0) print(`${where}: up to date, nothing to do\n`)
    else print(`${where}: applied ${applied.join(', ')}\n`)
  })
}
