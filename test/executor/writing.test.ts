/** What runs leave behind is written although the database refuses, or goes away for a while. */
import { describe, expect, it } from 'vitest'
import { StoreUnavailableError } from '../../src/errors.ts'
import { Journal } from '../../src/executor/journal.ts'
import { MOST_WAITING_BYTES } from '../../src/executor/line-queue.ts'
import { Settler } from '../../src/executor/settler.ts'
import type { AttemptEnd } from '../../src/model/settle.ts'
import { DEFAULT_POLICY } from '../../src/model/task.ts'
import type {
  EndedAttempt,
  ExecutingStore,
  NewLogLine,
  SettleResult,
} from '../../src/store/executing-store.ts'
import { gate } from '../kalends/scene.ts'

function unused(): never {
  throw new Error('not asked for here')
}

/** A store of which only the given parts are used. */
function storeWith(parts: Partial<ExecutingStore>): ExecutingStore {
  return {
    promoteDue: unused,
    claim: unused,
    held: unused,
    settle: unused,
    stopRequests: unused,
    saveProgress: unused,
    appendLogs: unused,
    orphans: unused,
    ...parts,
  }
}

function attempt(id: string, end: AttemptEnd): EndedAttempt {
  return { fence: { id, worker: 'w/1', claim: 1 }, end, policy: DEFAULT_POLICY }
}

function settledAll(attempts: readonly EndedAttempt[]): SettleResult {
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
      started: new Date(0),
      ended: new Date(0),
      promoted: null,
    })),
    lost: [],
    locked: [],
  }
}

/** Settles through a store, until so many are written. */
async function settle(settleAttempts: ExecutingStore['settle'], attempts: readonly EndedAttempt[]) {
  const errors: unknown[] = []
  const written: Record<string, unknown> = {}
  const all = gate()
  const settler = new Settler({
    store: storeWith({ settle: settleAttempts }),
    onSettled: ({ settled }) => {
      for (const { id, outcome } of settled) written[id] = outcome
      if (Object.keys(written).length === attempts.length) all.open()
    },
    onRejected: unused,
    onError: (error) => errors.push(error),
  })
  for (const one of attempts) settler.add(one)
  settler.loop.start()
  await all.promise
  await settler.drain(1000)
  await settler.loop.stop()
  return { written, errors }
}

const success = (result: string): AttemptEnd => ({ kind: 'success', result })

describe('the end of a run', () => {
  it('is written in one batch with others that ended in the meantime', async () => {
    const batches: number[] = []
    await settle(
      async (attempts) => {
        batches.push(attempts.length)
        return settledAll(attempts)
      },
      [attempt('a', success('1')), attempt('b', success('2'))],
    )
    expect(batches).toEqual([2])
  })

  it('is kept while the database is unavailable', async () => {
    let away = 2
    const { written, errors } = await settle(
      async (attempts) => {
        away -= 1
        if (away >= 0) throw new StoreUnavailableError('away')
        return settledAll(attempts)
      },
      [attempt('a', success('1'))],
    )
    expect(errors).toHaveLength(2)
    expect(written).toMatchObject({ a: { state: 'success', result: '1' } })
  })

  it('is retried when another transaction locks the schedule', async () => {
    let held = true
    const { written } = await settle(
      async (attempts) => {
        const locked = held ? attempts.filter(({ fence }) => fence.id === 'b') : []
        held = false
        return { ...settledAll(attempts.filter((one) => !locked.includes(one))), locked }
      },
      [attempt('a', success('1')), attempt('b', success('2'))],
    )
    expect(written).toMatchObject({ a: { result: '1' }, b: { result: '2' } })
  })

  it('whose texts the database rejects fails the attempt, and does not affect others', async () => {
    const { written } = await settle(
      async (attempts) => {
        if (attempts.some(({ end }) => end.kind === 'success' && end.result === 'too large'))
          throw new RangeError('too large for the packet')
        if (attempts.some(({ end }) => end.kind === 'error' && end.error === 'bad bytes'))
          throw new RangeError('Incorrect string value')
        return settledAll(attempts)
      },
      [
        attempt('a', success('1')),
        attempt('b', success('too large')),
        attempt('c', { kind: 'error', error: 'bad bytes', permanent: false }),
        attempt('d', success('4')),
      ],
    )
    expect(written).toMatchObject({
      a: { state: 'success', result: '1' },
      b: {
        state: 'failed',
        error: 'The result of the run could not be stored: too large for the packet',
      },
      c: {
        state: 'failed',
        error: 'The error of the run could not be stored: Incorrect string value',
      },
      d: { state: 'success', result: '4' },
    })
  })
})

const line = (message: string): NewLogLine => ({ jobId: 'j', at: new Date(0), level: 'info', message })
const fence = { id: 'j', worker: 'w/1', claim: 1 }

describe('the journal', () => {
  it('a flush waits for the one in progress, so that every earlier line is written after it', async () => {
    const release = gate()
    const written: string[] = []
    const journal = new Journal(
      storeWith({
        appendLogs: async (lines) => {
          if (written.length === 0) await release.promise
          written.push(...lines.map(({ message }) => message))
        },
        saveProgress: async (_, json) => void written.push(json),
      }),
      unused,
    )
    journal.log(line('one'))
    journal.progress(fence, '0.5')
    const first = journal.flush()
    let done = false
    const second = journal.flush().finally(() => {
      done = true
    })
    await Promise.resolve()
    expect(done).toBe(false)
    release.open()
    await Promise.all([first, second])
    expect(written.toSorted()).toEqual(['0.5', 'one'])
  })

  it('keeps everything, in order, while the database is unavailable', async () => {
    let away = true
    const written: string[] = []
    const journal = new Journal(
      storeWith({
        appendLogs: async (lines) => {
          if (away) throw new StoreUnavailableError('away')
          written.push(...lines.map(({ message }) => message))
        },
        saveProgress: async (_, json) => {
          if (away) throw new StoreUnavailableError('away')
          written.push(json)
        },
      }),
      unused,
    )
    journal.log(line('one'))
    journal.progress(fence, '0.5')
    await expect(journal.flush()).rejects.toThrow(StoreUnavailableError)
    journal.log(line('two'))
    away = false
    await journal.flush()
    expect(written.filter((one) => one !== '0.5')).toEqual(['one', 'two'])
    expect(written).toContain('0.5')
  })

  it('progress does not wait for lines that cannot be written', async () => {
    const written: string[] = []
    const journal = new Journal(
      storeWith({
        appendLogs: () => new Promise(() => {}),
        saveProgress: async (_, json) => void written.push(json),
      }),
      unused,
    )
    journal.log(line('one'))
    for (const step of ['1', '2']) {
      journal.progress(fence, step)
      void journal.flush()
      await new Promise((resolve) => setImmediate(resolve))
    }
    expect(written).toEqual(['1', '2'])
  })

  it('progress that cannot be written, because the row of its job is locked, does not delay that of others', async () => {
    const written: string[] = []
    const journal = new Journal(
      storeWith({
        saveProgress: async ({ id }) => {
          if (id === 'locked') throw new StoreUnavailableError('Lock wait timeout exceeded')
          written.push(id)
        },
      }),
      unused,
    )
    for (const id of ['locked', 'a', 'b']) journal.progress({ ...fence, id }, '1')
    await expect(journal.flush()).rejects.toThrow(StoreUnavailableError)
    await expect(journal.flush()).rejects.toThrow(StoreUnavailableError)
    expect(written).toEqual(['a', 'b'])
  })

  it('keeps a limited amount of lines, drops further ones, and reports it once until the lines are written', async () => {
    const errors: string[] = []
    let away = true
    let written = 0
    const journal = new Journal(
      storeWith({
        appendLogs: async (lines) => {
          if (away) throw new StoreUnavailableError('away')
          written += lines.length
        },
      }),
      (error) => errors.push(String(error)),
    )
    const long = line('x'.repeat(1024 * 1024))
    const outage = async () => {
      away = true
      for (let count = 0; count < 2 * (MOST_WAITING_BYTES / long.message.length); count += 1)
        journal.log(long)
      await expect(journal.flush()).rejects.toThrow(StoreUnavailableError)
    }
    await outage()
    const { lines, dropped } = journal.unwritten()
    expect(lines).toBe(MOST_WAITING_BYTES / long.message.length)
    expect(dropped).toBe(lines)
    expect(errors).toEqual([expect.stringContaining(`${lines} log lines wait to be written`)])
    away = false
    await journal.flush()
    expect(written).toBe(lines)
    expect(journal.unwritten()).toEqual({ lines: 0, progress: 0, ms: 0, dropped: 0 })
    await outage()
    expect(errors).toHaveLength(2)
  })

  it('drops and reports a line that the database rejects, and keeps the others', async () => {
    const errors: unknown[] = []
    const written: string[] = []
    const journal = new Journal(
      storeWith({
        appendLogs: async (lines) => {
          if (lines.some(({ message }) => message === 'bad')) throw new RangeError('Incorrect string value')
          written.push(...lines.map(({ message }) => message))
        },
      }),
      (error) => errors.push(error),
    )
    for (const message of ['one', 'bad', 'three']) journal.log(line(message))
    await journal.flush()
    await journal.flush()
    expect(written).toEqual(['one', 'three'])
    expect(errors).toHaveLength(1)
  })

  it('finds the line that the database rejects by halving, and writes the others once', async () => {
    let away = false
    let tries = 0
    const written: string[] = []
    const journal = new Journal(
      storeWith({
        appendLogs: async (lines) => {
          tries += 1
          if (away) throw new StoreUnavailableError('away')
          if (lines.some(({ message }) => message === '200')) throw new RangeError('Incorrect string value')
          written.push(...lines.map(({ message }) => message))
          // In the middle of the work.
          away = tries > 1 && tries < 5
        },
      }),
      () => {},
    )
    const messages = Array.from({ length: 512 }, (_, number) => String(number))
    for (const message of messages) journal.log(line(message))
    await expect(journal.flush()).rejects.toThrow(StoreUnavailableError)
    away = false
    await journal.flush()
    expect(written).toEqual(messages.filter((message) => message !== '200'))
    expect(tries).toBeLessThanOrEqual(4 * Math.log2(512))
  })

  it('progress that arrives while the previous progress is being written is written next', async () => {
    const [begun, release] = [gate(), gate()]
    const written: string[] = []
    const journal = new Journal(
      storeWith({
        saveProgress: async (_, json) => {
          begun.open()
          await release.promise
          written.push(json)
        },
      }),
      unused,
    )
    journal.progress(fence, '1')
    const first = journal.flush()
    await begun.promise
    journal.progress(fence, '2')
    release.open()
    await first
    await journal.flush()
    await journal.flush()
    expect(written).toEqual(['1', '2'])
  })

  it('writes only the last of many progress updates', async () => {
    const written: string[] = []
    const journal = new Journal(
      storeWith({ saveProgress: async (_, json) => void written.push(json) }),
      unused,
    )
    for (const step of [1, 2, 3]) journal.progress(fence, `${step}`)
    await journal.flush()
    expect(written).toEqual(['3'])
  })
})
