/**
 * The application: its tasks, their handlers and their schedules. main.ts opens, starts and stops Kalends, and
 * prints what happens.
 */
import { mkdir, readdir, rename, rm, writeFile } from 'node:fs/promises'
import { hostname } from 'node:os'
import { join } from 'node:path'
import { type Kalends, task } from 'kalends'
import { digest } from './digest.ts'
import type { History } from './history.ts'
import { type Measurement, measureDisks, measureLoad } from './machine.ts'
import { bytes, clock, day, percent } from './words.ts'

export interface AppOptions {
  readonly history: History
  /** The folder for the digests. */
  readonly folder: string
  /** A disk counts as nearly full at or above this usage. */
  readonly fullAtPercent: number
  readonly keepDays: number
}

// Plain values: a web server could import them to submit jobs without running any.
const load = task('load', { timeout: '5s', retries: 0 })
const disks = task('disks', { timeout: '30s', retries: 0 })
const diskAlarm = task('disk-alarm', { timeout: '30s' })
const hourlyDigest = task('hourly-digest', { timeout: '1min', retryDelay: '10s' })
const dailyDigest = task('daily-digest', { timeout: '1min', retryDelay: '10s' })
const prune = task('prune', { timeout: '5min' })

const HOUR_MS = 3_600_000

export function machineWatch(
  kalends: Kalends,
  { history, folder, fullAtPercent, keepDays }: AppOptions,
): void {
  const host = hostname()

  // Kalends stores the returned value as the job's result, and report.ts prints it.
  kalends.handle(load, async ({ slot }) => {
    const measured = await measureLoad()
    await history.add(host, slot ?? new Date(), measured)
    return measured.map(shortly).join(', ')
  })

  kalends.handle(disks, async ({ slot }) => {
    const measured = await measureDisks()
    await history.add(host, slot ?? new Date(), measured)
    return measured.map(shortly).join(', ')
  })

  kalends.handle(diskAlarm, async ({ log }) => {
    const measured = await measureDisks()
    const full = measured.filter(({ used, size }) => used * 100 >= size * fullAtPercent)
    for (const disk of full) log.warn(`${disk.name} is nearly full: ${bytes(disk.size - disk.used)} free`)
    return full.length === 0
      ? `no disk is at least ${fullAtPercent} % full`
      : `WARNING: nearly full: ${full.map(shortly).join(', ')}`
  })

  // Take the hour from the slot, not from the clock, so that a late or retried digest covers the same hour.
  kalends.handle(hourlyDigest, async ({ slot }) => {
    const to = slot ?? new Date()
    // Measure now, so that the first digest is not empty.
    await history.add(host, to, [...(await measureLoad()), ...(await measureDisks())])
    const file = `${day(to)}-${clock(to).slice(0, 5).replace(':', '')}-hourly.md`
    return write(file, 'Hourly machine digest', new Date(to.getTime() - HOUR_MS), to)
  })

  kalends.handle(dailyDigest, async ({ slot }) => {
    const at = slot ?? new Date()
    // The previous calendar day, which is not always 24 hours long.
    const from = new Date(at.getFullYear(), at.getMonth(), at.getDate() - 1)
    const to = new Date(at.getFullYear(), at.getMonth(), at.getDate())
    return write(`${day(from)}-daily.md`, 'Daily machine digest', from, to)
  })

  kalends.handle(prune, async ({ slot }) => {
    const before = new Date((slot ?? new Date()).getTime() - keepDays * 24 * HOUR_MS)
    const left = await history.prune(before)
    const old = (await readdir(folder)).filter((file) => /^\d{4}-.*\.md$/.test(file) && file < day(before))
    for (const file of old) await rm(join(folder, file))
    return `deleted data older than ${keepDays} days; ${left.samples} measurements and ${left.jobs} jobs remain`
  })

  kalends.declare('machine-watch', [
    { task: load, timer: '*:*:0/10', catchUp: 0, summary: 'Measures load and memory' },
    { task: disks, timer: '*:0/1', catchUp: 0, summary: 'Measures the disks' },
    {
      task: diskAlarm,
      timer: '*:0/5',
      catchUp: 0,
      priority: 10,
      summary: 'Warns when a disk is nearly full',
    },
    { task: hourlyDigest, timer: 'hourly', summary: 'Writes the hourly digest' },
    { task: dailyDigest, timer: '*-*-* 00:05', summary: 'Writes the daily digest' },
    { task: prune, timer: '*-*-* 03:30', summary: 'Deletes old data' },
  ])

  async function write(file: string, title: string, from: Date, to: Date): Promise<string> {
    const text = digest({
      title,
      from,
      to,
      series: await history.between(from, to),
      runs: await history.runsBetween(from, to),
    })
    await mkdir(folder, { recursive: true })
    // Rename, so that readers never see a partial file.
    const draft = join(folder, `.${file}.${process.pid}`)
    await writeFile(draft, text)
    await rename(draft, join(folder, file))
    return `wrote ${join(folder, file)}`
  }
}

function shortly({ kind, name, used, size }: Measurement): string {
  if (kind === 'load') return `load ${used.toFixed(2)} on ${size} cores`
  return `${kind === 'memory' ? 'memory' : name} ${percent(used, size)} of ${bytes(size)}`
}
