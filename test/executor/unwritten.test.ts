/** Which ended runs occupy capacity while their outcomes are not yet in the database. */
import { describe, expect, it, vi } from 'vitest'
import { ABANDON_MS } from '../../src/executor/attempt-runner.ts'
import type { HandledTask, Handler } from '../../src/executor/handler.ts'
import { MAX_EXEMPT } from '../../src/executor/settler.ts'
import { OUTCOME_WAIT_MS } from '../../src/executor/writer.ts'
import { task } from '../../src/index.ts'
import type {
  UnsettledAttempt,
  ExecutingStore,
  NewLogLine,
  Settled,
} from '../../src/store/executing-store.ts'
import { collect, collectingLogger, ended, gate, scene } from '../kalends/scene.ts'
import { eachDatabase } from '../support/databases.ts'
import { claimed, executorOn, fakeTimers, NOTHING, settledDown, startLoops, WRITTEN } from './claimed.ts'
import { refusal } from '../support/refusal.ts'

/**
 * An executor with a queue of `jobs` jobs, whose outcomes are written by `settle`. Its handlers end at once, unless
 * `handler` is given.
 */
function busy(
  concurrency: number,
  jobs: number,
  settle: (attempts: readonly UnsettledAttempt[]) => Promise<Settled>,
  { handler, ...store }: Partial<ExecutingStore> & { readonly handler?: Handler } = {},
) {
  const state = {
    started: 0,
    rejected: [] as string[],
    held: [] as UnsettledAttempt[],
    errors: [] as unknown[],
    dropped: [] as string[],
  }
  const handled: HandledTask = {
    task: task('noop'),
    handler: (context) => {
      state.started += 1
      return handler?.(context)
    },
  }
  let given = 0
  const executor = executorOn(
    {
      claim: (_worker, _tasks, limit) =>
        Promise.resolve(
          Array.from({ length: Math.min(limit, jobs - given) }, () => claimed(`j${(given += 1)}`)),
        ),
      settle,
      held: () => Promise.resolve(state.held),
      ...store,
    },
    handled,
    {
      concurrency,
      onRejected: ({ fence }) => void state.rejected.push(fence.id),
      onDropped: ({ message }) => void state.dropped.push(message),
      onError: (error) => void state.errors.push(error),
    },
  )
  startLoops(executor)
  executor.wake()
  return { executor, state }
}

describe('a worker', () => {
  it('starts no more jobs than its concurrency allows while it cannot write their outcomes [L53]', async () => {
    const writes = gate()
    const { executor, state } = busy(3, 10, async () => {
      await writes.promise
      return NOTHING
    })
    await settledDown(3000)
    expect(state.started).toBe(3)
    expect(executor.claims.reserve('w/1', 1)).toBeNull()
    expect(executor.settler.unwritten()).toMatchObject({ waiting: 3, locked: 0 })
    writes.open()
    await settledDown(3000)
    expect(state.started).toBe(10)
    await executor.stop(0)
  })

  it('continues while the rows of ended runs are locked, up to a limit', async () => {
    fakeTimers()
    let isLocked = true
    const { executor, state } = busy(2, MAX_EXEMPT + 100, (attempts) =>
      Promise.resolve({ ...NOTHING, locked: isLocked ? attempts : [] }),
    )
    await settledDown(3000)
    expect(state.started).toBe(MAX_EXEMPT + 2)
    await vi.advanceTimersByTimeAsync(10_000)
    await settledDown(3000)
    expect(state.started).toBe(MAX_EXEMPT + 2)
    expect(executor.settler.unwritten()).toMatchObject({
      waiting: MAX_EXEMPT + 2,
      locked: MAX_EXEMPT + 2,
      isLimitReached: true,
    })
    expect(executor.settler.unwritten().lockedMs).toBeGreaterThanOrEqual(10_000)
    isLocked = false
    for (let pass = 0; pass < 3; pass += 1) {
      await vi.advanceTimersByTimeAsync(300)
      await settledDown(3000)
    }
    expect(state.started).toBe(MAX_EXEMPT + 100)
    expect(executor.settler.unwritten()).toMatchObject({
      waiting: 0,
      locked: 0,
      lockedMs: 0,
      isLimitReached: false,
    })
    vi.useRealTimers()
    await executor.stop(0)
  })

  it('checks locked rows a few times per second, regardless of their number', async () => {
    fakeTimers()
    let asked = 0
    const { executor } = busy(400, 400, (attempts) => {
      asked += 1
      return Promise.resolve({ ...NOTHING, locked: attempts })
    })
    await settledDown(3000)
    expect(executor.settler.unwritten().locked).toBe(400)
    const before = asked
    for (let passed = 0; passed < 10_000; passed += 250) {
      await vi.advanceTimersByTimeAsync(250)
      for (let turn = 0; turn < 10; turn += 1) await new Promise((resolve) => setImmediate(resolve))
    }
    expect(asked - before).toBeGreaterThan(10)
    expect(asked - before).toBeLessThanOrEqual(40)
    // Between the checks, the settler sleeps.
    const settler = executor.loops().find((loop) => loop.health().name === 'settler')
    expect(settler?.health()).toMatchObject({ busySince: null, nextPassAt: expect.any(Date) })
    vi.useRealTimers()
  })

  it('isolates an outcome that the database rejects, retries it every five minutes, and frees its capacity', async () => {
    fakeTimers()
    const tried: string[] = []
    let rejects = true
    const { executor, state } = busy(1, 4, (attempts) => {
      tried.push(...attempts.map(({ fence }) => fence.id))
      const bad = attempts.filter(({ fence }) => rejects && fence.id === 'j2')
      const error = new Error('CHECK constraint failed')
      return Promise.resolve({ ...NOTHING, refused: bad.map((item) => ({ item, error })) })
    })
    await settledDown(3000)
    expect(state.started).toBe(4)
    expect(state.rejected).toEqual(['j2'])
    expect(executor.settler.unwritten()).toMatchObject({ waiting: 0, rejected: 1 })
    const before = tried.length
    await vi.advanceTimersByTimeAsync(290_000)
    await settledDown(3000)
    // A comparison with the database must not mistake the job for one whose claim received no response.
    state.held = [
      {
        fence: { id: 'j2', worker: 'w/1', claim: 1 },
        end: { kind: 'released' },
        policy: claimed('j2').policy,
      },
    ]
    executor.claims.recheckRunning()
    await settledDown(3000)
    expect(tried).toHaveLength(before)
    await vi.advanceTimersByTimeAsync(20_000)
    await settledDown(3000)
    expect(new Set(tried.slice(before))).toEqual(new Set(['j2']))
    expect(executor.settler.unwritten()).toMatchObject({ waiting: 0, rejected: 1 })
    // The row has been repaired by now.
    rejects = false
    const between = tried.length
    vi.useRealTimers()
    await executor.stop(0)
    expect(tried.slice(between)).toEqual(['j2'])
    expect(executor.settler.unwritten()).toMatchObject({ waiting: 0, rejected: 0 })
  })
})

/** A log table that another transaction locks until `lock` opens, and the written lines and outcomes. */
function lockedLog() {
  const lock = gate()
  const lines: string[] = []
  const ended: string[] = []
  return {
    lock,
    lines,
    ended,
    settle: (attempts: readonly UnsettledAttempt[]) => {
      ended.push(...attempts.map(({ fence }) => fence.id))
      return Promise.resolve(NOTHING)
    },
    appendLogs: async (some: readonly NewLogLine[]) => {
      await lock.promise
      lines.push(...some.map(({ jobId, message }) => `${jobId} ${message}`))
      return WRITTEN
    },
  }
}

describe('while the log table is locked', () => {
  it('an outcome waits a second for the lines of its attempt, later outcomes do not wait, and no line is lost [R10, L78]', async () => {
    fakeTimers()
    const { lock, lines, ended: ends, settle, appendLogs } = lockedLog()
    const { executor } = busy(2, 10, settle, { appendLogs, handler: ({ log }) => log.info('ran') })
    await settledDown(3000)
    await vi.advanceTimersByTimeAsync(OUTCOME_WAIT_MS - 1)
    await settledDown(3000)
    expect(ends).toEqual([])
    await vi.advanceTimersByTimeAsync(1)
    await settledDown(3000)
    const all = Array.from({ length: 10 }, (_, index) => `j${index + 1}`)
    expect(ends).toEqual(all)
    expect(executor.attempts.count()).toBe(0)
    await vi.advanceTimersByTimeAsync(3_600_000)
    expect(executor.journal.unwritten()).toMatchObject({ lines: 10, dropped: 0 })
    expect(executor.journal.unwritten().ms).toBeGreaterThanOrEqual(3_600_000)
    lock.open()
    await settledDown(3000)
    await vi.advanceTimersByTimeAsync(1000)
    await settledDown(3000)
    expect(lines).toEqual(all.map((id) => `${id} ran`))
    expect(executor.journal.unwritten()).toEqual({ lines: 0, progress: 0, ms: 0, dropped: 0 })
    vi.useRealTimers()
    await executor.stop(0)
  })

  it('the outcome of an attempt that logs nothing does not wait', async () => {
    fakeTimers()
    const { lock, ended: ends, settle, appendLogs } = lockedLog()
    const { executor } = busy(2, 10, settle, {
      appendLogs,
      handler: ({ job, log }) => void (job.id === 'j1' && log.info('ran')),
    })
    await settledDown(3000)
    expect(ends).toEqual(Array.from({ length: 9 }, (_, index) => `j${index + 2}`))
    lock.open()
    await settledDown(3000)
    expect(ends).toContain('j1')
    await vi.advanceTimersByTimeAsync(1000)
    vi.useRealTimers()
    await executor.stop(0)
  })

  it('progress is still written before the outcome', async () => {
    fakeTimers()
    const { ended: ends, settle, appendLogs } = lockedLog()
    const saved: [id: string, progress: string, isEnded: boolean][] = []
    const { executor } = busy(1, 3, settle, {
      appendLogs,
      saveProgress: (entries) => {
        for (const { fence, json } of entries) saved.push([fence.id, json, ends.includes(fence.id)])
        return Promise.resolve(WRITTEN)
      },
      handler: ({ job, log, progress }) => {
        if (job.id === 'j1') log.info('ran')
        for (const step of [1, 2]) progress(step)
      },
    })
    await settledDown(3000)
    await vi.advanceTimersByTimeAsync(OUTCOME_WAIT_MS)
    await settledDown(3000)
    expect(ends).toEqual(['j1', 'j2', 'j3'])
    expect(saved).toEqual(['j1', 'j2', 'j3'].map((id) => [id, '2', false]))
    executor.stop(0).catch(() => {})
    await vi.advanceTimersByTimeAsync(60_000)
  })

  it('a stopping worker waits a few seconds for the lines, and reports how many are lost', async () => {
    fakeTimers()
    const { settle, appendLogs } = lockedLog()
    const { executor, state } = busy(1, 3, settle, { appendLogs, handler: ({ log }) => log.info('ran') })
    await settledDown(3000)
    let isStopped = false
    const stopped = executor.stop(30_000).then(() => (isStopped = true))
    for (const ms of [OUTCOME_WAIT_MS, 4999]) {
      await vi.advanceTimersByTimeAsync(ms)
      await settledDown(3000)
    }
    expect(isStopped).toBe(false)
    await vi.advanceTimersByTimeAsync(1)
    await stopped
    // The handlers of the other two jobs have not started.
    expect(state.dropped).toEqual(['The worker stopped before it could write 1 log line'])
    expect(state.errors).toEqual([])
  })

  it('a stopping worker writes the outcome of a handler that ignores its signal', async () => {
    fakeTimers()
    const { ended: ends, settle, appendLogs } = lockedLog()
    const { executor } = busy(1, 1, settle, {
      appendLogs,
      handler: ({ log, signal }) => {
        // The line is so late that the attempt ends while it is being written.
        signal.addEventListener('abort', () => setTimeout(() => log.info('stops'), ABANDON_MS - 1))
        return new Promise(() => {})
      },
    })
    await settledDown(3000)
    const stopped = executor.stop(0)
    await vi.advanceTimersByTimeAsync(ABANDON_MS + 1)
    await settledDown(3000)
    expect(ends).toEqual([])
    await vi.advanceTimersByTimeAsync(OUTCOME_WAIT_MS)
    await settledDown(3000)
    expect(ends).toEqual(['j1'])
    await vi.advanceTimersByTimeAsync(5000)
    await stopped
  })
})

it('an outcome waits for its lines even if no progress can be written', async () => {
  fakeTimers()
  const { settle, ended: ends } = lockedLog()
  const written: [line: string, isEnded: boolean][] = []
  const { executor } = busy(1, 3, settle, {
    appendLogs: async (lines) => {
      for (let turn = 0; turn < 20; turn += 1) await new Promise((resolve) => setImmediate(resolve))
      written.push(...lines.map(({ jobId }): [string, boolean] => [jobId, ends.includes(jobId)]))
      return WRITTEN
    },
    saveProgress: () => new Promise(() => {}),
    handler: ({ progress, log }) => {
      progress(1)
      log.info('ran')
    },
  })
  await settledDown(3000)
  await vi.advanceTimersByTimeAsync(OUTCOME_WAIT_MS)
  await settledDown(3000)
  expect(written).toEqual(['j1', 'j2', 'j3'].map((id) => [id, false]))
  expect(ends).toEqual(['j1', 'j2', 'j3'])
  executor.stop(0).catch(() => {})
  await vi.advanceTimersByTimeAsync(60_000)
})

it('an outcome waits a second for progress that cannot be written, and later outcomes do not wait', async () => {
  fakeTimers()
  const { ended: ends, settle } = lockedLog()
  const { executor } = busy(1, 3, settle, {
    saveProgress: () => new Promise(() => {}),
    handler: ({ progress }) => progress(1),
  })
  await settledDown(3000)
  expect(ends).toEqual([])
  await vi.advanceTimersByTimeAsync(OUTCOME_WAIT_MS)
  await settledDown(3000)
  expect(ends).toEqual(['j1', 'j2', 'j3'])
  executor.stop(0).catch(() => {})
  await vi.advanceTimersByTimeAsync(60_000)
})

const odd = task('odd', { retries: 0 })

eachDatabase((under) => {
  const { kind } = under

  it('a log line or progress that the database rejects is reported as dropped and affects nothing else', async () => {
    const { open, database } = await scene(under)
    const { logger, messages } = collectingLogger()
    const kalends = await open({ logger })
    const errors = collect(kalends, 'error')
    kalends.handle(odd, ({ log, progress }) => {
      for (const message of ['one', 'bad', 'three']) log.info(message)
      progress('bad')
    })
    await database.query(refusal(kind, 'INSERT', 'job_log', "NEW.message = 'bad'"))
    await database.query(refusal(kind, 'UPDATE', 'job', 'NEW.progress = \'"bad"\'', { name: 'no_progress' }))
    await kalends.start()
    const id = await kalends.jobs.submit(odd)
    expect(await ended(kalends, id)).toMatchObject({ state: 'success', progress: null })
    expect((await kalends.jobs.logs(id)).map(({ message }) => message)).toEqual(['one', 'three'])
    const dropped = ['log line', 'progress report'].map(
      (what) => `Dropped 1 ${what} of the job '${id}', because the database rejected the write`,
    )
    // They are not retried.
    expect(
      messages()
        .filter((text) => text.startsWith('error'))
        .toSorted(),
    ).toEqual(dropped.map((message) => `error: ${message}`))
    expect(errors.map(({ where }) => where).toSorted()).toEqual(['journal', 'journal'])
  })
})
