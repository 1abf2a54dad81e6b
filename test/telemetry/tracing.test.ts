/** Spans for attempts, and middleware. */
import { AsyncLocalStorage } from 'node:async_hooks'
import {
  type Context,
  context,
  type ContextManager,
  ROOT_CONTEXT,
  SpanKind,
  SpanStatusCode,
  trace,
} from '@opentelemetry/api'
import { BasicTracerProvider, InMemorySpanExporter, SimpleSpanProcessor } from '@opentelemetry/sdk-trace-base'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { type Middleware, PermanentError, task } from '../../src/index.ts'
import { tracing } from '../../src/telemetry/opentelemetry.ts'
import { claimed } from '../executor/claimed.ts'
import { ended, scene, signal } from '../kalends/scene.ts'
import { eachDatabase } from '../support/databases.ts'

const work = task('work', { retries: 1, retryDelay: 1 })

/** A context manager like that of @opentelemetry/context-async-hooks. */
class AsyncContexts implements ContextManager {
  readonly #storage = new AsyncLocalStorage<Context>()
  active(): Context {
    return this.#storage.getStore() ?? ROOT_CONTEXT
  }
  with<A extends unknown[], F extends (...args: A) => ReturnType<F>>(
    active: Context,
    fn: F,
    self?: ThisParameterType<F>,
    ...args: A
  ): ReturnType<F> {
    return this.#storage.run(active, () => fn.call(self, ...args))
  }
  bind<T>(_: Context, target: T): T {
    return target
  }
  enable(): this {
    return this
  }
  disable(): this {
    this.#storage.disable()
    return this
  }
}

beforeAll(() => void context.setGlobalContextManager(new AsyncContexts()))
afterAll(() => context.disable())

const unreadable = (): never => {
  throw new Error('unreadable')
}

function recorded() {
  const exporter = new InMemorySpanExporter()
  const provider = new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] })
  return { provider, spans: () => exporter.getFinishedSpans() }
}

it.each([
  [
    'whose message cannot be read',
    () => Object.defineProperty(new Error('x'), 'message', { get: unreadable }),
  ],
  [
    'that is a proxy and throws on every access',
    () => new Proxy({}, { get: unreadable, getPrototypeOf: unreadable }),
  ],
])('an error %s is rethrown unchanged, and the span of the attempt ends as failed', async (_, make) => {
  const { provider, spans } = recorded()
  const thrown: unknown = make()
  const caught = await tracing({ provider })(claimed('j'), () => Promise.reject(thrown)).catch(
    (error: unknown) => ({ error }),
  )
  expect(caught).toSatisfy((value: { error: unknown }) => value.error === thrown)
  expect(spans()).toMatchObject([{ status: { code: SpanStatusCode.ERROR }, events: [{ name: 'exception' }] }])
})

eachDatabase((under) => {
  it("each attempt has one span, which contains the handler's spans and, if the attempt failed, its error", async () => {
    const { open } = await scene(under)
    const { provider, spans } = recorded()
    const kalends = await open({ middleware: tracing({ provider }) })
    kalends.handle(work, async ({ attempt }) => {
      await new Promise((resolve) => setImmediate(resolve))
      provider.getTracer('app').startSpan('query').end()
      expect(trace.getActiveSpan()).toBeDefined()
      if (attempt === 1) throw new TypeError('the first fails')
      return 'done'
    })
    await kalends.start()
    const id = await kalends.jobs.submit(work)
    expect(await ended(kalends, id)).toMatchObject({ state: 'success', result: 'done' })

    const [query1, run1, query2, run2, ...more] = spans()
    expect(more).toEqual([])
    expect(run1).toMatchObject({
      name: 'run work',
      kind: SpanKind.CONSUMER,
      status: { code: SpanStatusCode.ERROR, message: 'the first fails' },
      events: [{ name: 'exception', attributes: { 'exception.type': 'TypeError' } }],
      attributes: {
        'messaging.system': 'kalends',
        'messaging.destination.name': 'work',
        'messaging.message.id': id,
        'kalends.attempt': 1,
      },
    })
    expect(run1?.attributes).not.toHaveProperty('kalends.schedule')
    expect(run2).toMatchObject({
      status: { code: SpanStatusCode.UNSET },
      attributes: { 'kalends.attempt': 2 },
    })
    for (const [query, run] of [
      [query1, run1],
      [query2, run2],
    ]) {
      expect(query?.name).toBe('query')
      expect(query?.parentSpanContext?.spanId).toBe(run?.spanContext().spanId)
      expect(query?.spanContext().traceId).toBe(run?.spanContext().traceId)
    }
  })

  it("the span of a schedule's run has the schedule's id and the slot; if the run is cancelled, the span reports this as its error", async () => {
    const { open } = await scene(under)
    const { provider, spans } = recorded()
    const kalends = await open({ middleware: tracing({ provider }) })
    kalends.handle(work, async ({ signal: stop }) => {
      await new Promise((resolve) => stop.addEventListener('abort', resolve))
      return 'as if nothing had been'
    })
    await kalends.start()
    const started = signal(kalends, 'started')
    await kalends.schedules.create({ id: 's', task: work, timer: 'yearly', firstRun: 'now' })
    const { id, slot } = await started
    await kalends.jobs.cancel(id)
    expect(await ended(kalends, id)).toMatchObject({ state: 'cancelled', result: null })
    expect(spans()).toMatchObject([
      {
        attributes: { 'kalends.schedule': 's', 'kalends.slot': slot?.toISOString() },
        status: { code: SpanStatusCode.ERROR, message: 'The job was cancelled' },
      },
    ])
  })

  it.each<[string, Middleware, RegExp]>([
    [
      'throws before the handler runs',
      () => {
        throw new Error('before')
      },
      /before/,
    ],
    [
      'throws after the handler has run',
      async (_, run) => {
        await run()
        throw new Error('after')
      },
      /after/,
    ],
    ['does not call the handler', async () => 'nothing', /did not call the function/],
  ])('the attempt fails if `middleware` %s', async (_, middleware, text) => {
    const { open } = await scene(under)
    const kalends = await open({ middleware })
    kalends.handle(work, () => 'done')
    await kalends.start()
    const job = await ended(kalends, await kalends.jobs.submit(work, {}, { retries: 0 }))
    expect(job).toMatchObject({ state: 'failed', result: null })
    expect(job.error).toMatch(text)
  })

  it("the result of `middleware` is the job's result; the handler runs once and is awaited, even if `middleware` calls it twice", async () => {
    const { open } = await scene(under)
    let ran = 0
    let over = false
    const kalends = await open({
      middleware: async (job, run) => {
        void run().catch(() => undefined)
        void run().catch(() => undefined)
        return `wrapped ${job.task}`
      },
    })
    kalends.handle(work, async () => {
      ran += 1
      await new Promise((resolve) => setTimeout(resolve, 30))
      over = true
    })
    await kalends.start()
    const job = await ended(kalends, await kalends.jobs.submit(work))
    expect(job).toMatchObject({ state: 'success', result: 'wrapped work' })
    expect([ran, over]).toEqual([1, true])
  })

  it('the first of several middleware functions is the outermost, and each can change the result', async () => {
    const { open } = await scene(under)
    const order: string[] = []
    const named = (name: string) => async (_: unknown, run: () => Promise<unknown>) => {
      order.push(`${name} begins`)
      const result = await run()
      order.push(`${name} ends`)
      return `${name}(${String(result)})`
    }
    const kalends = await open({ middleware: [named('outer'), named('inner')] })
    kalends.handle(work, () => 'done')
    await kalends.start()
    const job = await ended(kalends, await kalends.jobs.submit(work))
    expect(job).toMatchObject({ state: 'success', result: 'outer(inner(done))' })
    expect(order).toEqual(['outer begins', 'inner begins', 'inner ends', 'outer ends'])
  })

  it('a PermanentError that passes through `middleware` is still permanent', async () => {
    const { open } = await scene(under)
    const kalends = await open({ middleware: (_, run) => run() })
    kalends.handle(work, () => {
      throw new PermanentError('never')
    })
    await kalends.start()
    expect(await ended(kalends, await kalends.jobs.submit(work))).toMatchObject({
      state: 'failed',
      reason: 'permanent',
      attempt: 1,
    })
  })
})
