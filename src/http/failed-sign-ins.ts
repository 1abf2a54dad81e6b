/**
 * Slows down guesses of tokens and passwords. The response to a failed sign-in is delayed, longer with each failure
 * from the same address. While too many responses wait, only one attempt per second from that address is checked. So
 * guesses stay slow, and a user with the right token can still sign in.
 *
 * Limits apply to remembered addresses, and to delayed responses for each address and in total. Other addresses do not
 * wait, and neither do credentials that were accepted before: a signed-in user stays signed in while others at the same
 * address guess.
 */
import { createHash } from 'node:crypto'
import { clientKey } from './client-address.ts'

export const SIGN_IN_LIMITS = {
  firstDelayMs: 100,
  longestDelayMs: 10_000,
  /** An address without a failure for this long is forgotten. */
  forgetMs: 900_000,
  waitingPerAddress: 10,
  waiting: 500,
  /** While an address is at its limit, it may try once in this time. */
  fullIntervalMs: 1000,
  addresses: 10_000,
  /** How many accepted credentials are remembered. */
  accepted: 1000,
}

interface Failures {
  count: number
  last: number
  /** Attempts that are being checked, or whose responses wait. */
  waiting: number
  /** When the next attempt may be checked although the limit is reached. */
  nextWhenFull: number
  /** Whether this address sent an accepted token with other credentials, and the token alone was then rejected. */
  distrusted: boolean
}

/** One attempt that may be checked. Call exactly one of the three with the result. */
export interface Attempt {
  readonly accepted: () => void
  /** @returns when its response may be sent; the delay passes whether or not it is awaited */
  readonly rejected: () => Promise<void>
  /** The check itself has failed. */
  readonly undecided: () => void
}

/** Names of headers that carry credentials, including those of applications, such as `x-api-key`. */
const CREDENTIALS = /auth|cookie|token|key|session|secret|password|signature/

/** Names that look like credentials, but change with each request and authenticate no one. */
const NO_CREDENTIALS = /^sec-|idempotency|csrf|xsrf/

/** Names and values of headers. */
type Credentials = readonly (readonly [name: string, value: string])[]

/** The credentials of a request; null: none, so refusing it is not a failed sign-in. */
export function credentialsOf(headers: Headers): Credentials | null {
  const sent = [...headers].filter(([name]) => CREDENTIALS.test(name) && !NO_CREDENTIALS.test(name))
  return sent.length === 0 ? null : sent
}

export class FailedSignIns {
  readonly #limits: typeof SIGN_IN_LIMITS
  /** Ordered by their last failure. */
  readonly #failures = new Map<string, Failures>()
  /** By digest: whether the credentials were accepted on their own. */
  readonly #accepted = new Map<string, boolean>()
  readonly #timers = new Set<{ readonly timer: NodeJS.Timeout; readonly end: () => void }>()
  #waiting = 0

  constructor(limits = SIGN_IN_LIMITS) {
    this.#limits = limits
  }

  /**
   * @param credentials  the credentials of the request
   * @returns null when the attempt must not be checked now
   */
  begin(address: string, credentials: Credentials): Attempt | null {
    const key = clientKey(address)
    const all = digestOf(credentials)
    // This header is enough to sign in, whatever else changes, such as cookies.
    const token = digestOf(credentials.filter(([name]) => name === 'authorization'))
    const before = this.#known(key)
    const isTrusted =
      this.#accepted.get(all) === true ||
      this.#accepted.get(token) === true ||
      (this.#accepted.has(token) && before?.distrusted !== true)
    const isLimited = before !== null && !isTrusted
    const takesPlace = isLimited && !this.#isFull(before)
    if (isLimited && !takesPlace) {
      if (performance.now() < before.nextWhenFull) return null
      before.nextWhenFull = performance.now() + this.#limits.fullIntervalMs
    }
    if (takesPlace) this.#wait(before, 1)
    const remember = (digest: string, isAlone: boolean) =>
      setLast(this.#accepted, digest, isAlone, this.#limits.accepted)
    const leave = () => {
      if (takesPlace) this.#wait(before, -1)
      // This was not a guess, so the next user does not have to wait.
      else if (isLimited) before.nextWhenFull = 0
    }
    return {
      undecided: leave,
      accepted: () => {
        leave()
        const isAlone = credentials.length === 1
        if (credentials.some(([name]) => name === 'authorization'))
          remember(token, isAlone || this.#accepted.get(token) === true)
        remember(all, true)
      },
      rejected: () => {
        if (takesPlace) this.#wait(before, -1)
        const failures = this.#failed(key)
        // Otherwise, a caller with an account could send each guess first together with its token and then alone,
        // without a limit.
        if (this.#accepted.get(token) === false) failures.distrusted = true
        this.#accepted.delete(all)
        this.#accepted.delete(token)
        // While an address has no failure, any number of its attempts is checked at the same time. Attempts beyond the
        // limit do not wait, and the next ones are not checked until the others have waited.
        if (this.#isFull(failures)) return Promise.resolve()
        this.#wait(failures, 1)
        return this.#delay(failures)
      },
    }
  }

  /** Ends all delays. */
  close(): void {
    for (const { timer, end } of this.#timers) {
      clearTimeout(timer)
      end()
    }
  }

  #known(key: string): Failures | null {
    const failures = this.#failures.get(key)
    if (failures === undefined) return null
    if (failures.waiting > 0 || performance.now() - failures.last < this.#limits.forgetMs) return failures
    this.#failures.delete(key)
    return null
  }

  #failed(key: string): Failures {
    const none = { count: 0, last: 0, waiting: 0, nextWhenFull: 0, distrusted: false }
    const failures = this.#known(key) ?? none
    failures.count += 1
    failures.last = performance.now()
    setLast(this.#failures, key, failures, this.#limits.addresses)
    return failures
  }

  #isFull(failures: Failures): boolean {
    return failures.waiting >= this.#limits.waitingPerAddress || this.#waiting >= this.#limits.waiting
  }

  #wait(failures: Failures, change: 1 | -1): void {
    failures.waiting += change
    this.#waiting += change
  }

  #delay(failures: Failures): Promise<void> {
    const { firstDelayMs, longestDelayMs } = this.#limits
    // Beyond 2^30 this would not be exact, but it is capped long before.
    const ms = Math.min(longestDelayMs, firstDelayMs * 2 ** Math.min(failures.count - 1, 30))
    return new Promise((resolve) => {
      const end = () => {
        this.#timers.delete(waiting)
        this.#wait(failures, -1)
        resolve()
      }
      const waiting = { timer: setTimeout(end, ms).unref(), end }
      this.#timers.add(waiting)
    })
  }
}

/** Adds an entry as the newest, and removes the oldest ones beyond `most`. */
function setLast<Value>(map: Map<string, Value>, key: string, value: Value, most: number): void {
  map.delete(key)
  map.set(key, value)
  for (const oldest of map.keys()) {
    if (map.size <= most) return
    map.delete(oldest)
  }
}

/** A digest, so that nothing reveals what was sent. */
function digestOf(credentials: Credentials): string {
  return createHash('sha256').update(JSON.stringify(credentials)).digest('base64')
}
