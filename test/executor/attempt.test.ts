/** Attempts in memory: the handler's context, and attempts that end before their handler or without calling it. */
import { inspect } from 'node:util'
import { expect, it, onTestFinished, vi } from 'vitest'
import { AttemptTimeoutError, CancelledError } from '../../src/errors.ts'
import type { Handler, HandlerContext } from '../../src/executor/handler.ts'
import type { JobExecutorOptions } from '../../src/executor/options.ts'
import type { ClaimedJob } from '../../src/model/job.ts'
import { Redaction } from '../../src/model/redaction.ts'
import type { StandardSchema } from '../../src/model/standard-schema.ts'
import { DEFAULT_POLICY, task } from '../../src/model/task.ts'
import type { UnsettledAttempt, ExecutingStore } from '../../src/store/executing-store.ts'
import { gate } from '../kalends/scene.ts'
import { claimed, executorOn, NOTHING, settledDown, startLoops, WRITTEN } from './claimed.ts'

interface Given
  extends Partial<
    Pick<JobExecutorOptions, 'middleware' | 'redaction' | 'othersHandle' | 'onConverted' | 'onUnstartable'>
  > {
  readonly jobs: readonly ClaimedJob[]
  readonly handler: Handler
  readonly schemas?: {
    readonly args?: StandardSchema<Record<string, unknown>>
    readonly result?: StandardSchema
  }
  readonly store?: Partial<ExecutingStore>
}

/** Runs jobs of the task 'noop'. The event loop runs as usual, but the test advances the time. */
async function running({ jobs, handler, schemas = {}, store, ...options }: Given) {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] })
  onTestFinished(() => void vi.useRealTimers())
  const queue = [...jobs]
  const ends = new Map<string, UnsettledAttempt['end'] & { readonly ms: number }>()
  const began = performance.now()
  const executor = executorOn(
    {
      claim: () => Promise.resolve(queue.splice(0)),
      settle: (attempts) => {
        for (const { fence, end } of attempts) ends.set(fence.id, { ...end, ms: performance.now() - began })
        return Promise.resolve(NOTHING)
      },
      ...store,
    },
    { task: task('noop', schemas), handler },
    { concurrency: 10_000, ...options },
  )
  startLoops(executor)
  executor.wake()
  await settledDown()
  onTestFinished(async () => {
    const state = { isStopped: false }
    void executor.stop(0).finally(() => (state.isStopped = true))
    while (!state.isStopped) await pass(1000)
  })
  return { executor, ends }
}

async function pass(ms: number): Promise<void> {
  await vi.advanceTimersByTimeAsync(ms)
  await settledDown()
}

const never = () => new Promise<never>(() => {})
const withTimeout = (id: string, timeout: number) => ({
  ...claimed(id),
  policy: { ...DEFAULT_POLICY, timeout },
})

it('a signal that the handler reads only after the abort is already aborted, with the reason', async () => {
  const contexts: HandlerContext[] = []
  const { executor } = await running({
    jobs: [claimed('j')],
    handler: (context) => {
      contexts.push(context)
      return never()
    },
  })
  const reason = new CancelledError('The job was cancelled')
  executor.attempts.get('j')?.abort(reason)
  const [{ signal } = { signal: null }] = contexts
  expect(signal?.aborted).toBe(true)
  expect(signal?.reason).toBe(reason)
  executor.attempts.get('j')?.abort(new AttemptTimeoutError('later'))
  expect(signal?.reason).toBe(reason)
})

it('an attempt times out even if its handler never reads the signal', async () => {
  const { ends } = await running({
    jobs: [withTimeout('j', 100)],
    handler: () => new Promise((resolve) => setTimeout(resolve, 200)),
  })
  await pass(200)
  expect(ends.get('j')).toMatchObject({ kind: 'timeout' })
})

it('a copy of the context is complete, and its functions work without the context object', async () => {
  const seen: unknown[] = []
  const written: unknown[] = []
  const { ends } = await running({
    jobs: [claimed('j')],
    store: {
      appendLogs: async (lines) => {
        written.push(...lines)
        return WRITTEN
      },
      saveProgress: async (progress) => {
        written.push(...progress)
        return WRITTEN
      },
    },
    handler: async (context) => {
      const { args, slot, missed, attempt, job, signal, log, progress, snooze } = { ...context }
      seen.push(args, slot, missed, attempt, job.id, signal === context.signal, signal.aborted)
      // oxlint-disable-next-line typescript/unbound-method -- handlers may do this
      const { info } = log
      info('a line')
      progress(0.5)
      snooze('1h')
    },
  })
  expect(seen).toEqual([{}, null, 0, 1, 'j', true, false])
  expect(written).toMatchObject([{ level: 'info', message: 'a line' }, { json: '0.5' }])
  expect(ends.get('j')).toMatchObject({ kind: 'snoozed', delayMs: 3_600_000 })
})

it('a handler that changes its args does not change the args of its job', async () => {
  const jobs = [{ ...claimed('j'), args: { to: 'one' }, argsText: '{"to":"one"}' }]
  const seen: unknown[] = []
  await running({
    jobs,
    handler: ({ args, job }) => {
      Object.assign(Object(args), { to: 'other' })
      seen.push(args, job.args)
    },
  })
  expect(seen).toEqual([{ to: 'other' }, { to: 'one' }])
})

it('secrets in an error are redacted even if the handler has removed them from its args and its job', async () => {
  const { ends } = await running({
    jobs: [{ ...claimed('j'), args: { token: 'hunter2' }, argsText: '{"token":"hunter2"}' }],
    redaction: new Redaction(['args.token']),
    handler: ({ args, job }) => {
      for (const object of [args, job.args]) Object.assign(Object(object), { token: 'hidden' })
      throw 'with hunter2'
    },
  })
  await pass(1000)
  expect(ends.get('j')).toMatchObject({ error: 'with [redacted]' })
})

it('secrets in earlier progress are removed from later progress and the result, unless the row still contains them at a redacted path', async () => {
  const progressOf = new Map<string, string>()
  const lines: string[] = []
  const replaced: string[] = []
  const first = { token: 'first-secret', done: 1 }
  const last = { token: 'last-secret', done: 2 }
  const { ends } = await running({
    jobs: ['other place', 'same place', 'too many'].map((id) => claimed(id)),
    redaction: new Redaction(['progress.token', 'result.token']),
    store: {
      appendLogs: async (some) => {
        lines.push(...some.map(({ jobId, message }) => `${jobId}: ${message}`))
        return WRITTEN
      },
      replaceLogs: async (jobId, replacements) => {
        replaced.push(...[...replacements].map(() => jobId))
      },
      saveProgress: async (some) => {
        for (const { fence, json } of some) progressOf.set(fence.id, json)
        return WRITTEN
      },
    },
    handler: ({ job, log, progress }) => {
      log.info('before first-secret')
      progress(first)
      if (job.id === 'too many') for (let at = 0; at < 20_000; at += 1) progress({ token: `${at} in secret` })
      progress(job.id === 'same place' ? last : { ...last, note: 'not first-secret' })
      const result = { token: 'own-secret', note: 'it was last-secret, own-secret' }
      if (job.id === 'same place') return { ...result, token: 'first-secret' }
      return { ...result, list: ['first-secret'] }
    },
  })
  await pass(1000)
  expect(JSON.parse(progressOf.get('same place') ?? '')).toEqual(last)
  expect(ends.get('same place')).toMatchObject({
    result: JSON.stringify({ token: 'first-secret', note: 'it was last-secret, own-secret' }),
  })
  expect(JSON.parse(progressOf.get('other place') ?? '')).toEqual({
    token: 'last-secret',
    done: 2,
    note: 'not [redacted]',
  })
  expect(ends.get('other place')).toMatchObject({
    result: JSON.stringify({
      token: 'own-secret',
      note: 'it was last-secret, own-secret',
      list: ['[redacted]'],
    }),
  })
  expect(lines.filter((line) => !line.includes('before'))).toEqual([
    'other place: The result contains secrets of earlier progress; it is stored without them',
  ])
  expect(replaced.toSorted()).toEqual(['other place', 'same place'])
  // There are more secrets than the redaction can search for.
  expect(JSON.parse(progressOf.get('too many') ?? '')).toEqual({ ...last, note: 'not first-secret' })
  expect(ends.get('too many')).toMatchObject({ result: expect.stringContaining('["first-secret"]') })
})

it('a result that repeats a secret of earlier progress is stored unchanged if the args contain the secret at a redacted path', async () => {
  const { ends } = await running({
    jobs: [{ ...claimed('j'), args: { token: 'hunter22' }, argsText: '{"token":"hunter22"}' }],
    redaction: new Redaction(['args.token', 'progress.token']),
    handler: ({ progress }) => {
      progress({ token: 'hunter22' })
      progress({ token: 'other' })
      return 'with hunter22'
    },
  })
  await pass(1000)
  expect(ends.get('j')).toMatchObject({ kind: 'success', result: '"with hunter22"' })
})

it('the error for a result that does not match its schema contains a cause, but no secrets of the result', async () => {
  const { ends } = await running({
    jobs: [claimed('j')],
    redaction: new Redaction(['result.token']),
    schemas: {
      result: {
        '~standard': {
          version: 1,
          vendor: 'test',
          validate: (result) => ({ issues: [{ message: `invalid: ${JSON.stringify(result)}` }] }),
        },
      },
    },
    handler: () => ({ token: 'hunter22' }),
  })
  const end = ends.get('j')
  expect(end).toMatchObject({ kind: 'error', permanent: true })
  expect(end).toMatchObject({
    error: expect.stringMatching(/^PermanentError: .*invalid: \{"token":"\[redacted\]"\}[^]*\nCaused by: /),
  })
  expect(JSON.stringify(end)).not.toContain('hunter22')
})

it('each of a thousand attempts with different timeouts ends at its own timeout', async () => {
  const jobs = Array.from({ length: 1000 }, (_, index) => withTimeout(`${index}`, ((index * 7) % 1000) + 1))
  const { executor, ends } = await running({
    jobs,
    handler: ({ signal }) =>
      new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason))),
  })
  for (let ms = 0; ms < 1000; ms += 50) {
    expect(executor.attempts.count()).toBe(jobs.filter(({ policy }) => policy.timeout > ms).length)
    await pass(50)
  }
  expect(executor.attempts.count()).toBe(0)
  expect([...ends.values()].every(({ kind }) => kind === 'timeout')).toBe(true)
  expect(ends.size).toBe(1000)
})

it('a timeout of 24.8 days does not end an attempt early', async () => {
  const signals: AbortSignal[] = []
  await running({
    jobs: [withTimeout('j', 2_147_483_647)],
    handler: ({ signal }) => {
      signals.push(signal)
      return never()
    },
  })
  const isAborted = () => signals.map(({ aborted }) => aborted)
  vi.advanceTimersByTime(2_147_483_646)
  expect(isAborted()).toEqual([false])
  vi.advanceTimersByTime(1)
  expect(isAborted()).toEqual([true])
})

it('an abandoned handler is listed until it ends, and its outcome has no effect', async () => {
  const hold = gate()
  const { executor, ends } = await running({
    jobs: [withTimeout('j', 100)],
    handler: async ({ progress }) => {
      await hold.promise
      progress(1)
      return 'done after all'
    },
  })
  await pass(100)
  expect(executor.attempts.abandonedTasks()).toEqual([])
  await pass(4999)
  expect(executor.attempts.count()).toBe(1)
  await pass(1)
  expect(executor.attempts.count()).toBe(0)
  expect(executor.attempts.abandonedTasks()).toEqual(['noop'])
  const end = ends.get('j')
  expect(end).toMatchObject({ kind: 'timeout', error: expect.stringContaining('was abandoned') })
  hold.open()
  await settledDown()
  expect(executor.attempts.abandonedTasks()).toEqual([])
  expect(executor.journal.unwritten().progress).toBe(0)
  expect(ends.get('j')).toBe(end)
})

it('if a job is cancelled while its args are checked, its handler is not called', async () => {
  const checked = gate<{ readonly value: Record<string, unknown> }>()
  let calls = 0
  const { executor, ends } = await running({
    jobs: [claimed('checked'), claimed('stuck')],
    schemas: {
      args: {
        '~standard': {
          version: 1,
          vendor: 'test',
          validate: () => checked.promise,
        },
      },
    },
    handler: () => {
      calls += 1
    },
  })
  executor.attempts.get('checked')?.abort(new CancelledError('The job was cancelled'))
  checked.open({ value: {} })
  await settledDown()
  expect(ends.get('checked')).toMatchObject({ kind: 'cancelled' })
  expect(ends.get('stuck')).toMatchObject({ kind: 'success' })
  expect(calls).toBe(1)
})

it('a result or progress that JSON changes is stored and reported, without secrets in the path', async () => {
  const converted: unknown[] = []
  const { ends } = await running({
    jobs: [claimed('j')],
    redaction: new Redaction(['result.by']),
    onConverted: (...of) => void converted.push(of),
    handler: ({ progress }) => {
      progress({ share: Number.NaN })
      return { by: { secret: new Date(0) } }
    },
  })
  expect(ends.get('j')).toMatchObject({
    kind: 'success',
    result: '{"by":{"secret":"1970-01-01T00:00:00.000Z"}}',
  })
  expect(converted).toEqual([
    ['noop', 'progress.share', 'JSON turns NaN into null'],
    ['noop', 'result.by.[redacted]', 'JSON turns this Date into what its method toJSON returns'],
  ])
})

it.each([
  ['another worker handles its task', true, 2, 'released', ['j']],
  ['it was released too often', true, 3, 'error', []],
  ['no other worker handles its task', false, 0, 'error', []],
])('a job whose args do not match the schema, if %s', async (_, isHandled, releases, kind, leftOut) => {
  const seen: string[] = []
  const reported: string[] = []
  const issues = [{ message: 'Expected a number', path: ['count'] }]
  const { ends } = await running({
    jobs: [{ ...claimed('j'), releases }],
    schemas: { args: { '~standard': { version: 1, vendor: 'test', validate: () => ({ issues }) } } },
    store: { leaveOut: ({ id }) => void seen.push(id) },
    othersHandle: () => isHandled,
    onUnstartable: (id, error) => void reported.push(`${id}: ${String(error)}`),
    handler: never,
  })
  expect(ends.get('j')).toMatchObject(kind === 'error' ? { kind, permanent: true } : { kind })
  expect(seen).toEqual(leftOut)
  expect(reported).toEqual(leftOut.map((id) => expect.stringMatching(`^${id}: .*count.*Expected a number`)))
})

it('the error of a schema that quotes the args is reported without secrets', async () => {
  const reported: unknown[] = []
  const { ends } = await running({
    jobs: [{ ...claimed('j'), args: { pin: '4711-0815' }, argsText: '{"pin":"4711-0815"}' }],
    schemas: {
      args: {
        '~standard': {
          version: 1,
          vendor: 'test',
          validate: (value) => ({ issues: [{ message: `Expected no pin, got ${JSON.stringify(value)}` }] }),
        },
      },
    },
    redaction: new Redaction(['args.pin']),
    othersHandle: () => true,
    onUnstartable: (_, error) => void reported.push(error),
    handler: never,
  })
  expect(ends.get('j')).toMatchObject({ kind: 'released' })
  expect(inspect(reported)).toContain(
    "args: does not match the args of the task 'noop': Expected no pin, got",
  )
  expect(inspect(reported, { depth: null, showHidden: true })).not.toContain('4711')
})

it('an attempt ends at its timeout if its middleware neither calls the handler nor returns', async () => {
  let calls = 0
  const { executor, ends } = await running({
    jobs: [withTimeout('j', 100)],
    middleware: never,
    handler: () => {
      calls += 1
    },
  })
  await pass(5100)
  expect(ends.get('j')).toMatchObject({ kind: 'timeout', error: expect.stringContaining('was abandoned') })
  expect(calls).toBe(0)
  expect(executor.attempts.count()).toBe(0)
})

it('attempts that have ended leave no timers behind', async () => {
  const { executor, ends } = await running({
    jobs: [claimed('a'), claimed('b')],
    handler: () => 'done',
  })
  expect(ends.size).toBe(2)
  await executor.stop(0)
  expect(vi.getTimerCount()).toBe(0)
})
