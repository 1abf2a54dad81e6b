/**
 * One caller sends the largest bodies of every shape to every operation that reads one: what is the longest time that
 * the event loop is blocked? Then eight connections send them at once, beside a schedule per second: how late are its
 * runs?
 */
import { setTimeout as pause } from 'node:timers/promises'
import { Kalends, task } from 'kalends'
import { http } from 'kalends/http'
import { z } from 'zod'
import { program } from './program.ts'

const params = z.object({ redact: z.array(z.string()), calls: z.number(), seconds: z.number() })

/** The default `bodyLimit`, less the rest of the body. */
const BYTES = 1_000_000 - 300
/** Below the limit of values in a body. */
const VALUES = 19_900
const LEVELS = 60

const nested = (levels: number, inner: string): string =>
  `${'{"a":'.repeat(levels)}${inner}${'}'.repeat(levels)}`
const list = (items: number, item: (index: number) => string) =>
  `[${Array.from({ length: items }, (_, index) => item(index)).join(',')}]`

/** JSON values, each of about the largest size that one of the limits allows, and one beyond. */
const SHAPES: Readonly<Record<string, string>> = {
  numbers: list(VALUES, (index) => String(1_000_000_000_000 + index)),
  'more numbers than a body may have': list(140_000, () => '12345'),
  'a long string': JSON.stringify('x'.repeat(BYTES - 2)),
  'escaped characters': `"${String.raw`\u0001`.repeat(Math.floor(BYTES / 6) - 1)}"`,
  'characters of three bytes': JSON.stringify('€'.repeat(Math.floor(BYTES / 3) - 1)),
  properties: `{${Array.from({ length: VALUES }, (_, index) => `"k${index}":${index}`).join(',')}}`,
  'long property names': `{${Array.from({ length: 1000 }, (_, index) => `"${'k'.repeat(980)}${index}":1`).join(',')}}`,
  'short strings': list(VALUES, (index) => `"text ${index}"`),
  'nested lists': list(Math.floor(VALUES / LEVELS) - 1, () => nested(LEVELS - 4, '1')),
  'as many levels as can be stored': list(1000, () => nested(28, '1')),
  'as large as can be stored': list(VALUES, (index) => `"${index} 56"`),
  'a long secret': `{"pin":"${'1234567 '.repeat(8000)}"}`,
  'many secrets': list(2300, (index) => `{"pin":"secret ${index}"}`),
}

const documentSchema = z.object({
  paths: z.record(z.string(), z.record(z.string(), z.object({ requestBody: z.unknown().optional() }))),
  components: z.object({
    schemas: z.record(
      z.string(),
      z.object({
        required: z.array(z.string()).default([]),
        properties: z.record(z.string(), z.unknown()).default({}),
      }),
    ),
  }),
})
const REQUIRED: Readonly<Record<string, unknown>> = {
  // The schedule must be on time, not the jobs of the bodies.
  task: 'other',
  timer: 'yearly',
  until: '2100-01-01T00:00:00Z',
}
const TAKES_MOST = ['args', 'ids', 'reason', 'unknown']

await program(params, async ({ redact, calls, seconds }) => {
  await using kalends = await Kalends.open('sqlite::memory:', { redact, retention: false, logger: false })
  const late: number[] = []
  kalends.handle(task('tick'), ({ slot }) => {
    if (slot !== null) late.push(Date.now() - slot.getTime())
  })
  kalends.handle(task('other'), () => {})
  await kalends.schedules.create({ id: 'stored', task: 'other', timer: 'yearly', args: { a: ['stored'] } })
  const answer = http(kalends, { open: 'admin' })
  const bodies = (await operationsWithBody(answer)).flatMap(({ method, path, start }) =>
    Object.entries(SHAPES).flatMap(([shape, json]) => [
      { method, path, shape, body: `${start}{"a":${json}}}` },
      // As the value itself, which most fields refuse.
      { method, path, shape: `${shape} as the value`, body: `${start}${json}}` },
    ]),
  )
  const [first] = bodies
  if (first === undefined) throw new Error('No operation reads a body')
  const blocks: { work: string; ms: number; status: number }[] = []
  for (const { method, path, shape, body } of bodies) {
    const times: number[] = []
    let status = 0
    for (let call = 0; call < calls; call += 1) {
      const blocked = watchBlocks()
      status = await send(answer, method, path, body)
      times.push(blocked())
    }
    // The shortest: a pause for garbage of an earlier body is not this body's.
    blocks.push({ work: `${method} ${path}, ${shape}`, ms: Math.min(...times), status })
  }
  await kalends.schedules.create({
    id: 'each',
    task: 'tick',
    timer: '*:*:*',
    overlap: 'allow',
    catchUp: 1000,
  })
  await kalends.start()
  const end = performance.now() + seconds * 1000
  const connections = Array.from({ length: 8 }, async (_, index) => {
    for (let sent = index; performance.now() < end; sent += 1) {
      const { method, path, body } = bodies[sent % bodies.length] ?? first
      await send(answer, method, path, body)
    }
  })
  await Promise.all(connections)
  return { blocks, late }
})

interface BodyOperation {
  readonly method: string
  readonly path: string
  /** The start of a body, up to the value of the field that takes the most. */
  readonly start: string
}

type Answer = (request: Request) => Promise<Response>

/** The operations of the OpenAPI document that read a body. */
async function operationsWithBody(answer: Answer): Promise<BodyOperation[]> {
  const response = await answer(new Request('http://localhost/api/v1/openapi.json'))
  const { paths, components } = documentSchema.parse(await response.json())
  return Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).flatMap(([method, { requestBody }]) => {
      const name = /schemas\/(\w+)"/.exec(JSON.stringify(requestBody) ?? '')?.[1]
      if (name === undefined) return []
      const { required = [], properties = {} } = components.schemas[name] ?? {}
      const given = required.filter((field) => field in REQUIRED).map((field) => [field, REQUIRED[field]])
      const most = TAKES_MOST.find((field) => field in properties) ?? 'unknown'
      const start = `${JSON.stringify(Object.fromEntries(given)).slice(0, -1)}${given.length === 0 ? '' : ','}"${most}":`
      return [{ method: method.toUpperCase(), path: path.replace('{id}', 'stored'), start }]
    }),
  )
}

async function send(answer: Answer, method: string, path: string, body: string): Promise<number> {
  const headers = { 'content-type': 'application/json', origin: 'http://localhost' }
  const response = await answer(new Request(`http://localhost${path}`, { method, body, headers }))
  await response.text()
  await pause(0)
  return response.status
}

/** @returns ends the watch, and returns the longest time in ms between two turns of the event loop */
function watchBlocks() {
  let longest = 0
  let turned = performance.now()
  let isOver = false
  const turn = () => {
    const now = performance.now()
    longest = Math.max(longest, now - turned)
    turned = now
    if (!isOver) setImmediate(turn)
  }
  setImmediate(turn)
  return () => {
    isOver = true
    return Math.max(longest, performance.now() - turned)
  }
}
