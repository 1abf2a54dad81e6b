import { counted } from '../duration.ts'
import { Kalends } from '../kalends.ts'
import { type AnyCommand, Command, examples } from './commander.ts'
import { existingDatabase, shownUrl, withDatabaseOptions } from './configuration.ts'
import { QuietFailure } from './failure.ts'
import { harmlessText, painted, printResult, say } from './output.ts'
import { LEASE_OPTION } from './session.ts'

const HELP = `
It checks for tables that do not fit this version; clocks that disagree; the lack of a live worker; crashed workers, and
the marks and running jobs that they left behind; schedules that cannot be planned, or that are dead or late; jobs that
wait although a worker could run them, that no live worker handles, or that are blocked although no other job blocks
them.`

export default function doctorCommand(): AnyCommand {
  const command = new Command('doctor')
    .description(
      'Finds problems with the database, its schedules and its workers, and prints how to fix each. Changes\n' +
        'nothing. Exits with 1 if there is a problem.',
    )
    .option(...LEASE_OPTION)
    .option('--json', 'print a JSON object for each problem, one per line')
    .addHelpText('after', HELP)
    .addHelpText(
      ...examples(
        'doctor',
        'doctor --json | jq -r .fix',
        'doctor --database mysql://root@localhost/app && echo healthy',
      ),
    )
  return withDatabaseOptions(command).action(async ({ lease, json, ...flags }) => {
    const { database, tables } = existingDatabase(flags)
    const findings = await Kalends.doctor(database, { ...tables, lease })
    for (const finding of findings) {
      const problem = `${painted('red', 'WRONG')} ${painted('bold', finding.code)}: ${harmlessText(finding.problem)}`
      printResult(json, finding, `${problem}\n  ${painted('green', 'fix')}: ${harmlessText(finding.fix)}\n`)
    }
    const found = findings.length === 0 ? 'no problems' : counted(findings.length, 'problem')
    say(`${shownUrl(database)}: ${found} found.`)
    if (findings.length > 0) throw new QuietFailure()
  })
}
