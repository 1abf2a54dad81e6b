/**
 * A calendar schedule whose runs take longer than its interval, with two workers.
 *
 * The design: all state is in table rows. Every worker polls them, and each due schedule is run by one worker. Runs
 * of a schedule never overlap: a run that becomes due during another one is skipped, not queued. An administrator
 * pauses and resumes the schedule in SQL while the workers are running; the current run still finishes.
 *
 * In Kalends: a calendar event, `overlap: 'skip'` (the default), and `UPDATE periodic_task SET enabled = …`.
 *
 *     node examples/dist/semantics/long-run.js [sqlite:./long-run.db | mysql://…]
 */
import { setTimeout as pause } from 'node:timers/promises'
import { type Job, Kalends, task } from 'kalends'
import { openDatabase } from './database.ts'

const TIMER = '*:*:*'
const RUN_MS = 1400

const backup = task('backup')

export interface Told {
  /** The runs and skips, oldest first. */
  readonly history: readonly Job[]
  readonly off: Date
  readonly on: Date
}

export async function story(url: string, tell: (line: string) => void): Promise<Told> {
  const begun = new Date()
  const workers = [await worker(url, 'one', tell), await worker(url, 'two', tell)]
  const client = openDatabase(url)
  const [first] = workers
  if (first === undefined) throw new Error('no worker')
  await first.schedules.put('backup', { task: backup, timer: TIMER })
  // An earlier run of this program may have left the schedule paused.
  await client.rows("UPDATE periodic_task SET enabled = 1 WHERE id = 'backup'")
  await runs(workers, 2)

  await client.rows("UPDATE periodic_task SET enabled = 0 WHERE id = 'backup'")
  const off = new Date()
  tell(`${time(off)}  paused in SQL`)
  await pause(4000)
  const on = new Date()
  tell(`${time(on)}  resumed in SQL`)
  await client.rows("UPDATE periodic_task SET enabled = 1 WHERE id = 'backup'")
  await runs(workers, 2)

  await client.rows("UPDATE periodic_task SET enabled = 0 WHERE id = 'backup'")
  const history = await first.schedules.history('backup')
  await Promise.all(workers.map((one) => one.stop()))
  await client.close()
  return { history: history.filter(({ slot }) => slot !== null && slot > begun).toReversed(), off, on }
}

async function worker(url: string, name: string, tell: (line: string) => void): Promise<Kalends> {
  const kalends = await Kalends.open(url, { worker: name, pollInterval: '200ms' })
  kalends.handle(backup, async ({ slot }) => {
    tell(`${time(new Date())}  ${name} runs for ${slot === null ? 'no slot' : time(slot)}`)
    await pause(RUN_MS)
  })
  kalends.on('submitted', ({ skips }) => {
    for (const { slot, reason } of skips) tell(`${time(new Date())}  skipped ${time(slot)}: ${reason}`)
  })
  await kalends.start()
  return kalends
}

/** Waits until `count` runs have ended, no matter in which worker. */
function runs(workers: readonly Kalends[], count: number): Promise<void> {
  return new Promise((resolve) => {
    let left = count
    const forget = workers.map((kalends) =>
      kalends.on('settled', () => {
        left -= 1
        if (left > 0) return
        for (const one of forget) one()
        resolve()
      }),
    )
  })
}

function time(at: Date): string {
  return at.toISOString().slice(11, 23)
}

if (process.argv[1] === import.meta.filename)
  await story(process.argv[2] ?? 'sqlite:./long-run.db', (line) => console.log(line))
