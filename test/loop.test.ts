import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { StoreUnavailableError } from '../src/errors.ts'
import { Loop } from '../src/loop.ts'

/** A loop whose passes end when the test says so. */
function controlled(sleeps: readonly number[] = []) {
  const errors: unknown[] = []
  let begun = 0
  let end: { resolve: () => void; reject: (error: unknown) => void } | null = null
  const loop = new Loop({
    name: 'test',
    pass: () =>
      new Promise((resolve, reject) => {
        const sleepMs = sleeps[begun] ?? Infinity
        begun += 1
        end = { resolve: () => resolve(sleepMs), reject }
      }),
    onError: (error) => errors.push(error),
  })
  return {
    loop,
    errors,
    begun: () => begun,
    endPass: async () => {
      end?.resolve()
      await vi.advanceTimersByTimeAsync(0)
    },
    failPass: async (error: unknown) => {
      end?.reject(error)
      await vi.advanceTimersByTimeAsync(0)
    },
  }
}

describe('a supervised loop', () => {
  beforeEach(() => void vi.useFakeTimers({ now: Date.UTC(2026, 0, 1) }))
  afterEach(() => void vi.useRealTimers())

  it('sleeps for as long as the pass requests', async () => {
    const { loop, begun, endPass } = controlled([1000])
    loop.start()
    await endPass()
    await vi.advanceTimersByTimeAsync(999)
    expect(begun()).toBe(1)
    await vi.advanceTimersByTimeAsync(1)
    expect(begun()).toBe(2)
  })

  it('runs again within an hour even if the pass asks the loop to sleep until it is woken', async () => {
    const { loop, begun, endPass } = controlled()
    loop.start()
    await endPass()
    await vi.advanceTimersByTimeAsync(3_599_999)
    expect(begun()).toBe(1)
    await vi.advanceTimersByTimeAsync(1)
    expect(begun()).toBe(2)
  })

  it('can be woken from its sleep', async () => {
    const { loop, begun, endPass } = controlled()
    loop.start()
    await endPass()
    loop.wake()
    await vi.advanceTimersByTimeAsync(0)
    expect(begun()).toBe(2)
  })

  it('does not lose a wake-up during a pass', async () => {
    const { loop, begun, endPass } = controlled()
    loop.start()
    loop.wake()
    expect(begun()).toBe(1)
    await endPass()
    expect(begun()).toBe(2)
    await endPass()
    expect(begun()).toBe(2)
  })

  it('combines many wake-ups into one pass', async () => {
    const { loop, begun, endPass } = controlled()
    loop.start()
    for (let i = 0; i < 100; i += 1) loop.wake()
    await endPass()
    await endPass()
    await vi.advanceTimersByTimeAsync(0)
    expect(begun()).toBe(2)
  })

  it('stays a single loop if it is started several times', () => {
    const { loop, begun } = controlled()
    loop.start()
    loop.start()
    expect(begun()).toBe(1)
  })

  it('survives a failed pass, reports the error and retries [L30]', async () => {
    const { loop, begun, errors, failPass } = controlled()
    loop.start()
    const error = new Error('no database')
    await failPass(error)
    expect(errors).toEqual([error])
    await vi.advanceTimersByTimeAsync(200)
    expect(begun()).toBe(2)
  })

  it('survives a pass that throws synchronously', async () => {
    let begun = 0
    const loop = new Loop({
      name: 'test',
      pass: () => {
        begun += 1
        throw new Error('at once')
      },
      onError: () => {},
    })
    loop.start()
    await vi.advanceTimersByTimeAsync(1000)
    expect(begun).toBeGreaterThan(1)
  })

  it('survives an error listener that throws', async () => {
    let begun = 0
    const loop = new Loop({
      name: 'test',
      pass: async () => {
        begun += 1
        throw new Error('the pass')
      },
      onError: () => {
        throw new Error('the logger')
      },
    })
    loop.start()
    await vi.advanceTimersByTimeAsync(1000)
    expect(begun).toBeGreaterThan(1)
  })

  it('backs off longer with each consecutive error, up to 15 s', async () => {
    const begun: number[] = []
    const loop = new Loop({
      name: 'test',
      pass: async () => {
        begun.push(Date.now())
        throw new Error('still down')
      },
      onError: () => {},
    })
    loop.start()
    await vi.advanceTimersByTimeAsync(300_000)
    const waits = begun.slice(1).map((at, index) => at - (begun[index] ?? 0))
    waits.forEach((wait, index) => {
      const longest = Math.min(15_000, 200 * 2 ** index)
      expect(wait).toBeGreaterThanOrEqual(Math.floor(longest / 2))
      expect(wait).toBeLessThanOrEqual(longest + 2)
    })
    expect(waits.length).toBeGreaterThan(15)
  })

  it('does not increase its back-off after a lock wait, because the wait itself was long enough', async () => {
    const begun: number[] = []
    const loop = new Loop({
      name: 'test',
      pass: async () => {
        begun.push(Date.now())
        throw new StoreUnavailableError('Blocked by another transaction', { isLockWait: true })
      },
      onError: () => {},
    })
    loop.start()
    await vi.advanceTimersByTimeAsync(60_000)
    const waits = begun.slice(1).map((at, index) => at - (begun[index] ?? 0))
    expect(Math.max(...waits)).toBeLessThanOrEqual(202)
  })

  it('cannot be woken from its back-off', async () => {
    const { loop, begun, failPass } = controlled()
    loop.start()
    await failPass(new Error('down'))
    for (let i = 0; i < 9; i += 1) {
      loop.wake()
      await vi.advanceTimersByTimeAsync(10)
    }
    expect(begun()).toBe(1)
    await vi.advanceTimersByTimeAsync(110)
    expect(begun()).toBe(2)
  })

  it('on stop, completes the current pass and starts no further pass', async () => {
    const { loop, begun, endPass } = controlled([0])
    loop.start()
    let stopped = false
    const stopping = loop.stop().finally(() => {
      stopped = true
    })
    loop.wake()
    await vi.advanceTimersByTimeAsync(10_000)
    expect(stopped).toBe(false)
    await endPass()
    await stopping
    expect(begun()).toBe(1)
  })

  it('ends a sleep or a back-off at once on stop', async () => {
    const sleeping = controlled()
    sleeping.loop.start()
    await sleeping.endPass()
    await sleeping.loop.stop()

    const backingOff = controlled()
    backingOff.loop.start()
    await backingOff.failPass(new Error('down'))
    await backingOff.loop.stop()
    expect([sleeping.begun(), backingOff.begun()]).toEqual([1, 1])
  })

  it('ignores stop if it was never started or is already stopped', async () => {
    const { loop, endPass } = controlled()
    await loop.stop()
    loop.start()
    const stopping = loop.stop()
    await endPass()
    await stopping
    await loop.stop()
  })

  it('health shows the last successful pass, not the last attempt [L30]', async () => {
    const { loop, endPass, failPass } = controlled([1000, 1000])
    expect(loop.health()).toEqual({
      name: 'test',
      lastGoodPassAt: null,
      busySince: null,
      busyMs: null,
      nextPassAt: null,
      lateMs: 0,
      consecutiveErrors: 0,
      lastError: null,
      lastErrorAt: null,
    })
    loop.start()
    await endPass()
    const good = new Date(Date.UTC(2026, 0, 1))
    expect(loop.health().lastGoodPassAt).toEqual(good)
    await vi.advanceTimersByTimeAsync(1000)
    await failPass(new Error('gone away'))
    expect(loop.health()).toMatchObject({
      lastGoodPassAt: good,
      busySince: null,
      consecutiveErrors: 1,
      lastError: 'gone away',
      lastErrorAt: new Date(Date.UTC(2026, 0, 1, 0, 0, 1)),
    })
    await vi.advanceTimersByTimeAsync(1000)
    await endPass()
    expect(loop.health()).toMatchObject({ consecutiveErrors: 0, lastError: null, lastErrorAt: null })
    expect(loop.health().lastGoodPassAt).not.toEqual(good)
  })

  it('health shows the start of a hanging pass [L30]', async () => {
    const { loop, endPass } = controlled()
    loop.start()
    await vi.advanceTimersByTimeAsync(90_000)
    expect(loop.health()).toMatchObject({ busySince: new Date(Date.UTC(2026, 0, 1)), busyMs: 90_000 })
    // Setting the clock does not change the duration of a pass.
    vi.setSystemTime(Date.UTC(2025, 0, 1))
    expect(loop.health().busyMs).toBe(90_000)
    await endPass()
    expect(loop.health()).toMatchObject({ busySince: null, busyMs: null })
  })

  it('health shows when the next pass is due, and how late it is', async () => {
    const { loop, endPass } = controlled([1000, Infinity])
    loop.start()
    expect(loop.health()).toMatchObject({ nextPassAt: null, lateMs: 0 })
    await endPass()
    expect(loop.health()).toMatchObject({ nextPassAt: new Date(Date.UTC(2026, 0, 1, 0, 0, 1)), lateMs: 0 })
    // Time passes without timers firing, as in a stopped process.
    const late = vi.spyOn(performance, 'now').mockReturnValue(performance.now() + 5000)
    expect(loop.health().lateMs).toBe(4000)
    late.mockRestore()
    await vi.advanceTimersByTimeAsync(1000)
    await endPass()
    expect(loop.health()).toMatchObject({ nextPassAt: null, lateMs: 0, busySince: null })
  })
})

it('a loop whose passes always request the next pass at once still lets timers fire', async () => {
  let passes = 0
  const loop = new Loop({ name: 'eager', pass: () => Promise.resolve(-1 * (passes += 1)), onError: () => {} })
  loop.start()
  await new Promise((resolve) => setTimeout(resolve, 1))
  await loop.stop()
  expect(passes).toBeGreaterThan(0)
})
