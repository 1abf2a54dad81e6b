/** Why a job has not ended yet: one reason, the same on the page, in the API and on the command line. Pure. */
import { counted } from '../duration.ts'
import { firstLine } from '../errors.ts'
import type { Job } from './job.ts'

export interface OpenJobFacts {
  readonly now: Date
  /** The freeze that holds the job and ends last, or null. */
  readonly freeze: { readonly until: Date } | null
  /** The job that a blocked job waits for, or null if it is unknown. */
  readonly before: Pick<Job, 'id' | 'state'> | null
  /** The live workers that handle the task or hand over to the queue, and how many jobs they run. */
  readonly handlers: { readonly count: number; readonly running: number }
  /** The worker that ran the newest job of the task, or null if it is unknown. */
  readonly lastWorker: string | null
  /** The number of waiting jobs of the task, or null if it is unknown. */
  readonly waiting: number | null
  /** Maximum number of concurrent runs of the task in each worker, or null if there is none or it is unknown. */
  readonly concurrency: number | null
  /** The error before a manual retry, or null. */
  readonly earlierError: string | null
  /** Whether the reader may see the names of workers. */
  readonly namesWorkers: boolean
  readonly shown: (at: Date) => string
}

/** Continues the sentence "The job 0193… ", without a full stop. */
export function openJobText(job: Job, facts: OpenJobFacts): string {
  const { now, shown, namesWorkers, before } = facts
  const asked = job.stopRequestedAt === null ? '' : '; it was asked to stop'
  const started = shown(job.startedAt ?? now)
  if (job.state === 'external')
    return `has been in the external queue '${job.queue}' since ${started}, and its outcome has not been reported${asked}`
  if (job.state === 'running')
    return `has been running since ${started} on ${(namesWorkers ? job.worker : null) ?? 'a worker'}, on its ${ordinal(job.attempt)} attempt${asked}`
  if (job.state === 'blocked')
    return before === null
      ? 'waits until the previous job finishes'
      : `waits until the previous job finishes: ${before.id}, which is ${before.state}`
  const { earlierError } = facts
  const earlier = earlierError === null ? '' : `; before its manual retry, it failed: ${earlierError}`
  return `${waitText(job, facts)}${earlier}`
}

function waitText(job: Job, facts: OpenJobFacts): string {
  const { now, shown, freeze } = facts
  const { runAt, attempt, queue } = job
  const most = typeof job.retries === 'number' ? ` of ${job.retries + 1}` : ''
  const failed = `attempt ${attempt}${most} failed: ${firstLine(job.error ?? 'no reason was recorded')}`
  const until = Math.max(freeze?.until.getTime() ?? 0, job.frozenUntil?.getTime() ?? 0)
  if (until > Math.max(now.getTime(), runAt?.getTime() ?? 0))
    return `is held by a freeze until ${shown(new Date(until))}${attempt > 0 ? `; ${failed}` : ''}`
  if (runAt !== null && attempt > 0 && runAt > now) return `will be retried at ${shown(runAt)}; ${failed}`
  if (queue !== null && runAt !== null && runAt > now && job.error !== null)
    return `will be handed over again at ${shown(runAt)}: ${firstLine(job.error)}`
  if (runAt !== null && runAt > now)
    return `waits until ${shown(runAt)}, as its submitter or handler requested`
  const refused =
    queue !== null && job.error !== null ? `; its last hand-over failed: ${firstLine(job.error)}` : ''
  return `${dueText(job, facts)}${attempt > 0 ? `; ${failed}` : refused}`
}

function dueText({ queue, task, submittedAt }: Job, facts: OpenJobFacts): string {
  const { handlers, lastWorker, waiting, concurrency, namesWorkers, shown } = facts
  if (handlers.count === 0)
    return queue === null
      ? `waits because no live worker handles the task '${task}'${lastWorker === null ? '' : `; it was last handled by ${lastWorker}`}`
      : `waits because no live worker hands jobs over to the external queue '${queue}'`
  const since = `has been waiting since ${shown(submittedAt)} for a worker with free capacity`
  if (!namesWorkers || queue !== null) return since
  const one = handlers.count === 1
  const details = [
    `${one ? 'one live worker handles its task and runs' : `${handlers.count} live workers handle its task and run`} ${counted(handlers.running, 'job')}`,
    ...(concurrency === null ? [] : [`a worker runs at most ${concurrency} of its task at a time`]),
    ...(waiting === null || waiting < 2 ? [] : [`${waiting} jobs of its task are waiting`]),
  ]
  return `${since}: ${details.join('; ')}`
}

const ORDINALS = new Intl.PluralRules('en', { type: 'ordinal' })
const ENDINGS: Partial<Record<Intl.LDMLPluralRule, string>> = { one: 'st', two: 'nd', few: 'rd' }

export function ordinal(count: number): string {
  return ['first', 'second', 'third'][count - 1] ?? `${count}${ENDINGS[ORDINALS.select(count)] ?? 'th'}`
}
