import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { readdir, readFile, stat, writeFile } from 'node:fs/promises'
import { request } from 'node:http'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { type Ended, type Program, root, run, start, temporaryFolder } from './program.ts'

const CLI = 'dist/cli/main.js'
const TOKEN = 'a-token-that-nobody-guesses'

async function serving(args: readonly string[], env: Record<string, string> = {}, cwd?: string) {
  const folder = cwd ?? (await temporaryFolder())
  const worker = start(CLI, ['start', '--http', ...args], { cwd: folder, env })
  let said = ''
  worker.child.stderr?.on('data', (text: string) => {
    said += text
  })
  const [, url = ''] = /url=(\S+)/.exec(await worker.until(/The REST API is served url=\S+/)) ?? []
  await worker.until(/Ready; Ctrl-C stops it/)
  return {
    worker,
    url,
    folder,
    /** What it says about signing in, which comes on stderr. */
    said: () =>
      expect
        .poll(() => said)
        .toMatch(/Sign in.*\n/)
        .then(() => said),
  }
}

const bearing = (token: string) => ({ authorization: `Bearer ${token}` })

/** GET over a Unix socket. */
async function getAt(
  socketPath: string,
  path: string,
  headers: Record<string, string> = {},
): Promise<number> {
  const sent = request({ socketPath, path, headers: { host: 'localhost', ...headers }, agent: false }).end()
  const [response] = await once(sent, 'response')
  response.resume()
  return Number(response.statusCode)
}

async function stopped({ worker }: { readonly worker: Program }): Promise<Ended> {
  worker.child.kill('SIGTERM')
  return await worker.ended
}

describe('kalends start --http', () => {
  test('does not serve the task command unless configured to', async () => {
    for (const [flags, status] of [
      [[], 403],
      [['--http-built-in-tasks'], 201],
    ] as const) {
      const server = await serving(['127.0.0.1:0', '--allow-commands', ...flags], { KALENDS_TOKEN: TOKEN })
      const submitted = await fetch(`${server.url}api/v1/jobs`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', ...bearing(TOKEN) },
        body: JSON.stringify({ task: 'command', args: { argv: ['true'] } }),
      })
      expect([flags, submitted.status]).toEqual([flags, status])
      await stopped(server)
    }
  })

  test('creates a token, prints a sign-in link, and accepts requests with the token', async () => {
    const server = await serving(['127.0.0.1:0'])
    const { url, folder } = server
    const [, page, token = ''] = /^Sign in: (http:\S+\/)#token=(\S+)$/m.exec(await server.said()) ?? []
    expect([page, token]).toEqual([url, expect.stringMatching(/^[\da-f]{64}$/)])
    const file = join(folder, 'kalends.db.token')
    expect(await readFile(file, 'utf8')).toBe(`${token}\n`)
    expect((await stat(file)).mode & 0o777).toBe(0o600)
    for (const headers of [{}, bearing('x'.repeat(64))])
      expect((await fetch(`${url}api/v1/schedules`, { headers })).status).toBe(401)
    const made = await fetch(`${url}api/v1/schedules`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...bearing(token) },
      body: JSON.stringify({ task: 'mail', timer: 'daily' }),
    })
    expect(made.status).toBe(201)
    const health = await fetch(`${url}health`, { headers: bearing(token) })
    expect(await health.json()).toMatchObject({ ok: true, worker: expect.any(String) })
    // SIGTERM ends it although somebody listens.
    const events = await fetch(`${url}api/v1/events`, { headers: bearing(token) })
    expect(events.status).toBe(200)
    const { code, stdout } = await stopped(server)
    expect(code).toBe(0)
    expect(stdout).toMatch(/Written through the API audit=.*"action":"createSchedule"/)
    expect(stdout).toMatch(/A sign-in was rejected refused=.*"address":"127\.0\.0\.1"/)
    expect(stdout).not.toContain(token)
    await events.body?.cancel().catch(() => undefined)
  })

  test('keeps the token for the next start, and shares it with a worker that starts at the same time', async () => {
    const folder = await temporaryFolder()
    const tokenOf = async (server: Awaited<ReturnType<typeof serving>>) =>
      /#token=(\S+)/.exec(await server.said())?.[1]
    const [one, two] = await Promise.all([
      serving(['127.0.0.1:0'], {}, folder),
      serving(['127.0.0.1:0'], {}, folder),
    ])
    const token = await tokenOf(one)
    expect(await tokenOf(two)).toBe(token)
    await Promise.all([stopped(one), stopped(two)])
    const three = await serving(['127.0.0.1:0'], {}, folder)
    expect(await tokenOf(three)).toBe(token)
    await stopped(three)
    expect((await readdir(folder)).filter((name) => name.includes('token'))).toEqual(['kalends.db.token'])
  })

  test('writes no token to the log, also not as JSON', async () => {
    const worker = start(CLI, ['start', '--http', '127.0.0.1:0', '--json'], { cwd: await temporaryFolder() })
    await worker.until(/Ready/)
    worker.child.kill('SIGTERM')
    const { stdout, stderr } = await worker.ended
    const [, token = ''] = /#token=(\S+)/.exec(stderr) ?? []
    expect(token).toHaveLength(64)
    expect(stdout).not.toContain(token)
  })

  test('uses a given token and never prints it', async () => {
    const folder = await temporaryFolder()
    const file = join(folder, 'token')
    await writeFile(file, `${TOKEN}\n`, { mode: 0o600 })
    for (const [args, env] of [
      [['127.0.0.1:0'], { KALENDS_TOKEN: TOKEN }],
      [['127.0.0.1:0', '--token-file', file], { KALENDS_TOKEN: 'another-token-that-is-not-used' }],
    ] as const) {
      const server = await serving(args, env)
      expect((await fetch(`${server.url}api/v1/me`, { headers: bearing(TOKEN) })).status).toBe(200)
      expect(await server.said()).toMatch(
        /^Sign in at http:\S+ with the token from (?:KALENDS_TOKEN|\/\S+)\.$/m,
      )
      const { stdout, stderr } = await stopped(server)
      expect(stdout + stderr).not.toContain(TOKEN)
      expect(await readdir(server.folder)).not.toContain('kalends.db.token')
    }
  })

  test('warns in the log and at the terminal of a token that is sent over plain HTTP to another machine', async () => {
    const server = await serving(['0.0.0.0:0'], { KALENDS_TOKEN: TOKEN })
    const { stdout, stderr } = await stopped(server)
    expect(stdout).toMatch(/WARN {2}The token travels over plain HTTP/)
    expect(stderr).toMatch(/^warning: The token travels over plain HTTP/m)
    const local = await serving(['127.0.0.1:0'], { KALENDS_TOKEN: TOKEN })
    const quiet = await stopped(local)
    expect(quiet.stdout + quiet.stderr).not.toContain('plain HTTP')
  })

  test("takes the client's address from a trusted proxy, and from no other", async () => {
    const forwarded = { 'x-forwarded-for': '203.0.113.7', ...bearing('wrong-token-of-that-length') }
    for (const [args, address] of [
      [['--trusted-proxy', '10.0.0.0/8', '--trusted-proxy', '127.0.0.1'], '203.0.113.7'],
      [[], '127.0.0.1'],
    ] as const) {
      const server = await serving(['127.0.0.1:0', ...args], { KALENDS_TOKEN: TOKEN })
      expect((await fetch(`${server.url}api/v1/me`, { headers: forwarded })).status).toBe(401)
      expect((await stopped(server)).stdout).toContain(`"address":"${address}"`)
    }
  })

  describe('on a Unix socket', () => {
    test('serves without a token, for this user only, and removes the socket at the end', async () => {
      const folder = await temporaryFolder()
      const path = join(folder, 'api.sock')
      const server = await serving(['unix:api.sock'], {}, folder)
      expect(server.url).toBe(`unix:${path}`)
      expect((await stat(path)).mode & 0o777).toBe(0o600)
      expect(await getAt(path, '/api/v1/schedules')).toBe(200)
      expect(await getAt(path, '/api/v1/schedules', { 'x-forwarded-for': '203.0.113.7' })).toBe(403)
      const { code, stderr } = await stopped(server)
      expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
      expect(existsSync(path)).toBe(false)
      expect(await readdir(folder)).not.toContain('kalends.db.token')
    })

    test('requires the given token', async () => {
      const folder = await temporaryFolder()
      const server = await serving(['unix:api.sock'], { KALENDS_TOKEN: TOKEN }, folder)
      expect(await getAt(join(folder, 'api.sock'), '/api/v1/me')).toBe(401)
      expect(await getAt(join(folder, 'api.sock'), '/api/v1/me', bearing(TOKEN))).toBe(200)
      await stopped(server)
    })

    test('replaces the socket of a server that was killed', async () => {
      const folder = await temporaryFolder()
      const killed = await serving(['unix:api.sock'], {}, folder)
      killed.worker.child.kill('SIGKILL')
      await killed.worker.ended
      expect(existsSync(join(folder, 'api.sock'))).toBe(true)
      const server = await serving(['unix:api.sock'], {}, folder)
      expect(await getAt(join(folder, 'api.sock'), '/health')).toBe(200)
      await stopped(server)
    })

    test('rejects a socket on which another server responds, and a file', async () => {
      const folder = await temporaryFolder()
      const server = await serving(['unix:api.sock'], {}, folder)
      const second = await run(CLI, ['start', '--http', 'unix:api.sock'], { cwd: folder })
      expect([second.code, second.stderr]).toEqual([
        1,
        expect.stringContaining('another server listens there'),
      ])
      expect(await getAt(join(folder, 'api.sock'), '/health')).toBe(200)
      await stopped(server)
      await writeFile(join(folder, 'file'), 'precious')
      const third = await run(CLI, ['start', '--http', 'unix:file'], { cwd: folder })
      expect([third.code, third.stderr]).toEqual([1, expect.stringContaining('is not a socket')])
      expect(await readFile(join(folder, 'file'), 'utf8')).toBe('precious')
    })
  })

  test.each<[args: string[], message: RegExp, env?: Record<string, string>]>([
    [['127.0.0.1:0'], /KALENDS_TOKEN.*at least|at least 16 .*KALENDS_TOKEN/, { KALENDS_TOKEN: 'short' }],
    [['127.0.0.1:0', '--token', TOKEN], /unknown option '--token'/],
    [['nonsense'], /--http.*such as '127\.0\.0\.1:4040'/],
    [['unix:'], /--http.*'unix:\/run\/kalends\.sock'/],
    [['127.0.0.1:99999'], /--http.*port/],
    [['127.0.0.1:0', '--trusted-proxy', '10.0.0.0/99'], /option '--trusted-proxy'.*10\.0\.0\.0\/99/],
    [['unix:api.sock', '--trusted-proxy', '10.0.0.1'], /'--trusted-proxy'.*Unix socket/],
  ])('%j is rejected before anything starts', async (args, message, env = {}) => {
    const { code, stdout, stderr } = await run(CLI, ['start', '--http', ...args], {
      cwd: await temporaryFolder(),
      env,
    })
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
    expect(stderr).toMatch(message)
  })

  test.each([
    [['--token-file', 'x'], /'--token-file': requires --http/],
    [['--trusted-proxy', '10.0.0.1'], /'--trusted-proxy': requires --http/],
    [['--command-user', 'nobody'], /'--command-user': requires --allow-commands/],
  ])('%j alone is rejected', async (args, message) => {
    const { code, stderr } = await run(CLI, ['start', ...args], { cwd: await temporaryFolder() })
    expect([code, stderr]).toEqual([2, expect.stringMatching(message)])
  })

  test('reports a port in use, and ends the worker', async () => {
    const { worker, url } = await serving(['127.0.0.1:0'])
    const { code, stderr } = await run(CLI, ['start', '--http', `127.0.0.1:${new URL(url).port}`], {
      cwd: await temporaryFolder(),
    })
    expect([code, stderr]).toEqual([
      1,
      expect.stringMatching(/cannot listen on http:\/\/127\.0\.0\.1:\d+\/: .*EADDRINUSE/),
    ])
    worker.child.kill('SIGTERM')
    await worker.ended
  })

  test('without --http loads no code of it, and a schema only for commands', async () => {
    const folder = join(root, 'src/cli')
    const files = (await readdir(folder, { recursive: true })).filter((file) => file.endsWith('.ts'))
    for (const file of files) {
      const text = await readFile(join(folder, file), 'utf8')
      expect([file, /^import (?!type ).*(?:serve|command-task)\.ts'/m.test(text)]).toEqual([file, false])
      if (file !== 'serve.ts') expect([file, /\/http\/|from 'hono/.test(text)]).toEqual([file, false])
      if (file !== 'command-task.ts') expect([file, /from 'zod/.test(text)]).toEqual([file, false])
    }
  })
})
