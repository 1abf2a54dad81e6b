/** `kalends workers`: who is there. */
import { Command } from 'commander'
import type { WorkerStatus } from '../index.ts'
import { type DatabaseFlags, withDatabaseOptions } from './configuration.ts'
import { print, printJson, say } from './output.ts'
import { withKalends } from './session.ts'
import { type Column, tableText } from './table.ts'
import { counted, spanShort, when } from './words.ts'

interface Options extends DatabaseFlags {
  readonly lease?: string
  readonly json?: boolean
}

const COLUMNS: readonly Column<WorkerStatus>[] = [
  { title: 'WORKER', value: ({ id }) => id, least: 12 },
  { title: 'HOST', value: ({ host }) => host, least: 8, optional: 2 },
  { title: 'PID', value: ({ pid }) => String(pid), align: 'right', optional: 3 },
  { title: 'STARTED', value: ({ started }) => when(started), optional: 4 },
  {
    title: 'STATE',
    value: ({ alive, silentMs }) => (alive ? 'alive' : `silent for ${spanShort(silentMs)}`),
    style: ({ alive }) => (alive ? 'green' : 'red'),
  },
  { title: 'RUNNING', value: ({ running }) => String(running), align: 'right' },
  { title: 'TASKS', value: ({ tasks }) => tasks.join(', ') || '-', least: 5, optional: 1 },
]

export function workersCommand(): Command {
  const command = new Command('workers')
    .description(
      'Lists the workers that are registered in the database: those that run, and those that ended without a\n' +
        'word, which the others take over within the lease.',
    )
    .option('--lease <span>', 'who is silent for longer is not alive; as the workers have it (default: 60s)')
    .option('--json', 'print one JSON object a line')
    .addHelpText('after', '\nExamples:\n  $ kalends workers\n  $ kalends workers --json | jq -r .id')
  return withDatabaseOptions(command).action((options: Options) => {
    const { lease } = options
    return withKalends(
      options,
      async (kalends) => {
        const workers = await kalends.workers()
        if (options.json === true) for (const worker of workers) printJson(worker)
        else {
          if (workers.length > 0) print(tableText(COLUMNS, workers))
          say(`${counted(workers.length, 'worker')}.`)
        }
      },
      { lease },
    )
  })
}
