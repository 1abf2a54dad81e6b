/** Large bodies: how often the values of a body are read before it is refused or stored. */
import { expect, it, onTestFinished, vi } from 'vitest'
import { task } from '../../src/index.ts'
import { eachDatabase } from '../support/databases.ts'
import { apiScene } from './scene.ts'

const VALUES = 19_900
/** Storing a value reads it up to 32 times, most of them in JSON.stringify, and with `redact` for the response. */
const READS_PER_VALUE = 32

const list = <Item>(item: (index: number) => Item): Item[] =>
  Array.from({ length: VALUES }, (_, index) => item(index))
const SHAPES: Readonly<Record<string, unknown>> = {
  'numbers, more bytes than args may have': list((index) => 1_000_000_000_000 + index),
  numbers: list((index) => index),
  properties: Object.fromEntries(list((index) => [`k${index}`, index])),
  'small objects': list(() => ({})),
  secrets: list((index) => ({ pin: `pin ${index}` })).slice(0, VALUES / 2),
}

eachDatabase((under) => {
  it.each(Object.keys(SHAPES).flatMap((shape) => [[shape, []] as const, [shape, ['args.a.*.pin']] as const]))(
    'each of many values of a body is read only a few times: %s, redact %j',
    async (shape, redact) => {
      const { call, kalends } = await apiScene(under, {}, { redact })
      kalends.handle(task('mail'), () => {})
      const counts = countReads()
      const args = { a: SHAPES[shape] }
      for (const line of [
        'POST /api/v1/schedules',
        'PUT /api/v1/schedules/mine',
        'PATCH /api/v1/schedules/mine',
      ]) {
        counts.reset()
        const { status } = await call(line, { body: { task: 'mail', timer: 'daily', args } })
        expect([line, status]).toEqual([line, expect.toBeOneOf([200, 201, 404, 422])])
        expect(counts.reads / VALUES, line).toBeLessThanOrEqual(READS_PER_VALUE)
      }
      counts.reset()
      const job = await call('POST /api/v1/jobs', { body: { task: 'mail', args } })
      expect(job.status).toBeOneOf([201, 422])
      expect(counts.reads / VALUES).toBeLessThanOrEqual(READS_PER_VALUE)
    },
  )

  it('probes and short answers do not wait for the bodies of other callers', async () => {
    const { call, kalends } = await apiScene(under)
    kalends.handle(task('mail'), () => {})
    const ended: string[] = []
    const send = async (line: string, body?: unknown) => {
      const { status } = await call(line, { body })
      ended.push(`${line} ${status}`)
    }
    const large = { task: 'mail', args: { a: list((index) => index).slice(0, 9000) } }
    const others = ['GET /health/live', 'GET /health', 'GET /api/v1/jobs?limit=10']
    const bodies = Array.from({ length: 20 }, () => send('POST /api/v1/jobs', large))
    // All of them wait now.
    await Promise.race(bodies)
    await Promise.all([...bodies, ...others.map((line) => send(line))])
    expect(ended).toHaveLength(23)
    expect(ended.slice(0, 10)).toEqual(expect.arrayContaining(others.map((line) => `${line} 200`)))
  })
})

/** Counts how often a property of a body, or of a part of it, is read. */
function countReads() {
  const counts = { reads: 0, reset: () => void (counts.reads = 0) }
  const parse = JSON.parse
  const counted = (value: unknown): unknown =>
    typeof value === 'object' && value !== null
      ? new Proxy(value, {
          get: (target, name, receiver) => {
            counts.reads += 1
            return counted(Reflect.get(target, name, receiver))
          },
        })
      : value
  vi.spyOn(JSON, 'parse').mockImplementation((text, reviver) => counted(parse(text, reviver)))
  onTestFinished(() => void vi.restoreAllMocks())
  return counts
}
