import { setTimeout as sleep } from 'node:timers/promises'
import { WaitTimeoutError } from '../errors.ts'
import { checkKeys } from '../keys.ts'
import { checkedSignal, spanOption } from '../model/input.ts'
import { type Job } from '../model/job.ts'
import { isFinal } from '../model/states.ts'

/** Options for `wait`. */
export interface WaitOptions {
  /** Maximum time to wait: milliseconds or a time span; default: no limit. */
  readonly timeout?: number | string | undefined
  readonly signal?: AbortSignal | undefined
}

const ANY_SPAN = { least: 0, most: 2 ** 31 - 1 }

/**
 * Reads the job until it is final.
 *
 * @param onEnd  subscribes to attempts that end in this process; returns a function that ends the subscription
 * @throws WaitTimeoutError, InvalidInputError, and the signal's abort reason
 */
export async function untilFinal(
  read: () => Promise<Job>,
  onEnd: (ended: () => void) => () => void,
  pollIntervalMs: number,
  options: WaitOptions,
): Promise<Job> {
  checkKeys(options, ['timeout', 'signal'])
  const { timeout, signal } = options
  checkedSignal(signal)
  const timeoutMs = spanOption('timeout', timeout, Infinity, ANY_SPAN)
  const deadline = performance.now() + timeoutMs
  let awake = new AbortController()
  const wake = () => awake.abort()
  const forget = onEnd(wake)
  signal?.addEventListener('abort', wake)
  try {
    for (;;) {
      // Created before the read, so that an attempt that ends between the read and the sleep also ends the sleep.
      awake = new AbortController()
      const job = await read()
      if (isFinal(job.state)) return job
      signal?.throwIfAborted()
      const leftMs = deadline - performance.now()
      if (leftMs <= 0)
        throw new WaitTimeoutError(`The job ${job.id} is still ${job.state} after ${timeoutMs} ms`)
      await sleep(Math.min(leftMs, pollIntervalMs), undefined, { signal: awake.signal }).catch(
        () => undefined,
      )
    }
  } finally {
    forget()
    signal?.removeEventListener('abort', wake)
  }
}
