/**
 * A table of strict POSIX cron expressions in code.
 *
 * The design: expressions have five fields with numbers, lists, ranges and stars, as POSIX defines them, and nothing
 * else. Other syntax is rejected at once, with a suggestion. The code overrides the settings in the database except
 * `enabled`, and every difference is logged. After an outage, a schedule runs once, no matter how many runs it missed.
 * A new schedule runs at once only if its expression matches the current minute.
 *
 * In Kalends: `cron! …`, `declare`, `catchUp` 1 (the default), `firstRun: 'if-due'`.
 *
 *     node examples/dist/semantics/crontab.js                                        a demo on a virtual clock
 *     node dist/cli/main.js start examples/dist/semantics/crontab.js --database sqlite:./app.db      in real time
 */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import Libsql from 'libsql'
import { DeclarationError, type Kalends, type Logger, task } from 'kalends'
import { open } from 'kalends/testing'
import { checkTimer } from 'kalends/timer'

/** `cron`, which is not strict, allows most of these. */
export const REFUSED = ['*/15 * * * *', '0 9 * * MON-FRI', '@hourly', '0 0 12 * * *', '0 0 31 2 *']

export const TABLE = {
  sync: 'cron! 0 0,2,4,6,8,10,12,14,16,18,20,22 * * *',
  report: 'cron! 0 9 1 * 1',
}

export const crontab =
  (table: Readonly<Record<string, string>>) =>
  (kalends: Kalends): void => {
    const entries = Object.entries(table).map(([name, timer]) => ({ task: task(name), timer }))
    for (const { task } of entries) kalends.handle(task, ({ missed }) => ({ missed }))
    kalends.declare(
      'crontab',
      entries.map((entry) => ({ ...entry, firstRun: 'if-due' as const })),
    )
  }

export default crontab(TABLE)

/** Prints each step. The clock is virtual, so the lines are always the same. */
export async function story(tell: (line: string) => void): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'kalends-crontab-'))
  try {
    await tellAll(folder, tell)
  } finally {
    await rm(folder, { recursive: true })
  }
}

async function tellAll(folder: string, tell: (line: string) => void): Promise<void> {
  tell('rejected because it is not POSIX:')
  for (const text of REFUSED) {
    const check = checkTimer(`cron! ${text}`)
    if (!check.valid) tell(`  ${text}: ${check.error.hint ?? check.error.message}`)
  }
  const wrong = Object.fromEntries(
    REFUSED.slice(0, 2).map((text, index) => [`wrong-${index}`, `cron! ${text}`]),
  )
  try {
    await open(crontab(wrong))
  } catch (error) {
    if (!(error instanceof DeclarationError)) throw error
    tell(`  nothing starts: ${error.problems.length} problems in one error`)
  }

  const start = async (now: string, name = 'app') => {
    tell(`start at ${now}`)
    const test = await open(crontab(TABLE), {
      database: `sqlite:${join(folder, `${name}.db`)}`,
      now: `2026-03-02T${now}Z`,
      logger: telling(tell),
    })
    test.kalends.on('started', ({ task, slot, missed }) => {
      const passed = missed === 0 ? '' : `, after ${missed} missed runs`
      tell(`  ${time(test.now())}  ${task} runs for ${slot === null ? 'no slot' : time(slot)}${passed}`)
    })
    await test.drain()
    return test
  }

  // Starts on Monday, 2 March, in the minute in which the report is due.
  const matching = await start('09:00:20')
  await matching.close()
  const late = await start('09:01:05', 'another')
  tell(`  nothing runs: the next report is for ${next(await late.kalends.schedules.get('report'))}`)
  await late.close()

  const first = await start('09:30:00')
  await first.advance('45min')
  await first.close()
  tell("SQL at 10:20: UPDATE periodic_task SET timer = 'daily', enabled = 0 WHERE id = 'report'")
  const client = new Libsql(join(folder, 'app.db'))
  client.exec("UPDATE periodic_task SET timer = 'daily', enabled = 0 WHERE id = 'report'")
  client.close()

  const second = await start('22:15:00')
  await second.advance('2h')
  const report = await second.kalends.schedules.get('report')
  tell(`  report has the timer '${report?.timer}' again and is ${report?.status}`)
  await second.close()
}

/** Passes on only the log lines about declared schedules. */
function telling(tell: (line: string) => void): Logger {
  const line = (fields: object, message: string) => {
    if (!message.startsWith('Declared schedule')) return
    const { changes, before } = { changes: undefined, before: undefined, ...fields }
    tell(`  log: ${message}${changes === undefined ? '' : `, ${JSON.stringify({ before, changes })}`}`)
  }
  return { debug: () => {}, info: line, warn: line, error: line }
}

function time(at: Date): string {
  return at.toISOString().slice(11, 19)
}

function next(schedule: { readonly nextRunAt: Date | null } | null): string {
  return schedule?.nextRunAt?.toISOString().slice(0, 16) ?? 'never'
}

if (process.argv[1] === import.meta.filename) await story((line) => console.log(line))
