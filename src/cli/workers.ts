import { durationText } from '../duration.ts'
import type { WorkerStatus } from '../index.ts'
import { type AnyCommand, Command, examples } from './commander.ts'
import { LEASE_OPTION, onDatabase } from './session.ts'
import { type Column, printRows } from './table.ts'
import { when } from './values.ts'

const COLUMNS: readonly Column<WorkerStatus>[] = [
  { title: 'WORKER', value: ({ id }) => id, least: 12 },
  { title: 'HOST', value: ({ host }) => host, least: 8, optional: 2 },
  { title: 'PID', value: ({ pid }) => String(pid), align: 'right', optional: 3 },
  { title: 'STARTED', value: ({ startedAt }) => when(startedAt), optional: 4 },
  {
    title: 'STATE',
    value: ({ alive, silentMs }) => (alive ? 'alive' : `silent for ${durationText(silentMs)}`),
    style: ({ alive }) => (alive ? 'green' : 'red'),
  },
  { title: 'RUNNING', value: ({ running }) => String(running), align: 'right' },
  { title: 'TASKS', value: ({ tasks }) => tasks.join(', ') || '-', least: 5, optional: 1 },
]

export default function workersCommand(): AnyCommand {
  const command = new Command('workers')
    .description(
      'Lists the workers that are registered in the database: running ones, and crashed ones,\n' +
        'whose work other workers take over within the lease.',
    )
    .option(...LEASE_OPTION)
    .addHelpText(...examples('workers', 'workers --json | jq -r .id'))
  return onDatabase(command, async (kalends, { json }) =>
    printRows(json, COLUMNS, await kalends.workers(), 'worker'),
  )
}
