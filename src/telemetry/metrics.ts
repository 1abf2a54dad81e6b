/** The metrics of a Kalends instance. The caller passes prom-client, because it is an optional package. */
import type * as PromClient from 'prom-client'
import { ConflictError } from '../errors.ts'
import type { Kalends } from '../index.ts'

/** The registry and the names of the metrics. */
export interface PrometheusOptions {
  /** Default: prom-client's global registry. */
  readonly registry?: PromClient.Registry | undefined
  /** The prefix for the names of all metrics; default `kalends_`. */
  readonly prefix?: string | undefined
}

const FIRST = 'jobs_submitted_total'
const SECONDS = [0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 1800, 3600]

/**
 * @returns a function that stops collecting and removes the metrics
 * @throws ConflictError when the registry already contains metrics with this prefix
 */
export function collectMetrics(
  { Counter, Gauge, Histogram, register }: typeof PromClient,
  kalends: Kalends,
  { registry = register, prefix = 'kalends_' }: PrometheusOptions,
): () => void {
  if (registry.getSingleMetric(`${prefix}${FIRST}`) !== undefined)
    throw new ConflictError(
      `The registry already contains metrics named '${prefix}…'. Call the function that removes them first (after a hot reload, keep it in globalThis), or pass another 'prefix' or 'registry'`,
    )
  const registers = [registry]
  const names: string[] = []
  const named = (name: string) => {
    names.push(`${prefix}${name}`)
    return `${prefix}${name}`
  }
  const counter = <Label extends string>(name: string, help: string, labelNames: Label[]) =>
    new Counter<Label>({ name: named(name), help, labelNames, registers })
  const histogram = (name: string, help: string) =>
    new Histogram({ name: named(name), help, labelNames: ['task'], buckets: SECONDS, registers })

  const submitted = counter(FIRST, 'Jobs that schedules submitted', ['task'])
  const skipped = counter('slots_skipped_total', 'Slots that did not become runs', ['task', 'reason'])
  const settled = counter('attempts_total', 'Attempts that ended, by the resulting state of the job', [
    'task',
    'state',
  ])
  const errors = counter(
    'errors_total',
    'Errors of loops and schedules, which are retried, and dropped log lines',
    ['where'],
  )
  const lost = counter('workers_lost_total', 'Workers that this worker found dead', [])
  const lateness = histogram('start_lateness_seconds', 'Time from the slot to the start of the first attempt')
  const duration = histogram('attempt_seconds', 'Duration of attempts')
  const running: PromClient.Gauge = new Gauge({
    name: named('running_jobs'),
    help: 'Jobs that are running in this process',
    registers,
    collect: () => running.set(kalends.health().running),
  })
  const healthy: PromClient.Gauge = new Gauge({
    name: named('healthy'),
    help: '1 while every loop of this worker does its work',
    registers,
    collect: () => healthy.set(kalends.health().ok ? 1 : 0),
  })

  const subscriptions = [
    kalends.on('submitted', ({ task, runs, skips }) => {
      if (runs.length > 0) submitted.inc({ task }, runs.length)
      for (const skip of skips) skipped.inc({ task, reason: skip.reason }, skip.count)
    }),
    kalends.on('started', (job) => {
      if (job.slot !== null && job.attempt === 1) {
        const lateMs = (job.startedAt?.getTime() ?? 0) - job.slot.getTime()
        lateness.observe({ task: job.task }, Math.max(0, lateMs / 1000))
      }
    }),
    kalends.on('settled', ({ task, state, released, snoozed, startedAt, endedAt }) => {
      // An attempt that a stopping worker released, or that the handler snoozed, did not fail.
      const waits = released ? 'released' : snoozed ? 'snoozed' : 'retry'
      const label = state === 'waiting' ? waits : state
      settled.inc({ task, state: label })
      duration.observe({ task }, Math.max(0, (endedAt.getTime() - startedAt.getTime()) / 1000))
    }),
    kalends.on('workerLost', () => lost.inc()),
    kalends.on('error', ({ where }) =>
      errors.inc({ where: where.startsWith('schedule ') ? 'schedule' : where }),
    ),
  ]
  return () => {
    for (const end of subscriptions) end()
    for (const name of names) registry.removeSingleMetric(name)
  }
}
