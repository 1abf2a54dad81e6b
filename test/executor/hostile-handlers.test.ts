/** A hostile value that a handler throws or returns fails the attempt with a clear error and has no other effect. */
import { inspect } from 'node:util'
import { expect, it, onTestFinished } from 'vitest'
import { task } from '../../src/index.ts'
import { standingClock } from '../kalends/movable-timers.ts'
import { allLogs, collectingLogger, ended, scene, until } from '../kalends/scene.ts'
import { eachDatabase } from '../support/databases.ts'

const no = (): never => {
  throw new Error('no')
}
const revoked = () => {
  const { proxy, revoke } = Proxy.revocable({}, {})
  revoke()
  return proxy
}
/** A proxy that throws on every access. */
const closed = (target: object) =>
  new Proxy(target, { get: no, getPrototypeOf: no, has: no, ownKeys: no, getOwnPropertyDescriptor: no })
const withGetter = (name: 'message' | 'stack' | 'cause' | 'name') =>
  Object.defineProperty(Object.assign(new Error('mine'), { stack: undefined }), name, { get: no })
const circular = () => {
  const first = new Error('first')
  first.cause = new Error('second', { cause: first })
  return first
}

const THROWN: Readonly<Record<string, () => unknown>> = {
  'an Error whose message cannot be read': () => withGetter('message'),
  'an Error whose stack cannot be read': () => withGetter('stack'),
  'an Error whose cause cannot be read': () => withGetter('cause'),
  'an Error whose name cannot be read': () => withGetter('name'),
  'an Error whose message and stack are not strings': () =>
    Object.assign(new Error('x'), { stack: 7, message: Symbol('m') }),
  'a revoked proxy': revoked,
  'a proxy whose traps throw': () => closed(new Error('x')),
  'an Error with a revoked proxy as its cause': () => new Error('mine', { cause: revoked() }),
  'an Error with circular causes': circular,
  'an object that cannot be printed': () => ({ toJSON: no, toString: no, [inspect.custom]: no }),
  'an Error of 40 MB': () => new Error('x'.repeat(40_000_000)),
}

const RETURNED: Readonly<Record<string, () => unknown>> = {
  'a BigInt': () => 10n,
  'a circle': () => {
    const object: Record<string, unknown> = {}
    object['self'] = object
    return object
  },
  'a function': () => no,
  'an object whose toJSON throws a revoked proxy': () => ({
    toJSON: () => {
      throw revoked()
    },
  }),
  'a revoked proxy': revoked,
  'a proxy whose traps throw': () => closed({}),
  '40 MB': () => 'x'.repeat(40_000_000),
}

const LIMIT = 262_144

eachDatabase((under) => {
  it('hostile values that handlers throw or return fail their attempts and have no other effect [L52]', async () => {
    standingClock()
    const { open } = await scene(under)
    const { logger, messages } = collectingLogger()
    const kalends = await open({ logger })
    const unhandled: unknown[] = []
    const note = (error: unknown) => void unhandled.push(error)
    process.on('unhandledRejection', note)
    onTestFinished(() => void process.off('unhandledRejection', note))
    const made = {
      throws: Object.entries(THROWN).map(([name, value]) => ({ name, value })),
      returns: Object.entries(RETURNED).map(([name, value]) => ({ name, value })),
    }
    const find = (kind: 'throws' | 'returns', args: Record<string, unknown>) =>
      made[kind].find(({ name }) => name === args['name'])?.value()
    kalends.handle(task('throws', { retries: 1, retryDelay: '1ms' }), ({ args }) => {
      throw find('throws', args)
    })
    kalends.handle(task('returns', { retries: 0 }), ({ args }) => find('returns', args))
    kalends.handle(task('fine'), () => 'done')
    await kalends.start({ concurrency: 2 })

    const throwing = new Map<string, string>()
    for (const { name } of made.throws) throwing.set(name, await kalends.jobs.submit('throws', { name }))
    for (const [name, id] of throwing) {
      const job = await ended(kalends, id)
      expect(job, name).toMatchObject({ state: 'failed', reason: 'exhausted', attempt: 2 })
      expect(job.error?.trim(), name).toBeTruthy()
      expect(Buffer.byteLength(job.error ?? ''), name).toBeLessThanOrEqual(LIMIT)
    }
    const returning = new Map<string, string>()
    for (const { name } of made.returns) returning.set(name, await kalends.jobs.submit('returns', { name }))
    for (const [name, id] of returning) {
      const job = await ended(kalends, id)
      expect(job, name).toMatchObject({ state: 'failed', result: null, attempt: 1 })
      expect(job.error, name).toBeTruthy()
    }
    const large = await kalends.jobs.get(returning.get('40 MB') ?? '')
    expect(large?.error).toMatch(/result: 40000002 bytes of JSON exceed the limit of 262144/)

    const fine = await kalends.jobs.submit('fine')
    expect(await ended(kalends, fine)).toMatchObject({ state: 'success', result: 'done' })
    // The outcome is in the database before the worker has received the response.
    await until(async () => (kalends.health().unwritten === 0 ? true : null))
    expect(kalends.health()).toMatchObject({ ok: true, running: 0, unwritten: 0, rejected: 0 })
    expect(messages().filter((message) => message.startsWith('error'))).toEqual([])
    expect(unhandled).toEqual([])
  })

  it('long log lines are truncated, and lines beyond the limit are dropped', async () => {
    const { open } = await scene(under)
    const kalends = await open()
    kalends.handle(task('talks'), ({ log }) => {
      log.info('x'.repeat(50_000_000))
      for (let line = 0; line < 100_000; line += 1) log.debug('y')
    })
    kalends.handle(task('shouts'), ({ log }) => {
      for (let line = 0; line < 1000; line += 1) log.debug('z'.repeat(20_000))
    })
    await kalends.start()
    const id = await kalends.jobs.submit('talks')
    expect(await ended(kalends, id)).toMatchObject({ state: 'success' })
    // A job becomes final even if the database is too slow for its lines.
    const lines = await until(async () => {
      const written = await allLogs(kalends, id)
      return written.length > 10_000 ? written : null
    })
    expect(lines[0]?.message).toMatch(/^x+… \(cut, of 50000000 bytes\)$/)
    expect(Buffer.byteLength(lines[0]?.message ?? '')).toBe(16_384)
    expect(lines).toHaveLength(10_001)
    expect(lines.at(-1)).toMatchObject({
      level: 'warn',
      message: 'Further lines of attempt 1 are dropped: it has reached the limit of 10000 lines or 4 MB',
    })
    // 256 lines of 16 KB add up to 4 MB; one more line is the warning.
    const loud = await kalends.jobs.submit('shouts')
    expect(await ended(kalends, loud)).toMatchObject({ state: 'success' })
    await until(async () => ((await kalends.jobs.logs(loud)).length > 256 ? true : null))
    expect(await kalends.jobs.logs(loud)).toHaveLength(257)
  })

  it('results and progress have the same limit as args, and errors are truncated to it [R10]', async () => {
    const { open } = await scene(under)
    const kalends = await open({ argsLimit: 100 })
    kalends.handle(task('returns'), ({ args }) => 'x'.repeat(Number(args['length'])))
    kalends.handle(task('tells', { retries: 0 }), ({ progress }) => progress('x'.repeat(99)))
    kalends.handle(task('throws', { retries: 0 }), () => {
      throw 'ä'.repeat(200)
    })
    await kalends.start()
    const fits = await ended(kalends, await kalends.jobs.submit('returns', { length: 98 }))
    expect(fits).toMatchObject({ state: 'success', result: 'x'.repeat(98) })
    const large = await ended(kalends, await kalends.jobs.submit('returns', { length: 99 }))
    expect(large).toMatchObject({ state: 'failed', reason: 'permanent' })
    expect(large.error).toMatch(/result: 101 bytes of JSON exceed the limit of 100/)
    const told = await ended(kalends, await kalends.jobs.submit('tells'))
    expect(told.error).toContain('InvalidInputError')
    const cut = await ended(kalends, await kalends.jobs.submit('throws'))
    expect(cut.error).toMatch(/^ä+… \(cut, of 400 bytes\)$/)
    expect(Buffer.byteLength(cut.error ?? '')).toBeLessThanOrEqual(100)
  })
})
