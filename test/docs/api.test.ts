/** Runs the commands of docs/api.md against a server and compares the responses with the page. */
import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { createServer } from 'node:http'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, inject, it, onTestFinished } from 'vitest'
import { http, node } from '../../src/http/index.ts'
import { Kalends } from '../../src/index.ts'
import { eachDatabase } from '../support/databases.ts'
import { hasProgram } from '../support/not-tested.ts'
import { blocksOf, root } from './markdown.ts'

const run = promisify(execFile)

const hasCurl = await hasProgram(inject('testRun'), 'The commands of docs/api.md', 'curl')

interface Example {
  readonly command: string
  readonly status: number
  readonly answer: unknown
}

const examples = blocksOf(join(root, 'docs/api.md'), ['curl']).flatMap(({ text }) =>
  [...text.matchAll(/^(curl [^]*?)\n→ (\d{3})(?: (.*))?$/gm)].map(
    ([, command = '', status, answer]): Example => ({
      command,
      status: Number(status),
      answer: answer === undefined ? undefined : expected(JSON.parse(answer)),
    }),
  ),
)

/** `…` stands for any text. */
function expected(value: unknown): unknown {
  if (value === '…') return expect.any(String)
  if (Array.isArray(value)) return value.length === 0 ? [] : expect.arrayContaining(value.map(expected))
  if (typeof value !== 'object' || value === null) return value
  const entries = Object.entries(value).map(
    ([key, item]: [string, unknown]) => [key, expected(item)] as const,
  )
  return entries.length === 0 ? {} : expect.objectContaining(Object.fromEntries(entries))
}

it('there are examples', () => {
  expect(examples.length).toBeGreaterThan(30)
})

eachDatabase(({ fresh }) => {
  it.skipIf(!hasCurl)('the server responds to every command as documented', async () => {
    const database = await fresh()
    onTestFinished(() => database.drop())
    const kalends = await Kalends.open(database.url, { retention: false })
    onTestFinished(() => kalends.stop({ grace: 0 }))
    const handler = http(kalends, { open: 'admin' })
    const server = createServer(node(handler))
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    onTestFinished(() => void server.close())
    const address = server.address()
    const port = typeof address === 'object' ? address?.port : undefined
    // This worker has no handlers, so it runs nothing.
    await kalends.start({ scheduler: false })
    for (const { command, status, answer } of examples) {
      const { stdout } = await run('sh', ['-c', `${command} -w '\\n%{http_code}'`], {
        env: { ...process.env, API: `http://127.0.0.1:${port}` },
      })
      const [, text = '', code] = /^([^]*)\n(\d+)$/.exec(stdout) ?? []
      expect([command, Number(code), text]).toEqual([command, status, expect.any(String)])
      if (answer !== undefined) expect(JSON.parse(text), command).toEqual(answer)
    }
  })
})
