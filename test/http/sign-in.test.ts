/** Failed sign-ins are logged and delayed, without delays for other clients. */
import { afterEach, beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest'
import { FailedSignIns, SIGN_IN_LIMITS } from '../../src/http/failed-sign-ins.ts'
import { bearer, http, type HttpOptions, type RequestContext } from '../../src/http/index.ts'
import { Kalends } from '../../src/index.ts'
import { collectingLogger } from '../kalends/scene.ts'

const TOKEN = 'correct-horse-battery'
const MALLORY = { address: '203.0.113.7' }
const ANN = { address: '198.51.100.9' }

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] })
})
afterEach(() => {
  vi.useRealTimers()
})

async function scene(options: HttpOptions = {}) {
  const kalends = await Kalends.open('sqlite::memory:', { retention: false })
  onTestFinished(() => kalends.stop())
  const { logger, lines } = collectingLogger()
  let looked = 0
  const tokens = bearer({ [TOKEN]: { role: 'read', user: 'rita' }, 'another-good-token': { role: 'read' } })
  const handler = http(kalends, {
    logger,
    authorize: (request, context) => {
      looked += 1
      return tokens(request, context)
    },
    ...options,
  })
  onTestFinished(() => handler.close())
  const send = (
    token: string | null,
    context: RequestContext,
    line = 'GET /api/v1/me',
    others: Record<string, string> = {},
  ) => {
    const [method = '', path = ''] = line.split(' ')
    const headers = new Headers({ ...(token !== null && { authorization: `Bearer ${token}` }), ...others })
    return handler(new Request(`https://app.example${path}`, { method, headers }), context)
  }
  /** The status of the response, or null until it arrives. */
  const outcome = (answer: Promise<Response>) => {
    const seen: { status: number | null } = { status: null }
    const watch = async () => {
      seen.status = (await answer).status
    }
    void watch()
    return seen
  }
  return { send, outcome, lines, looked: () => looked }
}

/** Waits until all work that needs no timer has ended. */
const settled = () => new Promise((resolve) => setImmediate(resolve))

describe('failed sign-ins', () => {
  it('a rejected token is logged with the address but without the token [V4]', async () => {
    const { send, lines } = await scene()
    const answer = send('wrong-horse-battery', MALLORY, 'POST /api/v1/schedules')
    await vi.advanceTimersByTimeAsync(SIGN_IN_LIMITS.longestDelayMs)
    expect((await answer).status).toBe(401)
    expect(lines).toEqual([
      {
        level: 'warn',
        message: 'A sign-in was rejected',
        fields: {
          refused: {
            code: 'NOT_SIGNED_IN',
            method: 'POST',
            operation: 'createSchedule',
            user: undefined,
            address: MALLORY.address,
          },
        },
      },
    ])
    expect(JSON.stringify(lines)).not.toContain('wrong-horse')
  })

  it('the delay of responses to rejected tokens grows with each failure, up to a limit [V4]', async () => {
    const { send, outcome } = await scene()
    for (const ms of [100, 200, 400, 800, 1600, 3200, 6400, 10_000, 10_000]) {
      const seen = outcome(send('wrong', MALLORY))
      await vi.advanceTimersByTimeAsync(ms - 1)
      expect([ms, seen.status]).toEqual([ms, null])
      await vi.advanceTimersByTimeAsync(1)
      expect([ms, seen.status]).toEqual([ms, 401])
    }
    // After a while without failures, the delays start over.
    await vi.advanceTimersByTimeAsync(SIGN_IN_LIMITS.forgetMs)
    const seen = outcome(send('wrong', MALLORY))
    await vi.advanceTimersByTimeAsync(100)
    expect(seen.status).toBe(401)
  })

  it('if an address has no tries left, one token per second is checked, and other addresses are not affected', async () => {
    const { send, looked } = await scene()
    const guess = async () => {
      for (let guess = 0; guess < 100; guess += 1) {
        void send(`guess-${guess}`, MALLORY)
        await settled()
      }
    }
    await guess()
    expect(looked()).toBe(SIGN_IN_LIMITS.tries)
    expect((await send(TOKEN, ANN)).status).toBe(200)
    const late = await send(TOKEN, MALLORY)
    expect([late.status, late.headers.get('retry-after')]).toEqual([429, '1'])
    await vi.advanceTimersByTimeAsync(SIGN_IN_LIMITS.tryMs)
    // An accepted token gives back the try that it used.
    for (let request = 0; request < 3; request += 1) expect((await send(TOKEN, MALLORY)).status).toBe(200)
    const before = looked()
    await guess()
    expect(looked()).toBe(before + 1)
  })

  it('a rejected token on a probe path counts as a failure, but the probe is not delayed', async () => {
    const { send, lines, looked } = await scene()
    for (let guess = 0; guess < 100; guess += 1)
      expect((await send(`guess-${guess}`, MALLORY, 'GET /health')).status).toBe(200)
    expect(looked()).toBe(SIGN_IN_LIMITS.tries)
    expect(lines).toHaveLength(looked())
    expect((await send(TOKEN, MALLORY)).status).toBe(429)
  })

  it('while an address has tries left, a valid token is accepted at once, despite earlier failures', async () => {
    const { send } = await scene()
    for (let request = 0; request < SIGN_IN_LIMITS.tries - 1; request += 1) {
      void send(null, MALLORY, 'GET /api/v1/me', { cookie: 'sid=expired' })
      await settled()
    }
    for (const right of [TOKEN, 'another-good-token']) expect((await send(right, MALLORY)).status).toBe(200)
  })
})

it('a request without credentials gets 401 at once and does not count as a failure', async () => {
  const { send, lines } = await scene()
  for (let request = 0; request < 50; request += 1) expect((await send(null, MALLORY)).status).toBe(401)
  expect(lines).toEqual([])
  expect((await send(TOKEN, MALLORY)).status).toBe(200)
})

it('a request that the role does not permit is logged with the user and the address [V4]', async () => {
  const { send, lines } = await scene()
  expect((await send(TOKEN, ANN, 'POST /api/v1/schedules/s/run')).status).toBe(403)
  expect(lines).toEqual([
    {
      level: 'warn',
      message: 'A request was refused',
      fields: {
        refused: {
          code: 'ROLE_TOO_LOW',
          method: 'POST',
          operation: 'runSchedule',
          user: 'rita',
          address: ANN.address,
        },
      },
    },
  ])
})

it('an error during sign-in is not a failed sign-in', async () => {
  let breaks = true
  const { send } = await scene({
    authorize: () => {
      if (breaks) throw new Error('the session store is unavailable')
      return { role: 'read' }
    },
  })
  for (let request = 0; request < 50; request += 1) expect((await send('x', MALLORY)).status).toBe(500)
  breaks = false
  expect((await send('y', MALLORY)).status).toBe(200)
})

it('headers that do not sign in a user do not count as credentials', async () => {
  const { send, looked } = await scene()
  for (let request = 0; request < 60; request += 1) {
    const headers = { 'idempotency-key': `${request}`, 'x-xsrf-token': 'x' }
    expect((await send(null, MALLORY, 'GET /api/v1/me', headers)).status).toBe(401)
  }
  expect(looked()).toBe(60)
})

describe('bounds', () => {
  const limits = { ...SIGN_IN_LIMITS, delayed: 5, tries: 3, addresses: 3 }
  const rejected = () => Promise.resolve(null)
  const accepted = () => Promise.resolve('rita')
  const tooMany = { code: 'TOO_MANY_SIGN_INS' }

  it('the number of delayed responses is limited; further failures get their response at once but still count', async () => {
    const signIns = new FailedSignIns(limits)
    for (const address of ['10.0.0.1', '10.0.0.2']) {
      for (let failure = 0; failure < 3; failure += 1) void signIns.check(address, rejected, true)
      await settled()
    }
    expect(vi.getTimerCount()).toBe(5)
    for (let failure = 0; failure < 3; failure += 1)
      expect(await signIns.check('10.0.0.3', rejected, true)).toBeNull()
    await expect(signIns.check('10.0.0.3', accepted, true)).rejects.toMatchObject(tooMany)
    expect(await signIns.check('10.0.0.9', accepted, true)).toBe('rita')
    signIns.close()
  })

  it('concurrent attempts from an address with a failure share the remaining tries of the address', async () => {
    const signIns = new FailedSignIns(limits)
    await signIns.check('10.0.0.1', rejected, false)
    const ends: ((error: Error) => void)[] = []
    const slow = () => new Promise<null>((_, reject) => ends.push(reject))
    const checks = [signIns.check('10.0.0.1', slow, false), signIns.check('10.0.0.1', slow, false)]
    await expect(signIns.check('10.0.0.1', accepted, false)).rejects.toMatchObject(tooMany)
    for (const end of ends) end(new Error('the session store is unavailable'))
    await Promise.allSettled(checks)
    expect(await signIns.check('10.0.0.1', accepted, false)).toBe('rita')
  })

  it('the address whose last failure is oldest is forgotten first', async () => {
    const signIns = new FailedSignIns({ ...limits, tries: 1 })
    for (const last of [1, 2, 3, 4]) await signIns.check(`10.0.0.${last}`, rejected, false)
    expect(await signIns.check('10.0.0.1', accepted, false)).toBe('rita')
    await expect(signIns.check('10.0.0.2', accepted, false)).rejects.toMatchObject(tooMany)
  })

  it('close ends all delays', async () => {
    const signIns = new FailedSignIns()
    const waiting = signIns.check('10.0.0.1', rejected, true)
    await settled()
    expect(vi.getTimerCount()).toBe(1)
    signIns.close()
    await waiting
    expect(vi.getTimerCount()).toBe(0)
  })
})
