/**
 * Slows attempts to guess tokens and passwords. The response to a failed sign-in is delayed, and the delay grows with
 * each failure from the same address; other responses are never delayed. An attempt from an address with failures takes
 * one of the address's 50 tries, and a successful attempt gives it back. Each address regains one try per second; while
 * it has none, its attempts are refused without a check. So, after its 50 tries, an address can guess once per second,
 * and a user with the right token can sign in from the same address within a second of the last guess. Other addresses
 * are not affected.
 */
import { clientKey } from './client-address.ts'
import { Problem } from './problem.ts'

export const SIGN_IN_LIMITS = {
  firstDelayMs: 100,
  longestDelayMs: 10_000,
  /** Maximum number of delayed responses at a time, for all addresses together; any others are immediate. */
  delayed: 500,
  tries: 50,
  /** How long it takes to regain one try. */
  tryMs: 1000,
  forgetMs: 900_000,
  addresses: 10_000,
}

interface Failures {
  count: number
  last: number
  /** The tries that were left at `countedAt`. */
  tries: number
  countedAt: number
}

/** Names of headers that carry credentials, including application headers such as `x-api-key`. */
const CREDENTIALS = /auth|cookie|token|key|session|secret|password|signature/

/** Names that look like credentials, but authenticate no one. */
const NO_CREDENTIALS = /^sec-|idempotency|csrf|xsrf/

/** Whether a request contains credentials. Refusing a request without credentials is not a failed sign-in. */
export function hasCredentials(headers: Headers): boolean {
  return [...headers.keys()].some((name) => CREDENTIALS.test(name) && !NO_CREDENTIALS.test(name))
}

export class FailedSignIns {
  readonly #limits: typeof SIGN_IN_LIMITS
  /** The failures of each client, ordered by the time of the last failure. */
  readonly #failures = new Map<string, Failures>()
  /** Ends each delay. */
  readonly #delays = new Set<() => void>()

  constructor(limits = SIGN_IN_LIMITS) {
    this.#limits = limits
  }

  /**
   * @param check  returns null if the sign-in is rejected
   * @param waits  whether the result of a rejected sign-in is delayed
   * @throws Problem 429 when the address has no tries left
   */
  async check<Found>(
    address: string,
    check: () => Promise<Found | null>,
    waits: boolean,
  ): Promise<Found | null> {
    const key = clientKey(address)
    // While an address has no failures, any number of its attempts can be checked at the same time.
    const { tries } = this.#limits
    const before = this.#known(key) ?? { count: 0, last: 0, tries, countedAt: performance.now() }
    if (before.tries < 1)
      throw new Problem(
        429,
        'TOO_MANY_SIGN_INS',
        'Too many sign-ins from this address have failed; try again in a moment',
        { headers: { 'retry-after': '1' } },
      )
    before.tries -= 1
    const found = await check().finally(() => {
      before.tries += 1
    })
    if (found !== null) return found
    const failures = this.#known(key) ?? before
    failures.count += 1
    failures.last = performance.now()
    failures.tries = Math.max(0, failures.tries - 1)
    this.#remember(key, failures)
    if (waits) await this.#delayAfter(failures)
    return null
  }

  close(): void {
    for (const end of this.#delays) end()
  }

  #known(key: string): Failures | null {
    const { forgetMs, tries, tryMs } = this.#limits
    const failures = this.#failures.get(key)
    const now = performance.now()
    if (failures === undefined || now - failures.last >= forgetMs) return null
    failures.tries = Math.min(tries, failures.tries + (now - failures.countedAt) / tryMs)
    failures.countedAt = now
    return failures
  }

  #remember(key: string, failures: Failures): void {
    this.#failures.delete(key)
    this.#failures.set(key, failures)
    const [oldest = key] = this.#failures.keys()
    if (this.#failures.size > this.#limits.addresses) this.#failures.delete(oldest)
  }

  #delayAfter({ count }: Failures): Promise<void> {
    const { firstDelayMs, longestDelayMs, delayed } = this.#limits
    if (this.#delays.size >= delayed) return Promise.resolve()
    const ms = Math.min(longestDelayMs, firstDelayMs * 2 ** (count - 1))
    return new Promise((resolve) => {
      const end = () => {
        clearTimeout(timer)
        this.#delays.delete(end)
        resolve()
      }
      const timer = setTimeout(end, ms).unref()
      this.#delays.add(end)
    })
  }
}
