import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { betweenParts, Fitting, halfOfTheTime } from '../src/event-loop.ts'

describe('between the parts of a long computation', () => {
  let now = 0
  beforeEach(() => {
    now = 0
    vi.spyOn(performance, 'now').mockImplementation(() => now)
  })
  afterEach(() => void vi.restoreAllMocks())

  it('the event loop gets a turn only when it has had none for 50 ms', async () => {
    const pause = betweenParts()
    let turns = 0
    const count = (): void => {
      turns += 1
      immediate = setImmediate(count)
    }
    let immediate = setImmediate(count)
    const after = async (ms: number) => {
      now += ms
      const before = turns
      await pause()
      return turns - before
    }
    expect(await after(49)).toBe(0)
    expect(await after(1)).toBe(1)
    expect(await after(49)).toBe(0)
    expect(await after(5000)).toBe(1)
    clearImmediate(immediate)
  })
})

describe('callers that share the event loop', () => {
  let now = 0
  beforeEach(() => {
    now = 0
    vi.spyOn(performance, 'now').mockImplementation(() => now)
  })
  afterEach(() => void vi.restoreAllMocks())

  it('continue in order, each after as much time as the one before it took, but not more than 250 ms', async () => {
    const seen: (string | number)[] = []
    const next = halfOfTheTime(async (ms) => {
      seen.push(ms)
      await Promise.resolve()
    })
    const caller = async (name: string, ms: number) => {
      await next()
      seen.push(name)
      now += ms
    }
    await Promise.all([caller('long', 20), caller('short', 4), caller('blocks', 900)])
    await caller('later', 0)
    expect(seen).toEqual(['long', 20, 'short', 'blocks', 250, 'later'])
  })
})

describe('the number of rows that fit', () => {
  const fitting = () => new Fitting({ first: 64, most: 500, ms: 50 })

  it('grows no more than eightfold at a time, up to the limit', () => {
    const size = fitting()
    expect(size.rows()).toBe(64)
    size.took(64, 20)
    expect(size.rows()).toBe(160)
    size.took(160, 1)
    expect(size.rows()).toBe(500)
  })

  it('shrinks to what the time allows, but never to zero', () => {
    const size = fitting()
    size.took(64, 500)
    expect(size.rows()).toBe(6)
    size.took(6, 5000)
    expect(size.rows()).toBe(1)
    size.took(1, 0)
    expect(size.rows()).toBe(8)
  })

  it('does not grow after a smaller batch, but may shrink', () => {
    const size = fitting()
    size.took(1, 5)
    expect(size.rows()).toBe(64)
    size.took(1, 100)
    expect(size.rows()).toBe(1)
  })
})
