/**
 * Slows guesses of tokens and passwords down: the answer to a failed sign-in waits, for longer with each failure from
 * the same address. While too many wait, only one attempt of that address per second is looked at: guesses stay slow,
 * and a user with the right token still gets in.
 *
 * Bounded: addresses that are remembered, answers that wait for each of them and for all. Other addresses do not wait,
 * nor do credentials that were accepted before: who is signed in stays so while others on the same address guess.
 */
import { createHash } from 'node:crypto'
import { clientKey } from './client-address.ts'

export interface SignInLimits {
  readonly firstDelayMs: number
  readonly longestDelayMs: number
  /** An address without a failure for so long is forgotten. */
  readonly forgetMs: number
  readonly waitingPerAddress: number
  readonly waiting: number
  /** An address whose places are taken may try once in this time. */
  readonly fullIntervalMs: number
  readonly addresses: number
  /** Credentials that are remembered as accepted. */
  readonly accepted: number
}

export const SIGN_IN_LIMITS: SignInLimits = {
  firstDelayMs: 100,
  longestDelayMs: 10_000,
  forgetMs: 900_000,
  waitingPerAddress: 10,
  waiting: 500,
  fullIntervalMs: 1000,
  addresses: 10_000,
  accepted: 1000,
}

interface Failures {
  count: number
  last: number
  /** Attempts that are being looked at, or whose answers wait. */
  waiting: number
  /** When the next attempt may be looked at although all places are taken. */
  nextWhenFull: number
  /** It has sent a token that was accepted beside other credentials, and the token alone was then rejected. */
  distrusted: boolean
}

/** One attempt that may be looked at; exactly one of the three must be called when it is decided. */
export interface Attempt {
  readonly accepted: () => void
  /** @returns when its answer may be given; the delay passes whether or not anyone waits for it */
  readonly rejected: () => Promise<void>
  /** Unknown: the sign-in itself has failed. */
  readonly undecided: () => void
}

/** Names of headers that sign in, those of applications included, such as `x-api-key`. */
const CREDENTIALS = /auth|cookie|token|key|session|secret|password|signature/

/** Names that look like credentials, and change from request to request without signing anybody in. */
const NO_CREDENTIALS = /^sec-|idempotency|csrf|xsrf/

/** Names and values of headers. */
export type Credentials = readonly (readonly [name: string, value: string])[]

/** What a request sends to sign in with; null: nothing, so that refusing it is no failed sign-in. */
export function credentialsOf(headers: Headers): Credentials | null {
  const sent = [...headers].filter(([name]) => CREDENTIALS.test(name) && !NO_CREDENTIALS.test(name))
  return sent.length === 0 ? null : sent
}

export class FailedSignIns {
  readonly #limits: SignInLimits
  /** In the order of their last failures. */
  readonly #failures = new Map<string, Failures>()
  /** Digests; the value says whether the credentials were accepted without any others beside them. */
  readonly #accepted = new Map<string, boolean>()
  readonly #timers = new Set<{ readonly timer: NodeJS.Timeout; readonly end: () => void }>()
  #waiting = 0

  constructor(limits: SignInLimits = SIGN_IN_LIMITS) {
    this.#limits = limits
  }

  /**
   * @param credentials  what was sent to sign in with
   * @returns null when it must not be looked at now
   */
  begin(address: string, credentials: Credentials): Attempt | null {
    const key = clientKey(address)
    const all = digestOf(credentials)
    // The header that is made for it signs in by itself, whatever else changes: cookies, say.
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
    if (takesPlace) this.#enter(before)
    const leave = () => {
      if (takesPlace) this.#leave(before)
      // It was no guess: the next user need not wait for it.
      else if (isLimited) before.nextWhenFull = 0
    }
    return {
      undecided: leave,
      accepted: () => {
        leave()
        const isAlone = credentials.length === 1
        if (credentials.some(([name]) => name === 'authorization'))
          this.#remember(token, isAlone || this.#accepted.get(token) === true)
        this.#remember(all, true)
      },
      rejected: () => {
        if (takesPlace) this.#leave(before)
        const failures = this.#failed(key)
        // Otherwise a caller with an account could send each guess beside it first, and then alone, without a limit.
        if (this.#accepted.get(token) === false) failures.distrusted = true
        this.#accepted.delete(all)
        this.#accepted.delete(token)
        // While an address has no failure, any number of its attempts is looked at at once. Those beyond the limit do
        // not wait, and the next ones are not looked at until the others have waited.
        if (this.#isFull(failures)) return Promise.resolve()
        this.#enter(failures)
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
    const failures = this.#known(key) ?? {
      count: 0,
      last: 0,
      waiting: 0,
      nextWhenFull: 0,
      distrusted: false,
    }
    failures.count += 1
    failures.last = performance.now()
    this.#failures.delete(key)
    this.#failures.set(key, failures)
    for (const oldest of this.#failures.keys()) {
      if (this.#failures.size <= this.#limits.addresses) break
      this.#failures.delete(oldest)
    }
    return failures
  }

  /** The oldest ones go. */
  #remember(digest: string, isAlone: boolean): void {
    this.#accepted.delete(digest)
    this.#accepted.set(digest, isAlone)
    for (const oldest of this.#accepted.keys()) {
      if (this.#accepted.size <= this.#limits.accepted) break
      this.#accepted.delete(oldest)
    }
  }

  #isFull(failures: Failures): boolean {
    return failures.waiting >= this.#limits.waitingPerAddress || this.#waiting >= this.#limits.waiting
  }

  #enter(failures: Failures): void {
    failures.waiting += 1
    this.#waiting += 1
  }

  #leave(failures: Failures): void {
    failures.waiting -= 1
    this.#waiting -= 1
  }

  #delay(failures: Failures): Promise<void> {
    const { firstDelayMs, longestDelayMs } = this.#limits
    // Beyond 2^30 it would no longer be exact, and it is capped long before.
    const ms = Math.min(longestDelayMs, firstDelayMs * 2 ** Math.min(failures.count - 1, 30))
    return new Promise((resolve) => {
      const end = () => {
        this.#timers.delete(waiting)
        this.#leave(failures)
        resolve()
      }
      const waiting = { timer: setTimeout(end, ms).unref(), end }
      this.#timers.add(waiting)
    })
  }
}

/** It tells nothing of what was sent. */
function digestOf(credentials: Credentials): string {
  return createHash('sha256').update(JSON.stringify(credentials)).digest('base64')
}
