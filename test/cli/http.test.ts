import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { link, readdir, readFile, stat, writeFile } from 'node:fs/promises'
import { Server } from 'node:http'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { describe, expect, test, vi } from 'vitest'
import { runHere } from './here.ts'
import { root, temporaryFolder } from './program.ts'
import { bearing, getAt, serving, servingProcess, TOKEN } from './serving.ts'

describe('kalends start --http', () => {
  test('accepts no jobs of the task `command` unless configured to [V1]', async () => {
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
      await server.worker.stop()
    }
  })

  test('creates a token, prints a sign-in link, and accepts requests with the token [V4]', async () => {
    const folder = await temporaryFolder()
    const { worker, url } = await servingProcess(['127.0.0.1:0'], folder)
    const file = join(folder, 'kalends.db.token')
    const token = (await readFile(file, 'utf8')).trim()
    expect(token).toMatch(/^[\da-f]{64}$/)
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
    // SIGTERM stops the worker even while a client is receiving events.
    const events = await fetch(`${url}api/v1/events`, { headers: bearing(token) })
    expect(events.status).toBe(200)
    worker.child.kill('SIGTERM')
    const { code, stdout, stderr } = await worker.ended
    expect(code).toBe(0)
    expect(stderr).toContain(`Sign in: ${url}#token=${token}\n`)
    expect(stdout).toMatch(/Written through the API audit=.*"action":"createSchedule"/)
    expect(stdout).toMatch(/A sign-in was rejected refused=.*"address":"127\.0\.0\.1"/)
    expect(stdout).not.toContain(token)
    await events.body?.cancel().catch(() => undefined)
  })

  test('stops the worker even if the server cannot be closed', async () => {
    const { worker, folder } = await serving(['127.0.0.1:0'])
    const workers = () => runHere(['workers', '--json'], { cwd: folder })
    expect((await workers()).stdout).toContain('"id"')
    vi.spyOn(Server.prototype, 'close').mockImplementationOnce(() => {
      throw new Error('still in use')
    })
    expect(await worker.stop()).toMatchObject({ code: 1, stderr: expect.stringContaining('still in use') })
    expect((await workers()).stdout).toBe('')
  })

  test('keeps the token for the next start and shares it with other workers', async () => {
    const folder = await temporaryFolder()
    const tokens: (string | undefined)[] = []
    for (const isStopped of [false, true, true]) {
      const { worker } = await serving(['127.0.0.1:0'], {}, folder)
      tokens.push(/#token=(\S+)/.exec(worker.said())?.[1])
      if (isStopped) await worker.stop()
    }
    expect(tokens).toEqual([expect.any(String), tokens[0], tokens[0]])
    expect((await readdir(folder)).filter((name) => name.includes('token'))).toEqual(['kalends.db.token'])
  })

  test('writes no token to the log, not even with --json', async () => {
    const { worker } = await serving(['127.0.0.1:0', '--json'])
    const { stdout, stderr } = await worker.stop()
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
      expect(server.worker.said()).toMatch(
        /^Sign in at http:\S+ with the token from (?:KALENDS_TOKEN|\/\S+)\.$/m,
      )
      const { stdout, stderr } = await server.worker.stop()
      expect(stdout + stderr).not.toContain(TOKEN)
      expect(await readdir(server.folder)).not.toContain('kalends.db.token')
    }
  })

  test('warns in the log and at the terminal if clients on other machines would send the token over plain HTTP', async () => {
    const server = await serving(['0.0.0.0:0'], { KALENDS_TOKEN: TOKEN })
    const { stdout, stderr } = await server.worker.stop()
    expect(stdout).toMatch(/WARN {2}The token travels over plain HTTP/)
    expect(stderr).toMatch(/^warning: The token travels over plain HTTP/m)
    const local = await serving(['127.0.0.1:0'], { KALENDS_TOKEN: TOKEN })
    const quiet = await local.worker.stop()
    expect(quiet.stdout + quiet.stderr).not.toContain('plain HTTP')
  })

  test("accepts the client's address only from a trusted proxy", async () => {
    const forwarded = { 'x-forwarded-for': '203.0.113.7', ...bearing('wrong-token-of-that-length') }
    for (const [args, address] of [
      [['--trusted-proxy', '10.0.0.0/8', '--trusted-proxy', '127.0.0.1'], '203.0.113.7'],
      [[], '127.0.0.1'],
    ] as const) {
      const server = await serving(['127.0.0.1:0', ...args], { KALENDS_TOKEN: TOKEN })
      expect((await fetch(`${server.url}api/v1/me`, { headers: forwarded })).status).toBe(401)
      expect((await server.worker.stop()).stdout).toContain(`"address":"${address}"`)
    }
  })

  describe('on a Unix socket', () => {
    test('serves only this user, without a token, and removes the socket when it stops [V4]', async () => {
      const folder = await temporaryFolder()
      const path = join(folder, 'api.sock')
      const server = await serving(['unix:api.sock'], {}, folder)
      expect(server.url).toBe(`unix:${path}`)
      expect((await stat(path)).mode & 0o777).toBe(0o600)
      expect(await getAt(path, '/api/v1/schedules')).toBe(200)
      expect(await getAt(path, '/api/v1/schedules', { 'x-forwarded-for': '203.0.113.7' })).toBe(403)
      const { code, stderr } = await server.worker.stop()
      expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
      expect(existsSync(path)).toBe(false)
      expect(await readdir(folder)).not.toContain('kalends.db.token')
    })

    test('requires the given token', async () => {
      const folder = await temporaryFolder()
      const server = await serving(['unix:api.sock'], { KALENDS_TOKEN: TOKEN }, folder)
      expect(await getAt(join(folder, 'api.sock'), '/api/v1/me')).toBe(401)
      expect(await getAt(join(folder, 'api.sock'), '/api/v1/me', bearing(TOKEN))).toBe(200)
      await server.worker.stop()
    })

    test('replaces the socket of a server that was killed', async () => {
      const folder = await temporaryFolder()
      const path = join(folder, 'api.sock')
      // A clean close removes only the path on which the server listens.
      const killed = createServer().listen(`${path}.first`)
      await once(killed, 'listening')
      await link(`${path}.first`, path)
      await new Promise((resolve) => killed.close(resolve))
      expect((await stat(path)).isSocket()).toBe(true)
      const server = await serving(['unix:api.sock'], {}, folder)
      expect(await getAt(path, '/health')).toBe(200)
      await server.worker.stop()
    })

    test('rejects a socket on which another server responds, and a regular file', async () => {
      const folder = await temporaryFolder()
      const server = await serving(['unix:api.sock'], {}, folder)
      const second = await runHere(['start', '--http', 'unix:api.sock'], { cwd: folder })
      expect([second.code, second.stderr]).toEqual([
        1,
        expect.stringContaining('another server is already listening there'),
      ])
      expect(await getAt(join(folder, 'api.sock'), '/health')).toBe(200)
      await server.worker.stop()
      await writeFile(join(folder, 'file'), 'precious')
      const third = await runHere(['start', '--http', 'unix:file'], { cwd: folder })
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
    const { code, stdout, stderr } = await runHere(['start', '--http', ...args], {
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
    const { code, stderr } = await runHere(['start', ...args], { cwd: await temporaryFolder() })
    expect([code, stderr]).toEqual([2, expect.stringMatching(message)])
  })

  test('reports that the port is in use and stops the worker', async () => {
    const { url } = await serving(['127.0.0.1:0'])
    const { code, stdout, stderr } = await runHere(['start', '--http', `127.0.0.1:${new URL(url).port}`], {
      cwd: await temporaryFolder(),
    })
    expect([code, stderr]).toEqual([
      1,
      expect.stringMatching(/cannot listen on http:\/\/127\.0\.0\.1:\d+\/: .*EADDRINUSE/),
    ])
    expect(stdout).toMatch(/Kalends stopped/)
  })

  test('without --http, no HTTP code is loaded; zod is loaded only for command tasks', async () => {
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
