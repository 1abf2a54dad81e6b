/**
 * One-off, interval and cron schedules with a history, run by several schedulers.
 *
 * The design: each process has a scheduler. One of them takes a due schedule, writes the run to the history and
 * advances the schedule. If it dies before both are committed, another takes over, so no run is lost or duplicated.
 *
 * In Kalends: `PeriodicScheduler`, whose `submit` writes the history in the hand-over transaction.
 *
 *     node examples/dist/semantics/history.js [sqlite:./history.db | mysql://…]
 *
 * The demo waits until the next minute begins, because cron has no shorter unit.
 */
import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { setTimeout as pause } from 'node:timers/promises'
import { type Job, Kalends, PeriodicScheduler } from 'kalends'
import { at } from 'kalends/timer'
import { openDatabase, type Rows, rowsOn } from './database.ts'

const LEASE = '3s'

interface HistoryRow {
  readonly id: string
  readonly schedule: string
  readonly slot: number
  readonly scheduler: string
}

/** Writes the runs of a hand-over, in its transaction. */
async function write(rows: Rows, scheduler: string, jobs: readonly Job[]): Promise<void> {
  for (const { id, scheduleId: schedule, slot } of jobs)
    await rows('INSERT INTO run_history (id, schedule, slot, scheduler) VALUES (?, ?, ?, ?)', [
      id,
      schedule,
      slot?.getTime() ?? null,
      scheduler,
    ])
}

/** One process. @param diesAt  the process dies between the insert for this schedule and the COMMIT; never if empty */
async function scheduler(url: string, name: string, diesAt: string): Promise<void> {
  const scheduler = await PeriodicScheduler.open(url, {
    worker: name,
    lease: LEASE,
    // The history contains only starts, so nothing reports the end of a run.
    reports: false,
    async submit(jobs, { tx }) {
      await write(rowsOn(tx), name, jobs)
      if (!jobs.some(({ scheduleId: schedule }) => schedule === diesAt)) return
      console.log(`${name}: dies after the insert of ${names(jobs)}`)
      process.exit(1)
    },
  })
  await scheduler.start()
  process.send?.('ready')
  process.on('disconnect', () => process.exit())
  process.on('message', () => {
    void scheduler.stop().then(() => process.exit())
  })
}

async function main(url: string): Promise<void> {
  const database = openDatabase(url)
  await database.rows(
    'CREATE TABLE IF NOT EXISTS run_history (id VARCHAR(36) NOT NULL PRIMARY KEY, schedule VARCHAR(190) NOT NULL, slot BIGINT NOT NULL, scheduler VARCHAR(190) NOT NULL)',
  )
  const begun = Date.now()
  const kalends = await Kalends.open(url)
  const minute = new Date(Math.ceil((begun + 10_000) / 60_000) * 60_000)
  // After an outage, up to 100 missed slots still run. A run that has not finished does not hold back the next one.
  const settings = { task: 'note', catchUp: 100, overlap: 'allow' } as const
  await kalends.schedules.put('once', { ...settings, timer: at(minute) })
  await kalends.schedules.put('interval', { ...settings, timer: 'every 2s' })
  await kalends.schedules.put('cron', { ...settings, timer: 'cron * * * * *', starts: minute })
  console.log(`once, interval and cron; the next minute begins at ${minute.toISOString()}`)

  await once(start(url, 'first', 'interval'), 'exit')
  await once(start(url, 'second', 'cron'), 'exit')
  const others = [start(url, 'third'), start(url, 'fourth')]
  // When the second scheduler's lease has expired, these two take over.
  const both = "SELECT id FROM run_history WHERE schedule IN ('once', 'cron')"
  for (let seconds = 0; seconds < 60 && (await database.rows(both)).length < 2; seconds += 1)
    await pause(1000)
  await pause(4000)
  for (const other of others) other.send('stop')
  await Promise.all(others.map((other) => once(other, 'exit')))

  const rows = await database.rows<HistoryRow>(
    `SELECT id, schedule, slot, scheduler FROM run_history WHERE slot >= ${begun} ORDER BY slot, schedule`,
  )
  for (const { slot, schedule, scheduler } of rows)
    console.log(`${new Date(slot).toISOString()}  ${schedule.padEnd(8)}  ${scheduler}`)
  const interval = rows.filter(({ schedule }) => schedule === 'interval').map(({ slot }) => slot)
  const gaps = interval.filter(
    (slot, index) => index > 0 && slot - (interval[index - 1] ?? 0) !== 2000,
  ).length
  const { status } = (await kalends.schedules.get('once')) ?? { status: 'deleted' }
  console.log(
    `once: ${rows.filter(({ schedule }) => schedule === 'once').length} run, ${status}; cron: ${rows.filter(({ schedule }) => schedule === 'cron').length} run; interval: ${gaps} gaps or duplicates in ${interval.length} runs`,
  )
  await kalends.stop()
  await database.close()
}

function start(url: string, name: string, diesAt = ''): ChildProcess {
  return fork(import.meta.filename, ['scheduler', url, name, diesAt])
}

function names(jobs: readonly Job[]): string {
  return jobs
    .map(({ scheduleId: schedule }) => schedule ?? '')
    .toSorted((one, other) => one.localeCompare(other))
    .join(', ')
}

const [role = 'sqlite:./history.db', url = '', name = '', diesAt = ''] = process.argv.slice(2)
if (role === 'scheduler') await scheduler(url, name, diesAt)
else await main(role)
