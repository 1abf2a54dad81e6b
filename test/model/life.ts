/**
 * Simulates how the database applies plans and outcomes of runs: the unfinished jobs of one schedule, and its row.
 */
import type { Plannable } from '../../src/model/planning.ts'
import { finish } from '../../src/model/settle.ts'
import type { OpenJobs, Plan } from '../../src/model/planning.ts'
import { applied } from './plannable.ts'

export interface PaperJob {
  readonly slot: Date
  readonly state: keyof OpenJobs
  readonly stopRequested: boolean
}

export interface Life {
  readonly row: Plannable
  /** The jobs that are not final, ordered by slot. */
  readonly jobs: readonly PaperJob[]
}

export function openOf({ jobs }: Pick<Life, 'jobs'>): OpenJobs {
  const count = (state: PaperJob['state']) => jobs.filter((job) => job.state === state).length
  return { waiting: count('waiting'), blocked: count('blocked'), running: count('running'), retrying: 0 }
}

export function countOf(open: OpenJobs): number {
  return open.waiting + open.blocked + open.running
}

/** The state after a plan is written. If the plan replaces jobs, only the running ones stay, and are asked to stop. */
export function submitted({ row, jobs }: Life, plan: Plan): Life {
  const left = plan.replaces
    ? jobs.filter(({ state }) => state === 'running').map((job) => ({ ...job, stopRequested: true }))
    : jobs
  const added = plan.runs.map(({ slot, state }): PaperJob => ({ slot, state, stopRequested: false }))
  return { row: { ...row, ...applied(row, plan) }, jobs: [...left, ...added] }
}

/** A worker claims the first waiting job. */
export function claimed(life: Life): Life {
  const first = life.jobs.findIndex(({ state }) => state === 'waiting')
  return {
    ...life,
    jobs: life.jobs.map((job, index) => (index === first ? { ...job, state: 'running' } : job)),
  }
}

/** The first running job reaches a final state, and the job behind it gets its turn. */
export function ended({ row, jobs }: Life, outcome: 'success' | 'failed' | 'cancelled', now: Date): Life {
  const ending = jobs.findIndex(({ state }) => state === 'running')
  if (ending === -1) return { row, jobs }
  const left = jobs.filter((_, index) => index !== ending)
  const isFree = left.every(({ state }) => state === 'blocked')
  const counted = { ...row, successes: row.successes + Number(outcome === 'success') }
  const next = finish(counted, outcome === 'failed', left.length, now)
  return {
    row: next === null ? counted : { ...counted, ...next, plannedRun: next.nextRunAt, isByHand: false },
    jobs: left.map((job, index) => (isFree && index === 0 ? { ...job, state: 'waiting' } : job)),
  }
}
