/**
 * No worker stops because of a fault that does not affect it. Each worker has a schedule that no other worker runs
 * (such as `only-w1`), with a slot every second. So each worker should start a run every second, and must start one
 * within two heartbeats plus the tolerance for a busy machine. A fault that affects the worker excuses it until the
 * recovery deadline.
 */
import { goingLimitMs, recoveryLimitMs } from '../../recovery.ts'
import type { FaultEntry, RunRecord } from '../../record.ts'
import { ONLY } from '../../workload.ts'
import type { Evidence } from '../evidence.ts'
import { Times, windowsOf } from '../times.ts'
import type { Violation } from '../verdict.ts'

/** A period in which a worker started no run. */
export interface Gap {
  readonly worker: string
  /** By the harness's clock. */
  readonly from: number
  readonly until: number
  /** The latest allowed end of the gap, which is later if a fault affected the worker during the gap. */
  readonly deadline: number
  /** Whether no fault affected the worker. */
  readonly isUnaffected: boolean
}

export function stalled({ record }: Evidence): Violation[] {
  return gapsOf(record)
    .filter(({ until, deadline }) => until > deadline)
    .map(({ worker, from, until, deadline }) => ({
      rule: 'stalled',
      schedule: `${ONLY}${worker}`,
      text: `${worker} started no run for ${Math.round(until - from)} ms from ${new Date(from).toISOString()} (the harness's clock), although one was due every second; that is ${Math.round(until - deadline)} ms longer than the faults that affected it explain; faults during that time: ${faultsIn(record, from, until)}`,
    }))
}

export function gapsOf(record: RunRecord): Gap[] {
  const phases = record.journal.filter((entry) => entry.kind === 'phase')
  const begin = phases.find(({ phase }) => phase === 'begin')
  const end = phases.find(({ phase }) => phase === 'end')
  if (begin === undefined || end === undefined) return []
  const times = new Times(record.journal)
  return workersOf(record).flatMap((worker) => {
    const isAffected = ({ reach }: FaultEntry) =>
      reach === undefined ||
      reach.workers.includes(worker) ||
      reach.rows?.schedules.includes(`${ONLY}${worker}`) === true
    const windows = windowsOf(record.journal, isAffected, recoveryLimitMs(record))
    const starts = record.runs
      .filter(({ event, worker: id }) => event === 'start' && nameOf(id) === worker)
      .map(({ mono }) => times.hostOfMono(mono))
      .filter((at) => at > begin.host && at < end.host)
      .toSorted((one, other) => one - other)
    const all = [begin.host, ...starts, end.host]
    return all.slice(1).map((until, index) => {
      const from = all[index] ?? begin.host
      const deadline = times.deadline(from, goingLimitMs(record), windows)
      const isUnaffected = !windows.some((window) => window.from <= until && from <= window.until)
      return { worker, from, until, deadline, isUnaffected }
    })
  })
}

function workersOf({ journal }: RunRecord): string[] {
  return journal.flatMap((entry) =>
    entry.kind === 'schedule' && entry.id.startsWith(ONLY) ? [entry.id.slice(ONLY.length)] : [],
  )
}

function nameOf(workerId: string): string {
  return workerId.replace(/\/.*/, '')
}

function faultsIn({ journal }: RunRecord, from: number, until: number): string {
  const faults = journal
    .filter((entry): entry is FaultEntry => entry.kind === 'fault' && entry.scope !== 'rows')
    .filter((fault) => fault.from <= until && from <= fault.until)
    .map(({ name, hit, detail }) => `${name} ${hit} (${detail})`)
  return faults.length === 0 ? 'none' : faults.join(', ')
}
