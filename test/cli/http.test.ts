import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { root, run, start, temporaryFolder } from './program.ts'

const CLI = 'dist/cli/main.js'
const TOKEN = 'a-token-that-nobody-guesses'

async function serving(args: readonly string[], env: Record<string, string> = {}) {
  const worker = start(CLI, ['start', '--http', ...args], { cwd: await temporaryFolder(), env })
  const [, url = ''] = /url=(\S+)/.exec(await worker.until(/The REST API is served url=\S+/)) ?? []
  return { worker, url }
}

describe('kalends start --http', () => {
  test('serves the API on this machine, and SIGTERM ends it although somebody listens', async () => {
    const { worker, url } = await serving(['127.0.0.1:0'])
    const made = await fetch(`${url}api/v1/schedules`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ task: 'mail', timer: 'daily' }),
    })
    expect(made.status).toBe(201)
    const events = await fetch(`${url}api/v1/events`)
    expect(events.status).toBe(200)
    const health = await fetch(`${url}health`)
    expect(await health.json()).toMatchObject({ ok: true, worker: expect.any(String) })
    worker.child.kill('SIGTERM')
    const { code, stdout } = await worker.ended
    expect(code).toBe(0)
    expect(stdout).toMatch(/Written through the API audit=.*"action":"createSchedule"/)
    await events.body?.cancel().catch(() => undefined)
  })

  test('with a token nobody else comes in', async () => {
    const { worker, url } = await serving(['0.0.0.0:0'], { KALENDS_TOKEN: TOKEN })
    const status = async (headers: Record<string, string>) =>
      (await fetch(`${url.replace('0.0.0.0', '127.0.0.1')}api/v1/schedules`, { headers })).status
    expect(await status({})).toBe(401)
    expect(await status({ authorization: 'Bearer wrong-token-of-that-length' })).toBe(401)
    expect(await status({ authorization: `Bearer ${TOKEN}` })).toBe(200)
    worker.child.kill('SIGTERM')
    const { code, stdout } = await worker.ended
    expect(code).toBe(0)
    expect(stdout).not.toContain(TOKEN)
  })

  test.each([
    [['0.0.0.0:0'], /others can reach this address, so a token is needed: set KALENDS_TOKEN/],
    [['[::]:0'], /a token is needed/],
    [['192.0.2.1:80'], /a token is needed/],
    [['0.0.0.0:0', '--token', 'short'], /at least 16 characters/],
    [['nonsense'], /--http.*such as '127\.0\.0\.1:4040'/],
    [['127.0.0.1:99999'], /--http.*port/],
  ])('%j is refused before anything is started', async (args, message) => {
    const { code, stdout, stderr } = await run(CLI, ['start', '--http', ...args], {
      cwd: await temporaryFolder(),
    })
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
    expect(stderr).toMatch(message)
  })

  test('a port that is taken is told, and the worker does not stay', async () => {
    const { worker, url } = await serving(['127.0.0.1:0'])
    const { code, stderr } = await run(CLI, ['start', '--http', `127.0.0.1:${new URL(url).port}`], {
      cwd: await temporaryFolder(),
    })
    expect([code, stderr]).toEqual([
      1,
      expect.stringMatching(/cannot listen on 127\.0\.0\.1:\d+: .*EADDRINUSE/),
    ])
    worker.child.kill('SIGTERM')
    await worker.ended
  })

  test('without --http nothing of it is loaded', async () => {
    const folder = join(root, 'src/cli')
    const files = (await readdir(folder, { recursive: true })).filter((file) => file.endsWith('.ts'))
    for (const file of files) {
      const text = await readFile(join(folder, file), 'utf8')
      expect([file, /^import (?!type ).*serve\.ts'/m.test(text)]).toEqual([file, false])
      if (file !== 'serve.ts')
        expect([file, /\/http\/|from 'hono|from 'zod/.test(text)]).toEqual([file, false])
    }
  })
})
