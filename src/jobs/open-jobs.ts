import { errorTextForOwner } from '../errors.ts'
import type { Attempt } from '../model/attempt.ts'
import type { Authority } from '../model/authority.ts'
import { isFrozenBy } from '../model/freeze.ts'
import type { Job } from '../model/job.ts'
import { openJobText } from '../model/open-job.ts'
import { prefixOf } from '../model/owner.ts'
import type { Redaction } from '../model/redaction.ts'
import type { JobState } from '../model/states.ts'
import type { Task } from '../model/task.ts'
import { claimedAs } from '../store/executing-store.ts'
import type { Listed, ListStore } from '../store/list-store.ts'
import type { Store } from '../store/store.ts'
import type { LiveWorker } from '../store/worker-store.ts'

interface OpenJobsContext {
  readonly authority: Authority
  readonly redaction: Redaction
  readonly taskNamed: (name: string) => Task | null
  /** The stored id of a schedule that the caller knows by this id. */
  readonly storedScheduleId: (shown: string) => Promise<string>
  readonly liveWorkers: () => Promise<readonly LiveWorker[]>
}

type Stores = Pick<Store, 'freezes' | 'lists' | 'schedules'>
type Lists = Pick<ListStore, 'jobs' | 'openJobs' | 'attempts'>

const MAX_ATTEMPTS = 100

/**
 * Why each of these jobs has not ended, without secrets; continues the sentence "The job 0193… ".
 *
 * @param shown  a time as text
 */
export async function openJobTexts(
  jobs: readonly Listed<Job>[],
  shown: (at: Date) => string,
  stores: Stores,
  { authority, redaction, taskNamed, liveWorkers, storedScheduleId }: OpenJobsContext,
): Promise<string[]> {
  if (jobs.length === 0) return []
  const { lists } = stores
  const { owner } = authority
  const namesWorkers = prefixOf(owner) === ''
  const workers = await liveWorkers()
  const freezes = await stores.freezes.inForce()
  const now = await stores.schedules.now()
  return Promise.all(
    jobs.map(async (job) => {
      const { task, queue, scheduleId } = job
      const handlers = workers.filter(({ tasks }) => tasks.includes(queue === null ? task : claimedAs(queue)))
      const isNeeded = scheduleId !== null && freezes.length > 0
      const stored = isNeeded ? await storedScheduleId(scheduleId) : scheduleId
      const holding = freezes.filter((freeze) => isFrozenBy(freeze, { ...job, scheduleId: stored }))
      const errorOf = (error: string | null) => {
        if (error === null) return null
        const text = redaction.secretsOf(job).hiddenInText(error)
        return namesWorkers ? text : errorTextForOwner(text)
      }
      const isWaiting = job.state === 'waiting'
      const isAlone = isWaiting && queue === null && namesWorkers
      return openJobText(
        { ...job, error: errorOf(job.error) },
        {
          now,
          freeze: holding.toSorted((a, b) => b.until.getTime() - a.until.getTime())[0] ?? null,
          before: job.state === 'blocked' ? await jobBefore(job, lists) : null,
          handlers: {
            count: handlers.length,
            running: handlers.reduce((sum, { running }) => sum + running, 0),
          },
          lastWorker: isAlone && handlers.length === 0 ? await lastWorkerOf(task, lists) : null,
          waiting: isAlone ? (await lists.jobs({ task, state: 'waiting', limit: 1 })).total : null,
          concurrency: taskNamed(task)?.concurrency ?? null,
          earlierError:
            isWaiting && job.reason === 'retried'
              ? errorOf(earlierError(job, (await lists.attempts(job.id, MAX_ATTEMPTS)) ?? []))
              : null,
          namesWorkers,
          shown,
        },
      )
    }),
  )
}

async function jobBefore({ scheduleId, scheduleDeleted }: Listed<Job>, lists: Lists) {
  if (scheduleId === null || scheduleDeleted === true) return null
  const open = await lists.openJobs(scheduleId, 1)
  const of = (state: JobState) => open.find((one) => one.state === state)
  return of('running') ?? of('external') ?? of('waiting') ?? null
}

async function lastWorkerOf(task: string, lists: Lists): Promise<string | null> {
  const pages = await Promise.all(
    (['success', 'failed'] as const).map((state) => lists.jobs({ task, state, limit: 1 })),
  )
  const ended = pages.flatMap(({ items }) => items).filter(({ worker }) => worker !== null)
  return ended.toSorted((a, b) => Number(b.finishedAt) - Number(a.finishedAt))[0]?.worker ?? null
}

/** The first line of the error before the attempts that followed a manual retry, which are numbered from 1 again. */
function earlierError(job: Pick<Job, 'attempt'>, all: readonly Listed<Attempt>[]): string | null {
  const attempts = all.filter(({ outcome }) => outcome !== 'snoozed' && outcome !== 'released')
  const first = attempts.findLastIndex(({ attempt }) => attempt === 1)
  const last = job.attempt === 0 ? attempts.at(-1) : attempts[first - 1]
  return last?.error?.split('\n', 1)[0] ?? null
}
