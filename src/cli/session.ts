import type { Kalends } from '../kalends.ts'
import { type AnyCommand, type Command, type OptionValues, withFlags } from './commander.ts'
import { say } from './output.ts'
import { type DatabaseFlags, existingDatabase, withDatabaseOptions } from './configuration.ts'

export const LEASE_OPTION = [
  '--lease <span>',
  'a worker that is silent for longer counts as dead; use the lease of your workers (default: 60s)',
] as const

export type SessionFlags = DatabaseFlags & {
  readonly json?: boolean
  readonly lease?: string
}

/** Adds the database options, `--json`, and an action that calls `work` with the opened database. */
export function onDatabase<Args extends unknown[], Flags extends OptionValues>(
  command: Command<Args, Flags>,
  work: (kalends: Kalends, ...params: [...Args, Flags & SessionFlags]) => Promise<void>,
): AnyCommand {
  const complete = withFlags<Args, Flags & DatabaseFlags, SessionFlags>(
    withDatabaseOptions(command),
    (plain) => {
      plain.option('--json', 'print JSON, one object per line')
    },
  )
  return complete.action(() => {
    const flags = complete.opts()
    return withKalends(flags, (kalends) => work(kalends, ...complete.processedArgs, flags))
  })
}

/** Opens the database without migrating it: only `kalends migrate` and workers create tables. */
export async function withKalends<Result>(
  flags: SessionFlags,
  work: (kalends: Kalends) => Promise<Result>,
): Promise<Result> {
  const { database, tables } = existingDatabase(flags)
  const { Kalends } = await import('../kalends.ts')
  const options = { ...tables, lease: flags.lease, migrate: false, retention: false, logger: false } as const
  const kalends = await Kalends.open(database, options)
  try {
    return await work(kalends)
  } finally {
    await kalends.stop({ grace: 0 })
  }
}

/** Warns if no worker is known to handle the task; usually, its name is misspelt. */
export async function warnOfTask({ jobs }: Kalends, task: string): Promise<void> {
  const warning = await jobs.taskWarning(task)
  if (warning !== null) say(warning)
}
