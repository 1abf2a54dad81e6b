/**
 * Timers and a monotonic clock that the test advances, for work that happens once per heartbeat or lease. They
 * also advance with real time, like the clocks of the databases, which the test cannot advance.
 */
import { setImmediate as nextTurn } from 'node:timers/promises'
import { onTestFinished, vi } from 'vitest'
import type { Scene } from './scene.ts'

/** The lease of these workers, and the time between two of their heartbeats. */
export const LEASE_MS = 60_000
export const BEAT_MS = LEASE_MS / 5

export interface MovableTimers {
  /** Advances the time: all timers that become due fire, each at its time. */
  readonly pass: (ms: number) => Promise<void>
  /** Each worker sends its next heartbeat and does any other work that is due by then. */
  readonly beat: () => Promise<void>
  /** Sends heartbeats until the condition is met. */
  readonly beatUntil: <Value>(look: () => Promise<Value | null>) => Promise<Value>
}

/** Call this before the workers start. */
export function movableTimers({ opened }: Pick<Scene, 'opened'>): MovableTimers {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'], shouldAdvanceTime: true })
  onTestFinished(() => void vi.useRealTimers())
  const isIdle = () =>
    opened.every((kalends) => kalends.health().loops.every(({ busyMs }) => busyMs === null))
  const beat = async () => {
    // Time jumps, as if the process had slept, so each due loop runs one pass, however short its interval.
    vi.advanceTimersByTime(BEAT_MS)
    // If the next heartbeat started before this one ended, the worker would appear stuck.
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

/** Stops the monotonic clock: no back-off ends, and no stall is noticed. Timers continue. */
export function standingClock(): void {
  vi.useFakeTimers({ toFake: ['performance'] })
  onTestFinished(() => void vi.useRealTimers())
}
