import { expect, it, onTestFinished, vi } from 'vitest'
import { readBody } from '../../src/http/body.ts'

/** A request whose body yields one part and never ends. @param cancel  called when the reader cancels the body */
function endless(cancel: () => Promise<void> = () => Promise.resolve()): Request {
  let parts = 0
  const body = new ReadableStream<Uint8Array>({
    pull: (controller) => {
      parts += 1
      if (parts === 1) controller.enqueue(new TextEncoder().encode('{"a":'))
      return parts === 1 ? undefined : new Promise(() => undefined)
    },
    cancel,
  })
  return new Request('http://localhost/', { method: 'POST', body, duplex: 'half' })
}

const read = (request: Request, limit = 1000) => readBody(request, limit, () => Promise.resolve())

const cancels: [string, () => Promise<void>][] = [
  ['ends at once', () => Promise.resolve()],
  ['never ends, as in a request that was cloned', () => new Promise(() => undefined)],
  ['fails', () => Promise.reject(new Error('gone'))],
]

it.each(cancels)(
  'a body that does not arrive in time is rejected (the cancellation of its source %s)',
  async (_, ends) => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    onTestFinished(() => void vi.useRealTimers())
    const cancel = vi.fn(ends)
    const rejected = expect(read(endless(cancel))).rejects.toMatchObject({ status: 408, code: 'TIMEOUT' })
    await vi.advanceTimersByTimeAsync(29_999)
    expect(cancel).not.toHaveBeenCalled()
    await vi.advanceTimersByTimeAsync(1)
    await rejected
    expect(cancel).toHaveBeenCalledOnce()
  },
)

it.each(cancels)(
  'a body that is too large is rejected before its end (the cancellation of its source %s)',
  async (_, ends) => {
    const cancel = vi.fn(ends)
    await expect(read(endless(cancel), 4)).rejects.toMatchObject({ status: 413, code: 'BODY_TOO_LARGE' })
    expect(cancel).toHaveBeenCalledOnce()
  },
)

it('a body whose connection breaks is rejected', async () => {
  const body = new ReadableStream({ start: (controller) => controller.error(new Error('reset')) })
  const request = new Request('http://localhost/', { method: 'POST', body, duplex: 'half' })
  await expect(read(request)).rejects.toMatchObject({ status: 400, code: 'BODY_CUT_SHORT' })
})

it('a body that the application has already read is rejected as a mistake in the application', async () => {
  const request = new Request('http://localhost/', { method: 'POST', body: '{}' })
  await request.text()
  await expect(read(request)).rejects.toThrow(TypeError)
})
