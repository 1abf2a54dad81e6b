/** How outcomes, log lines and progress are written, even while the database rejects some or is unavailable. */
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { StoreUnavailableError } from '../../src/errors.ts'
import { Journal } from '../../src/executor/journal.ts'
import { MAX_WAITING_BYTES } from '../../src/executor/line-queue.ts'
import { MAX_EXEMPT, Settler } from '../../src/executor/settler.ts'
import type { AttemptEnd } from '../../src/model/settle.ts'
import { DEFAULT_POLICY } from '../../src/model/task.ts'
import type {
  UnsettledAttempt,
  ExecutingStore,
  JobProgress,
  NewLogLine,
  Settled,
  PartialWrite,
} from '../../src/store/executing-store.ts'
import { gate } from '../kalends/scene.ts'
import { fakeTimers, settledDown, WRITTEN } from './claimed.ts'

function unused(): never {
  throw new Error('not used in this test')
}

/** A store that has only the given methods. */
function storeWith(parts: Partial<ExecutingStore>): ExecutingStore {
  return {
    promoteDue: unused,
    claim: unused,
    leaveOut: unused,
    handOver: unused,
    handedOver: unused,
    route: unused,
    postpone: unused,
    held: unused,
    settle: unused,
    stopRequests: unused,
    saveProgress: unused,
    appendLogs: unused,
    replaceLogs: unused,
    orphans: unused,
    ...parts,
  }
}

function attempt(id: string, end: AttemptEnd): UnsettledAttempt {
  return { fence: { id, worker: 'w/1', claim: 1 }, end, policy: DEFAULT_POLICY }
}

function settledAll(attempts: readonly UnsettledAttempt[]): Settled {
  return {
    settled: attempts.map(({ fence: { id }, end }) => ({
      id,
      task: 't',
      scheduleId: null,
      attempt: 1,
      outcome: {
        state: end.kind === 'success' ? 'success' : 'failed',
        reason: null,
        error: end.kind === 'error' ? end.error : null,
        result: end.kind === 'success' ? end.result : null,
      },
      startedAt: new Date(0),
      endedAt: new Date(0),
      promoted: null,
    })),
    lost: [],
    locked: [],
    refused: [],
  }
}

const success = (result: string): AttemptEnd => ({ kind: 'success', result })

describe('locked and rejected outcomes', () => {
  /** A settler whose loop uses fake timers. */
  function settlerOn(settleAttempts: ExecutingStore['settle']) {
    fakeTimers()
    const batches: number[] = []
    const onSettled = vi.fn<(result: Settled) => void>()
    const settler = new Settler({
      store: storeWith({
        settle: (attempts) => {
          batches.push(attempts.length)
          return settleAttempts(attempts)
        },
      }),
      onSettled,
      onRejected: () => {},
      onError: () => {},
    })
    settler.loop.start()
    const later = async (ms: number) => {
      await vi.advanceTimersByTimeAsync(ms)
      await settledDown()
    }
    onTestFinished(async () => {
      vi.useRealTimers()
      await settler.loop.stop()
    })
    return { settler, batches, onSettled, later }
  }

  const lockedAll = (attempts: readonly UnsettledAttempt[]) => ({ ...settledAll([]), locked: [...attempts] })

  it('share one limit for outcomes that occupy no capacity, and the age of the oldest is known even after others have moved ahead of it', async () => {
    const { settler, batches, onSettled, later } = settlerOn(async (attempts) => {
      const refused = attempts.filter(({ fence }) => fence.id === 'bad')
      return {
        ...lockedAll(attempts.filter((one) => !refused.includes(one))),
        refused: refused.map((item) => ({ item, error: new Error('no end') })),
      }
    })
    await later(1000)
    expect(settler.loop.health()).toMatchObject({ busySince: null, nextPassAt: null })
    settler.add(attempt('bad', success('1')))
    for (let number = 0; number < MAX_EXEMPT - 1; number += 1)
      settler.add(attempt(`early${number}`, success('1')))
    await later(0)
    expect(settler.unwritten()).toMatchObject({ locked: MAX_EXEMPT - 1, rejected: 1, isLimitReached: true })
    expect(settler.occupied()).toBe(0)
    await later(200)
    for (const id of ['late0', 'late1']) settler.add(attempt(id, success('1')))
    await later(0)
    expect(settler.occupied()).toBe(2)
    await later(100)
    // The oldest 200 have been retried, and are now behind `late1`.
    expect(settler.pending().map(({ id }) => id)).toEqual([
      'late1',
      ...Array.from({ length: MAX_EXEMPT - 1 }, (_, number) => `early${number}`),
      'late0',
      'bad',
    ])
    expect(settler.unwritten()).toMatchObject({ locked: MAX_EXEMPT + 1, lockedMs: 300 })
    expect(batches).toEqual([200, 2, 200])
    expect(onSettled).toHaveBeenCalledTimes(2)
  })

  it('are kept while the database is unavailable, like all others', async () => {
    let away = 2
    const { settler, onSettled, later } = settlerOn(async (attempts) => {
      away -= 1
      if (away >= 0) throw new StoreUnavailableError('away')
      return settledAll(attempts)
    })
    settler.add(attempt('a', success('1')))
    // The back-offs are shorter.
    for (let pass = 0; pass < 3; pass += 1) await later(1000)
    expect(onSettled.mock.calls.flatMap(([{ settled }]) => settled)).toMatchObject([
      { id: 'a', outcome: { state: 'success', result: '1' } },
    ])
  })

  it('do not delay other outcomes if their retry fails', async () => {
    let tries = 0
    const { settler, onSettled, later } = settlerOn(async (attempts) => {
      if (attempts.every(({ fence }) => fence.id !== 'locked')) return settledAll(attempts)
      tries += 1
      if (tries > 1) throw new Error('Deadlock found')
      return lockedAll(attempts)
    })
    settler.add(attempt('locked', success('1')))
    await later(0)
    await later(250)
    expect(tries).toBe(2)
    settler.add(attempt('free', success('1')))
    // Longer than the back-off.
    await later(200)
    expect(onSettled.mock.calls.flatMap(([{ settled }]) => settled.map(({ id }) => id))).toEqual(['free'])
  })

  it('delay the end of a drain while their rows are locked', async () => {
    let isLocked = true
    const { settler, later } = settlerOn(async (attempts) =>
      isLocked ? lockedAll(attempts) : settledAll(attempts),
    )
    settler.add(attempt('a', success('1')))
    await later(0)
    settler.add(attempt('b', success('1')))
    let isDrained = false
    const drained = settler.drain().finally(() => (isDrained = true))
    await later(1000)
    expect(isDrained).toBe(false)
    isLocked = false
    await later(1000)
    await drained
    expect(settler.pending()).toEqual([])
  })
})

const line = (message: string): NewLogLine => ({ jobId: 'j', at: new Date(0), level: 'info', message })
const fence = { id: 'j', worker: 'w/1', claim: 1 }

/** A journal whose loops use fake timers, with the errors of its loops and its reports of dropped entries. */
function journalOn(parts: Partial<ExecutingStore>) {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'setImmediate', 'performance'] })
  onTestFinished(() => void vi.useRealTimers())
  const errors: string[] = []
  const dropped: string[] = []
  const causes: unknown[] = []
  const journal = new Journal({
    store: storeWith(parts),
    onError: (error, loop) => errors.push(`${loop}: ${String(error)}`),
    onDropped: ({ message, cause }) => {
      dropped.push(message)
      causes.push(cause)
    },
  })
  for (const loop of journal.loops()) loop.start()
  return { journal, errors, dropped, causes }
}

/** Longer than the journal takes to collect and write lines. */
const PASS_MS = 300
const pass = (ms = PASS_MS) => vi.advanceTimersByTimeAsync(ms)
const away = () => Promise.reject(new StoreUnavailableError('away'))

/** Store methods that record what they write. */
function collecting() {
  const lines: string[] = []
  const progress: string[] = []
  const appendLogs = (some: readonly NewLogLine[]) => {
    lines.push(...some.map(({ message }) => message))
    return Promise.resolve(WRITTEN)
  }
  const saveProgress = (some: readonly JobProgress[]): Promise<PartialWrite<JobProgress>> => {
    progress.push(...some.map(({ fence: { id }, json }) => `${id} ${json}`))
    return Promise.resolve(WRITTEN)
  }
  return { lines, progress, appendLogs, saveProgress }
}

describe('the journal', () => {
  it('a flush waits for the write in progress, so that all earlier lines have been written when the flush ends', async () => {
    const release = gate()
    const { lines, progress, appendLogs, saveProgress } = collecting()
    const { journal } = journalOn({
      appendLogs: async (some) => {
        await release.promise
        return appendLogs(some)
      },
      saveProgress,
    })
    journal.log(line('one'))
    journal.progress(fence, '0.5')
    const first = journal.flush()
    await Promise.resolve()
    journal.log(line('two'))
    let done = false
    const second = journal.flush().finally(() => {
      done = true
    })
    await pass()
    expect(done).toBe(false)
    release.open()
    await Promise.all([first, second])
    expect(lines).toEqual(['one', 'two'])
    expect(progress).toEqual(['j 0.5'])
  })

  it('keeps everything, in order, while the database is unavailable', async () => {
    let isAway = true
    const { lines, progress, appendLogs, saveProgress } = collecting()
    const { journal, errors } = journalOn({
      appendLogs: (some) => (isAway ? away() : appendLogs(some)),
      saveProgress: (some) => (isAway ? away() : saveProgress(some)),
    })
    journal.log(line('one'))
    journal.progress(fence, '0.5')
    await pass()
    journal.log(line('two'))
    expect(new Set(errors)).toEqual(
      new Set(['journal', 'progress'].map((loop) => `${loop}: StoreUnavailableError: away`)),
    )
    isAway = false
    await pass(1000)
    expect(lines).toEqual(['one', 'two'])
    expect(progress).toEqual(['j 0.5'])
  })

  it('the progress of a job with a locked row waits and does not delay that of other jobs', async () => {
    let isLocked = true
    const { progress, saveProgress } = collecting()
    const { journal, errors } = journalOn({
      saveProgress: async (some) => {
        const locked = some.filter(({ fence: { id } }) => isLocked && id === 'locked')
        await saveProgress(some.filter((entry) => !locked.includes(entry)))
        return { left: locked, refused: [] }
      },
    })
    for (let step = 0; step < 20; step += 1) {
      for (const id of ['locked', 'free']) journal.progress({ ...fence, id }, `${step}`)
      await pass()
      expect(progress).toHaveLength(step + 1)
    }
    expect(journal.unwritten().progress).toBe(1)
    expect(journal.unwritten().ms).toBeGreaterThanOrEqual(20 * PASS_MS)
    isLocked = false
    await pass()
    expect(progress.at(-1)).toBe('locked 19')
    expect(journal.unwritten()).toMatchObject({ progress: 0, ms: 0 })
    expect(errors).toEqual([])
  })

  it('saves the progress of many jobs in batches', async () => {
    const batches: number[] = []
    const { journal } = journalOn({
      saveProgress: async (some) => {
        batches.push(some.length)
        return WRITTEN
      },
    })
    for (let id = 0; id < 250; id += 1) journal.progress({ ...fence, id: `${id}` }, '1')
    await pass()
    expect(batches).toEqual([100, 100, 50])
  })

  it('keeps a limited number of lines, drops further lines, and reports the first drop and the total of each outage', async () => {
    let isAway = true
    const { lines, appendLogs } = collecting()
    const { journal, dropped } = journalOn({ appendLogs: (some) => (isAway ? away() : appendLogs(some)) })
    const long = line('x'.repeat(1024 * 1024))
    // A character may take two bytes in memory.
    const most = MAX_WAITING_BYTES / (2 * long.message.length)
    const outage = async () => {
      isAway = true
      for (let count = 0; count < 3 * most; count += 1) journal.log(long)
      await pass()
      expect(journal.unwritten()).toMatchObject({ lines: most, dropped: 2 * most })
      isAway = false
      await pass(1000)
      expect(journal.unwritten()).toEqual({ lines: 0, progress: 0, ms: 0, dropped: 0 })
    }
    await outage()
    expect(lines).toHaveLength(most)
    const reports = [
      expect.stringContaining(`${most} log lines are waiting to be written`),
      expect.stringContaining(`${2 * most} further lines were dropped`),
    ]
    expect(dropped).toEqual(reports)
    await outage()
    expect(dropped).toEqual([...reports, ...reports])
  })

  it('while lines from an outage are being written, no outcome waits for its lines; afterwards, each one does', async () => {
    let isAway = true
    const { lines, appendLogs } = collecting()
    const { journal } = journalOn({
      appendLogs: async (some) => {
        if (isAway) return away()
        await new Promise((resolve) => setTimeout(resolve, 100))
        return appendLogs(some)
      },
    })
    const ends: string[] = []
    const end = (id: string) => {
      journal.log({ ...line(id), jobId: id })
      void journal.written(id).then(() => ends.push(id))
    }
    for (let count = 0; count < 10_000; count += 1) journal.log(line('old'))
    await pass()
    isAway = false
    while (lines.length === 0) await pass(10)
    for (const id of ['a', 'b']) {
      end(id)
      await pass(0)
    }
    expect(ends).toEqual(['a', 'b'])
    expect(lines).not.toContain('a')
    while (!lines.includes('b')) await pass(100)
    end('c')
    await pass(0)
    expect(ends).toEqual(['a', 'b'])
    await pass()
    expect(ends).toEqual(['a', 'b', 'c'])
    expect(lines.slice(10_000)).toEqual(['a', 'b', 'c'])
  })

  it('an outcome also waits for its lines while earlier lines are being written', async () => {
    const { lines, appendLogs } = collecting()
    const { journal } = journalOn({
      appendLogs: async (some) => {
        await new Promise((resolve) => setTimeout(resolve, 400))
        return appendLogs(some)
      },
    })
    journal.log({ ...line('a'), jobId: 'a' })
    await pass()
    journal.log({ ...line('b'), jobId: 'b' })
    const seen: string[][] = []
    void journal.written('b').then(() => seen.push([...lines]))
    await pass(800)
    expect(seen).toEqual([['a', 'b']])
  })

  it('reports how long the oldest line or progress has waited', async () => {
    const { journal } = journalOn({ appendLogs: away, saveProgress: async () => WRITTEN })
    await pass(60_000)
    journal.log(line('one'))
    await pass(1000)
    journal.log(line('two'))
    await pass(1000)
    expect(journal.unwritten().ms).toBe(2000)
  })

  it('the waiting time of frequently replaced progress is counted from the last write', async () => {
    const { journal } = journalOn({
      saveProgress: async () => {
        await new Promise((resolve) => setTimeout(resolve, 150))
        return WRITTEN
      },
    })
    for (let step = 0; step < 100; step += 1) {
      journal.progress(fence, `${step}`)
      await pass(100)
      expect(journal.unwritten().ms).toBeLessThan(1000)
    }
  })

  it('lines that a write leaves out are written next, in order', async () => {
    let isAway = true
    const { lines, appendLogs } = collecting()
    const { journal, errors } = journalOn({
      appendLogs: async (some) => {
        const done = isAway ? 300 : some.length
        isAway = false
        await appendLogs(some.slice(0, done))
        return { left: some.slice(done), refused: [] }
      },
    })
    const messages = Array.from({ length: 512 }, (_, number) => String(number))
    for (const message of messages) journal.log(line(message))
    await pass()
    await pass()
    expect(lines).toEqual(messages)
    expect(errors).toEqual([])
  })

  it('progress that arrives while the previous progress is being written is written next', async () => {
    const { progress, saveProgress } = collecting()
    const release = gate()
    const { journal } = journalOn({
      saveProgress: async (some) => {
        await release.promise
        return saveProgress(some)
      },
    })
    journal.progress(fence, '1')
    await pass()
    journal.progress(fence, '2')
    release.open()
    await pass()
    await pass()
    expect(progress).toEqual(['j 1', 'j 2'])
  })
})

describe('messages whose secrets become known later', () => {
  const replacements = new Map([['the password is 123', 'the password is [redacted]']])

  it('are replaced once their lines have been written', async () => {
    let isLocked = true
    const calls: string[] = []
    const { journal } = journalOn({
      appendLogs: (some) => {
        calls.push('append')
        return Promise.resolve({ left: isLocked ? some : [], refused: [] })
      },
      replaceLogs: async (jobId) => void calls.push(`replace ${jobId}`),
    })
    journal.log(line('the password is 123'))
    journal.replace('j', replacements)
    await pass()
    expect(new Set(calls)).toEqual(new Set(['append']))
    expect(journal.hasUnwritten('j')).toBe(true)
    isLocked = false
    await pass(1000)
    expect(calls.slice(-2)).toEqual(['append', 'replace j'])
    expect(journal.hasUnwritten('j')).toBe(false)
  })

  it('are replaced later if the database is unavailable', async () => {
    let isAway = true
    const replaced: string[] = []
    const { journal, dropped, errors } = journalOn({
      replaceLogs: async (jobId) => {
        if (isAway) throw new StoreUnavailableError('away')
        replaced.push(jobId)
      },
    })
    journal.replace('j', replacements)
    await pass()
    expect(errors).toEqual(['journal: StoreUnavailableError: away'])
    expect(journal.hasUnwritten('j')).toBe(true)
    isAway = false
    await pass(1000)
    expect(replaced).toEqual(['j'])
    expect(dropped).toEqual([])
  })

  it('are reported if the database rejects their replacements', async () => {
    const error = new Error('too long')
    const { journal, dropped, causes } = journalOn({ replaceLogs: () => Promise.reject(error) })
    journal.replace('j', replacements)
    await pass()
    expect(causes).toEqual([error])
    expect(dropped).toEqual([
      "Secrets remain in the log of the job 'j', because the database rejected their redaction",
    ])
    expect(journal.hasUnwritten('j')).toBe(false)
  })

  it('cause no statement if there is nothing to replace', async () => {
    const replaceLogs = vi.fn(() => Promise.resolve())
    const { journal } = journalOn({ replaceLogs })
    journal.replace('j', new Map())
    await journal.flush()
    expect(journal.hasUnwritten('j')).toBe(false)
    expect(replaceLogs).not.toHaveBeenCalled()
  })
})

describe('a stopping journal', () => {
  it('repeats failed writes until everything is written', async () => {
    let failures = 5
    const { lines, progress, appendLogs, saveProgress } = collecting()
    const { journal, dropped } = journalOn({
      appendLogs: (some) => ((failures -= 1) >= 0 ? away() : appendLogs(some)),
      saveProgress: (some) => (failures >= 0 ? away() : saveProgress(some)),
    })
    journal.log(line('one'))
    journal.progress(fence, '1')
    const stopped = journal.stop(5000)
    await pass(4999)
    await stopped
    expect(lines).toEqual(['one'])
    expect(progress).toEqual(['j 1'])
    expect(dropped).toEqual([])
  })

  it('after its time limit, reports once how many lines are lost, and does not report a write that fails later', async () => {
    const late = gate()
    let tries = 0
    const { journal, errors, dropped, causes } = journalOn({
      appendLogs: async () => {
        tries += 1
        if (tries > 3) await late.promise
        throw tries > 3 ? new RangeError('closed') : new StoreUnavailableError('away')
      },
    })
    for (const message of ['one', 'two']) journal.log(line(message))
    const stopped = journal.stop(5000)
    await pass(4999)
    expect(dropped).toEqual([])
    const before = errors.length
    await pass(1)
    await stopped
    late.open()
    await pass(60_000)
    expect(dropped).toEqual(['The worker stopped before it could write 2 log lines'])
    expect(causes).toEqual([new StoreUnavailableError('away')])
    expect(errors).toHaveLength(before)
  })
})
