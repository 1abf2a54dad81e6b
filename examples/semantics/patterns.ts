/**
 * A set of schedules declared in code, with hourly and daily patterns.
 *
 * The design: a list in code defines what runs when, and each start of the application writes it to the database.
 * `catchUp` is the maximum number of runs to make up after downtime: with 100, three missed hours become three jobs;
 * with 1, they become one. A changed pattern applies from now on, never to the past.
 *
 * In Kalends: `declare`, `catchUp`, and the builders of `kalends/timer`.
 *
 *     node examples/dist/semantics/patterns.js                                       a demo on a virtual clock
 *     node dist/cli/main.js start examples/dist/semantics/patterns.js --database sqlite:./app.db     in real time
 */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Kalends, task } from 'kalends'
import { open } from 'kalends/testing'
import { daily, hourly } from 'kalends/timer'

/** Each hour has its own bill, so none may be skipped. */
const billing = task('billing')
/** Only the latest state matters. */
const refresh = task('refresh')
const cleanup = task('cleanup')

/** The application's code in two versions, which differ in `refreshAt`. */
export const application =
  (refreshAt: number) =>
  (kalends: Kalends): void => {
    kalends.handle(billing, ({ slot }) => `billed the hour before ${slot?.toISOString()}`)
    kalends.handle(refresh, ({ missed }) => `refreshed, for ${missed + 1} hours`)
    kalends.handle(cleanup, () => 'cleaned up')
    kalends.declare('office', [
      { task: billing, timer: hourly(), catchUp: 100 },
      { task: refresh, timer: hourly(refreshAt), catchUp: 1 },
      { task: cleanup, timer: daily('03:00') },
    ])
  }

export default application(0)

/** Prints what happens. The clock is virtual, so the lines are always the same. */
export async function story(tell: (line: string) => void): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'kalends-patterns-'))
  try {
    await tellAll(folder, tell)
  } finally {
    await rm(folder, { recursive: true })
  }
}

async function tellAll(folder: string, tell: (line: string) => void): Promise<void> {
  // Uses a file, so that the next start finds the state of the previous one.
  const database = `sqlite:${join(folder, 'app.db')}`
  const up = async (from: string, to: string, refreshAt: number) => {
    tell(`up from ${from} to ${to}, refresh at minute ${refreshAt}`)
    const test = await open(application(refreshAt), { database, now: `2026-03-02T${from}:00Z` })
    test.kalends.on('submitted', ({ scheduleId: id, runs }) => {
      const slots = runs.map(({ slot }) => minute(slot)).join(', ')
      const missed = runs.reduce((sum, run) => sum + run.missed, 0)
      if (runs.length > 0)
        tell(
          `  ${minute(test.now())}  ${id}: jobs for ${slots}${missed === 0 ? '' : `; ${missed} more missed`}`,
        )
    })
    test.kalends.on('settled', ({ state, result }) => {
      if (state === 'success') tell(`           ${String(result)}`)
    })
    await test.advance(new Date(`2026-03-02T${to}:00Z`))
    await test.close()
  }
  await up('02:30', '04:10', 0)
  await up('07:10', '07:20', 0)
  await up('07:25', '08:35', 30)
}

function minute(at: Date): string {
  return at.toISOString().slice(11, 16)
}

if (process.argv[1] === import.meta.filename) await story((line) => console.log(line))
