/**
 * Timers and a monotonic clock that the test moves, for what a worker does once per heartbeat or lease. Time also passes
 * by itself, as it does for the databases, whose clock does not move.
 */
import { setImmediate as nextTurn } from 'node:timers/promises'
import { onTestFinished, vi } from 'vitest'
import type { Scene } from './scene.ts'

/** The lease of the workers whose timers are moved, and a fifth of it. */
export const LEASE_MS = 60_000
export const BEAT_MS = LEASE_MS / 5

export interface MovableTimers {
  /** Lets time pass: all timers that become due fire, each at its time. */
  readonly pass: (ms: number) => Promise<void>
  /** Each worker sends its next heartbeat, and does what else is due by then. */
  readonly beat: () => Promise<void>
  /** Heartbeats follow each other until the answer is there. */
  readonly beatUntil: <Value>(look: () => Promise<Value | null>) => Promise<Value>
}

/** Call it before the workers start. */
export function movableTimers({ opened }: Pick<Scene, 'opened'>): MovableTimers {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'], shouldAdvanceTime: true })
  onTestFinished(() => void vi.useRealTimers())
  const isIdle = () =>
    opened.every((kalends) => kalends.health().loops.every(({ busyMs }) => busyMs === null))
  const beat = async () => {
    // As if the process had slept: each loop that is due has one pass, no matter how short its interval is.
    vi.advanceTimersByTime(BEAT_MS)
    // If the next heartbeat came before this one has ended, the worker would seem to be stuck.
    do await nextTurn()
    while (!isIdle())
  }
  return {
    pass: async (ms) => void (await vi.advanceTimersByTimeAsync(ms)),
    beat,
    beatUntil: async (look) => {
      for (;;) {
        const value = await look()
        if (value !== null) return value
        await beat()
      }
    },
  }
}

/** The monotonic clock stands still: no back-off ends, and no stall is noticed. Timers go on. */
export function standingClock(): void {
  vi.useFakeTimers({ toFake: ['performance'] })
  onTestFinished(() => void vi.useRealTimers())
}
