/** The terminal output: a table at the start, a line for each event, a summary at the end. */
import { styleText } from 'node:util'
import type { Job, Kalends, Logger, Schedule, SettledEvent, SubmittedEvent } from 'kalends'
import { clock, duration, when } from './words.ts'

type Style = Parameters<typeof styleText>[0]

export class Report {
  readonly #write: (text: string) => void
  readonly #colours: boolean
  readonly #began = performance.now()
  readonly #startedAt = new Map<string, number>()
  readonly #done = new Map<string, number>()
  #told = false
  #failed = 0
  #submitted = 0

  constructor(write: (text: string) => void, colours: boolean) {
    this.#write = write
    this.#colours = colours
  }

  /** Prints the warnings and errors of Kalends. */
  readonly logger: Logger = {
    debug: () => {},
    info: () => {},
    warn: (_fields, message) => this.line('note', '', message, 'yellow'),
    error: (fields, message) => this.line('ERROR', '', `${message}${reasonOf(fields)}`, 'red'),
  }

  watch(kalends: Kalends): void {
    kalends.on('submitted', (submission) => this.#onSubmitted(submission))
    kalends.on('started', (job) => this.#onStarted(job))
    kalends.on('settled', (settled) => this.#onSettled(settled))
  }

  async schedules(kalends: Kalends): Promise<void> {
    const now = new Date()
    const { items } = await kalends.schedules.list({ declaredBy: 'machine-watch' })
    const rows = await Promise.all(
      items.map(async (schedule) => ({ schedule, next: await nextOf(kalends, schedule) })),
    )
    rows.sort((a, b) => (a.next?.getTime() ?? Infinity) - (b.next?.getTime() ?? Infinity))
    this.#write(`\n  ${'SCHEDULE'.padEnd(15)}${'TIMER'.padEnd(24)}${'NEXT'.padEnd(32)}SUMMARY\n`)
    for (const { schedule, next } of rows) {
      const at =
        next === null ? schedule.status : `${when(next, now)}, in ${duration(next.getTime() - now.getTime())}`
      this.#write(
        `  ${schedule.id.padEnd(15)}${schedule.timer.padEnd(24)}${at.padEnd(32)}${schedule.summary ?? ''}\n`,
      )
    }
    this.#write('\n')
    this.#told = true
  }

  line(what: string, schedule: string, text: string, style?: Style): void {
    const word = what.padEnd(10)
    const line = `${clock(new Date())}  ${this.#styled(style, word)}${schedule.padEnd(15)}${text}`
    this.#write(`${line.trimEnd()}\n`)
  }

  summary(): void {
    const runs = [...this.#done.values()].reduce((sum, count) => sum + count, 0)
    const each = [...this.#done].map(([task, count]) => `${task} ${count}`).join(', ')
    this.#write(
      `\nStopped cleanly after ${duration(performance.now() - this.#began)}. This process submitted ${this.#submitted} jobs and ran ${runs}${each === '' ? '' : ` (${each})`}; ${this.#failed} failed.\n`,
    )
  }

  #onSubmitted({ scheduleId: id, runs, skips, nextRunAt }: SubmittedEvent): void {
    const now = new Date()
    const next = nextRunAt === null ? 'no next run' : `next ${when(nextRunAt, now)}`
    for (const { reason, count } of skips) this.line('skipped', id, `${count} × ${reason}`, 'yellow')
    for (const { slot } of runs) {
      this.line('due', id, `since ${when(slot, now)}, ${duration(now.getTime() - slot.getTime())} ago`)
      this.line('submitted', id, next)
    }
    // At the start, the table shows this instead.
    if (runs.length === 0 && this.#told) this.line('planned', id, next, 'dim')
    this.#submitted += runs.length
  }

  #onStarted(job: Job): void {
    this.#startedAt.set(job.id, performance.now())
    this.line('running', job.task, job.attempt === 1 ? whatFor(job) : `attempt ${job.attempt}`)
  }

  #onSettled({ jobId, task, state, attempt, retryInMs, error, result }: SettledEvent): void {
    const took = duration(performance.now() - (this.#startedAt.get(jobId) ?? performance.now()))
    this.#startedAt.delete(jobId)
    if (state === 'success') {
      this.#done.set(task, (this.#done.get(task) ?? 0) + 1)
      const text = typeof result === 'string' ? result : JSON.stringify(result ?? '')
      this.line('done', task, `${text}, in ${took}`, text.startsWith('WARNING') ? 'yellow' : 'green')
    } else if (state === 'waiting') {
      const again = `attempt ${attempt} ended after ${took}; next attempt in ${duration(retryInMs ?? 0)}`
      this.line('retry', task, `${again}${firstLine(error)}`, 'yellow')
    } else {
      if (state === 'failed') this.#failed += 1
      this.line(state, task, `after ${took}${firstLine(error)}`, 'red')
    }
  }

  #styled(style: Style | undefined, text: string): string {
    return style === undefined || !this.#colours ? text : styleText(style, text)
  }
}

function whatFor({ slot, reason }: Job): string {
  if (slot === null) return ''
  return reason === null ? `for ${clock(slot)}` : reason
}

async function nextOf(kalends: Kalends, { id, status }: Schedule): Promise<Date | null> {
  if (status !== 'active') return null
  const [next] = await kalends.schedules.elapses(id, { limit: 1 })
  return next ?? null
}

function firstLine(error: string | null): string {
  return error === null ? '' : `: ${error.split('\n', 1)[0] ?? ''}`
}

function reasonOf(fields: object): string {
  const err: unknown = Reflect.get(fields, 'err')
  return err instanceof Error ? `: ${err.message}` : ''
}
