import { expect, it, onTestFinished, vi } from 'vitest'
import { readBody } from '../../src/http/body.ts'

/** A request whose body has a part and then never ends. */
function endless() {
  const cancelled: unknown[] = []
  let parts = 0
  const body = new ReadableStream<Uint8Array>({
    pull: (controller) => {
      parts += 1
      if (parts === 1) controller.enqueue(new TextEncoder().encode('{"a":'))
      return parts === 1 ? undefined : new Promise(() => undefined)
    },
    cancel: (reason) => void cancelled.push(reason),
  })
  const request = new Request('http://localhost/', { method: 'POST', body, duplex: 'half' })
  return { request, cancelled }
}

const read = (request: Request) => readBody(request, 1000, () => Promise.resolve())

it('a body that does not arrive in time is refused, and the rest of it is not read', async () => {
  const late = new AbortController()
  const timeout = vi.spyOn(AbortSignal, 'timeout').mockReturnValue(late.signal)
  onTestFinished(() => timeout.mockRestore())
  const { request, cancelled } = endless()
  const refused = expect(read(request)).rejects.toMatchObject({ status: 408, code: 'TIMEOUT' })
  late.abort()
  await refused
  expect(timeout).toHaveBeenCalledWith(30_000)
  expect(cancelled).toHaveLength(1)
})

it('a body that is larger than the limit is refused before its end', async () => {
  const { request, cancelled } = endless()
  await expect(readBody(request, 4, () => Promise.resolve())).rejects.toMatchObject({ status: 413 })
  expect(cancelled).toHaveLength(1)
})

it('a body whose connection breaks is refused', async () => {
  const body = new ReadableStream({ start: (controller) => controller.error(new Error('reset')) })
  const request = new Request('http://localhost/', { method: 'POST', body, duplex: 'half' })
  await expect(read(request)).rejects.toMatchObject({ status: 400, code: 'BODY_CUT_SHORT' })
})
