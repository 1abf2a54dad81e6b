/** `kalends doctor`: what is wrong, and what to do about it. */
import { Command } from 'commander'
import { Kalends } from '../kalends.ts'
import { configurationOf, type DatabaseFlags, shownUrl, withDatabaseOptions } from './configuration.ts'
import { EXIT, QuietFailure } from './failure.ts'
import { harmlessText, painted, print, printJson, say } from './output.ts'
import { mustExist } from './session.ts'
import { counted } from './words.ts'

interface Options extends DatabaseFlags {
  readonly lease?: string
  readonly json?: boolean
}

const HELP = `
It looks at: tables that differ from what this version needs; clocks that disagree; no live worker, and workers
that ended without a word; marks and running jobs that they left; schedules that cannot be planned, are dead or
late; jobs that wait although a worker could run them, that no live worker handles, or that are blocked by nothing.

Examples:
  $ kalends doctor
  $ kalends doctor --json | jq -r .fix
  $ kalends doctor --database mysql://root@localhost/app && echo healthy`

export function doctorCommand(): Command {
  const command = new Command('doctor')
    .description(
      'Looks for what is wrong with the database, its schedules and its workers, and prints what to do about each.\n' +
        'Changes nothing. Ends with 1 when something is wrong.',
    )
    .option(
      '--lease <span>',
      'a worker that is silent for longer is dead; as the workers have it (default: 60s)',
    )
    .option('--json', 'print one JSON object a line for each finding')
    .addHelpText('after', HELP)
  return withDatabaseOptions(command).action(async (options: Options) => {
    const configuration = configurationOf(options)
    mustExist(configuration)
    const { database, tablePrefix } = configuration
    const findings = await Kalends.doctor(database, { tablePrefix, lease: options.lease })
    for (const finding of findings) {
      if (options.json === true) printJson(finding)
      else
        print(
          `${painted('red', 'WRONG')} ${painted('bold', finding.code)}: ${harmlessText(finding.problem)}\n` +
            `  ${painted('green', 'fix')}: ${harmlessText(finding.fix)}\n`,
        )
    }
    if (findings.length === 0) say(`${shownUrl(database)}: nothing is wrong.`)
    else {
      say(`${shownUrl(database)}: ${counted(findings.length, 'thing is', 'things are')} wrong.`)
      throw new QuietFailure('findings', { exitCode: EXIT.failed })
    }
  })
}
