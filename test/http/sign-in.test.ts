/** Failed sign-ins are told and slowed down; nobody else waits for them. */
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
  /** Its status once it has answered. */
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

/** What needs no timer is over. */
const settled = () => new Promise((resolve) => setImmediate(resolve))

describe('failed sign-ins', () => {
  it('a rejected token is logged with the address, without the token', async () => {
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

  it('a rejected token gets its response with a longer delay after each failure, up to a limit', async () => {
    const { send, outcome } = await scene()
    for (const ms of [100, 200, 400, 800, 1600, 3200, 6400, 10_000, 10_000]) {
      const seen = outcome(send('wrong', MALLORY))
      await vi.advanceTimersByTimeAsync(ms - 1)
      expect([ms, seen.status]).toEqual([ms, null])
      await vi.advanceTimersByTimeAsync(1)
      expect([ms, seen.status]).toEqual([ms, 401])
    }
    // After a while without a failure it begins again.
    await vi.advanceTimersByTimeAsync(SIGN_IN_LIMITS.forgetMs)
    const seen = outcome(send('wrong', MALLORY))
    await vi.advanceTimersByTimeAsync(100)
    expect(seen.status).toBe(401)
  })

  it('a rejected token from one address delays no other address, and no signed-in user at the same address', async () => {
    const { send, looked } = await scene()
    expect((await send(TOKEN, MALLORY)).status).toBe(200)
    for (let guess = 0; guess < 50; guess += 1) {
      void send(`guess-${guess}`, MALLORY)
      await settled()
    }
    // One that found no failure, as many as may wait, and one more in this second.
    expect(looked()).toBe(1 + SIGN_IN_LIMITS.waitingPerAddress + 1)
    expect((await send(TOKEN, ANN)).status).toBe(200)
    expect((await send(TOKEN, MALLORY)).status).toBe(200)
    const late = await send('another-good-token', MALLORY)
    expect([late.status, late.headers.get('retry-after')]).toEqual([429, '10'])
    await vi.advanceTimersByTimeAsync(SIGN_IN_LIMITS.longestDelayMs)
    expect((await send('another-good-token', MALLORY)).status).toBe(200)
  })

  it('a rejected token on a probe path counts, but the probe is not delayed', async () => {
    const { send, lines, looked } = await scene()
    for (let guess = 0; guess < 50; guess += 1)
      expect((await send(`guess-${guess}`, MALLORY, 'GET /health')).status).toBe(200)
    expect(looked()).toBe(SIGN_IN_LIMITS.waitingPerAddress + 1)
    expect(lines).toHaveLength(looked())
    expect((await send('another-good-token', MALLORY)).status).toBe(429)
  })
})

it('a request without credentials gets 401 at once, and is not a failure', async () => {
  const { send, lines } = await scene()
  for (let request = 0; request < 50; request += 1) expect((await send(null, MALLORY)).status).toBe(401)
  expect(lines).toEqual([])
  expect((await send(TOKEN, MALLORY)).status).toBe(200)
})

it('an operation that a user lacks the permission for is logged with user and address', async () => {
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
      if (breaks) throw new Error('the session store is away')
      return { role: 'read' }
    },
  })
  for (let request = 0; request < 50; request += 1) expect((await send('x', MALLORY)).status).toBe(500)
  breaks = false
  expect((await send('y', MALLORY)).status).toBe(200)
})

describe('users on the address of failed sign-ins', () => {
  const STALE = { cookie: '_ga=1; sid=expired' }
  const requests = async (options: HttpOptions = {}) => {
    const { send, looked } = await scene(options)
    const sendHeaders = (headers: Record<string, string>) => send(null, MALLORY, 'GET /api/v1/me', headers)
    /** All places are taken, and the attempt of this second is not. */
    const fill = async () => {
      for (let request = 0; request < SIGN_IN_LIMITS.waitingPerAddress; request += 1) {
        void sendHeaders(STALE)
        await settled()
      }
    }
    return { sendHeaders, fill, looked }
  }

  it('sign in with the right token after ten requests with an expired cookie', async () => {
    const { sendHeaders, fill } = await requests()
    await fill()
    for (const right of [TOKEN, 'another-good-token'])
      expect((await sendHeaders({ authorization: `Bearer ${right}` })).status).toBe(200)
  })

  it('sign in while all places are in use: one attempt per second is checked', async () => {
    const { sendHeaders, fill, looked } = await requests()
    for (let round = 0; round < 10; round += 1) {
      await fill()
      await vi.advanceTimersByTimeAsync(0)
    }
    const before = looked()
    for (let second = 0; second < 3; second += 1) {
      await vi.advanceTimersByTimeAsync(SIGN_IN_LIMITS.fullIntervalMs)
      await fill()
      await fill()
    }
    // The places that became free in these seconds, and one more in each of them.
    expect(looked() - before).toBeLessThanOrEqual(3 + SIGN_IN_LIMITS.waitingPerAddress)
    await vi.advanceTimersByTimeAsync(SIGN_IN_LIMITS.fullIntervalMs)
    expect((await sendHeaders({ authorization: `Bearer ${TOKEN}` })).status).toBe(200)
  })

  it.each([{ 'idempotency-key': 'abc' }, { 'x-csrf-token': 'abc' }, { cookie: '_ga=2' }])(
    'stay signed in when other headers change: %j',
    async (other) => {
      const { sendHeaders, fill } = await requests()
      const authorization = `Bearer ${TOKEN}`
      expect((await sendHeaders({ authorization, cookie: '_ga=1' })).status).toBe(200)
      await fill()
      // Takes the attempt of this second.
      void sendHeaders({ authorization: 'Bearer guess' })
      await settled()
      expect((await sendHeaders({ authorization: 'Bearer guess' })).status).toBe(429)
      expect((await sendHeaders({ authorization, ...other })).status).toBe(200)
    },
  )

  it('are not asked to sign in because of headers that sign in no user', async () => {
    const { sendHeaders, looked } = await requests()
    for (let request = 0; request < 20; request += 1)
      expect((await sendHeaders({ 'idempotency-key': `${request}`, 'x-xsrf-token': 'x' })).status).toBe(401)
    expect(looked()).toBe(20)
  })

  it('cannot guess tokens by sending each with their own valid session first', async () => {
    let guesses = 0
    const { sendHeaders } = await requests({
      authorize: (request) => {
        if (request.headers.get('cookie') === 'sid=own') return { role: 'read' }
        guesses += 1
        return null
      },
    })
    for (let guess = 0; guess < 50; guess += 1) {
      const authorization = `Bearer guess-${guess}`
      expect((await sendHeaders({ authorization, cookie: 'sid=own' })).status).not.toBe(401)
      void sendHeaders({ authorization })
      await settled()
    }
    expect(guesses).toBeLessThanOrEqual(SIGN_IN_LIMITS.waitingPerAddress + 2)
  })
})

describe('bounds', () => {
  const limits = { ...SIGN_IN_LIMITS, waiting: 5, waitingPerAddress: 2, addresses: 3, accepted: 2 }
  const token = (value: string) => [['authorization', value]] as const
  /** An attempt that may be made although all places are taken. */
  const useUp = (signIns: FailedSignIns, address: string) =>
    expect(signIns.begin(address, token('once'))).not.toBeNull()
  const fail = (signIns: FailedSignIns, address: string) =>
    signIns.begin(address, token(`${address} ${Math.random()}`))?.rejected()

  it('a limited number of responses wait, and a new address is still checked', async () => {
    const signIns = new FailedSignIns(limits)
    for (const address of ['10.0.0.1', '10.0.0.2', '10.0.0.3']) {
      void fail(signIns, address)
      void fail(signIns, address)
    }
    expect(vi.getTimerCount()).toBe(5)
    // Its second failure took the attempt of this second.
    expect(signIns.begin('10.0.0.3', token('x'))).toBeNull()
    expect(signIns.begin('10.0.0.9', token('x'))).not.toBeNull()
    await vi.advanceTimersByTimeAsync(limits.longestDelayMs)
    expect(signIns.begin('10.0.0.3', token('x'))).not.toBeNull()
    signIns.close()
  })

  it('many concurrent attempts use only the places of one address', () => {
    const signIns = new FailedSignIns(limits)
    void fail(signIns, '10.0.0.1')
    const first = signIns.begin('10.0.0.1', token('a'))
    expect(first).not.toBeNull()
    useUp(signIns, '10.0.0.1')
    expect(signIns.begin('10.0.0.1', token('b'))).toBeNull()
    first?.undecided()
    expect(signIns.begin('10.0.0.1', token('b'))).not.toBeNull()
    signIns.close()
  })

  it('the oldest address is forgotten first, and so are accepted credentials', async () => {
    const signIns = new FailedSignIns({ ...limits, waiting: 100, waitingPerAddress: 1 })
    for (const address of ['10.0.0.1', '10.0.0.2', '10.0.0.3', '10.0.0.4']) void fail(signIns, address)
    expect(signIns.begin('10.0.0.1', token('x'))).not.toBeNull()
    useUp(signIns, '10.0.0.2')
    expect(signIns.begin('10.0.0.2', token('x'))).toBeNull()
    for (const credentials of ['a', 'b', 'c']) signIns.begin('10.0.0.9', token(credentials))?.accepted()
    expect(
      ['a', 'b', 'c'].map((credentials) => signIns.begin('10.0.0.2', token(credentials)) !== null),
    ).toEqual([false, true, true])
    signIns.close()
  })

  it('close ends all delays', async () => {
    const signIns = new FailedSignIns()
    const waiting = fail(signIns, '10.0.0.1')
    expect(vi.getTimerCount()).toBe(1)
    signIns.close()
    await waiting
    expect(vi.getTimerCount()).toBe(0)
  })
})
