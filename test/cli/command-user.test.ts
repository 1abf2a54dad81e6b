/** The user that commands run as: names are never interpreted as options or by a shell. */
import { writeFileSync } from 'node:fs'
import type * as FileSystem from 'node:fs/promises'
import { stat } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { commandTask } from '../../src/cli/command-task.ts'
import { commandUser, homeOfUser, responds } from '../../src/cli/command-user.ts'
import { runHere } from './here.ts'
import { temporaryFolder } from './program.ts'

vi.mock('node:fs/promises', async (original) => {
  const module: typeof FileSystem = await original()
  return { ...module, stat: vi.fn(module.stat) }
})

const HOSTILE = [
  '-c',
  '--help',
  '-u root',
  'root;id',
  'ann\n',
  'ann\nroot',
  '$(id)',
  '`id`',
  'a b',
  "a'b",
  '',
  '../x',
  '0',
  '#0',
  'root\0',
]

test.each(HOSTILE)('args.user: %j is rejected', async (user) => {
  const result = await commandTask.schema?.['~standard'].validate({ argv: ['id'], user })
  expect(result?.issues).toContainEqual(
    expect.objectContaining({
      path: ['user'],
      message: expect.stringContaining('must be a valid user name'),
    }),
  )
})

describe('what does not respond', () => {
  test('a slow lookup of a user does not stop the event loop, and a failing one is an error', async () => {
    const folder = await temporaryFolder()
    const path = join(folder, 'getent')
    vi.stubEnv('PATH', `${folder}:${process.env['PATH'] ?? ''}`)
    onTestFinished(() => void vi.unstubAllEnvs())
    writeFileSync(path, '#!/bin/sh\nsleep 0.3\necho ann:x:1:1::/nowhere:/bin/sh\n', { mode: 0o755 })
    const order: string[] = []
    const home = homeOfUser('ann').then((found) => order.push(found))
    await new Promise((resolve) => setTimeout(resolve, 1))
    order.push('event loop')
    await home
    expect(order).toEqual(['event loop', '/'])
    writeFileSync(path, '#!/bin/sh\nexit 3\n')
    await expect(homeOfUser('ann')).rejects.toThrow("'getent' could not look up the user 'ann'")
    writeFileSync(path, '#!/bin/sh\nexit 2\n')
    expect(await homeOfUser('ann')).toBe('/')
  })

  test('a command in a directory whose file system does not respond fails, and its program is not started', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    onTestFinished(() => void vi.useRealTimers())
    vi.mocked(stat).mockReturnValueOnce(new Promise(() => undefined))
    const answer = responds('/mnt/hangs').catch((error: unknown) => error)
    await vi.advanceTimersByTimeAsync(6000)
    expect(String(await answer)).toContain("the directory '/mnt/hangs' did not respond within 5 s")
    expect([await responds('/'), await responds('/nowhere')]).toEqual([true, false])
  })
})

describe.runIf(process.getuid?.() === 0)('--command-user, for root', () => {
  test.each(HOSTILE)('rejects %j', (name) => {
    expect(() => commandUser(name)).toThrow(/--command-user[^]*is not a valid user name/)
  })

  test('rejects root and unknown users', () => {
    expect(() => commandUser('root')).toThrow(/'root' is root/)
    expect(() => commandUser('nobody-of-that-name')).toThrow(/the user 'nobody-of-that-name' does not exist/)
  })

  test('finds the ids of a user', () => {
    expect(commandUser('nobody')).toMatchObject({
      name: 'nobody',
      uid: expect.any(Number),
      gid: expect.any(Number),
    })
    expect(commandUser('nobody').uid).toBeGreaterThan(0)
  })

  test('reports errors before anything starts', async () => {
    const { code, stdout, stderr } = await runHere(['start', '--allow-commands', '--command-user', 'root'], {
      cwd: await temporaryFolder(),
    })
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
    expect(stderr).toMatch(/^error: option '--command-user': 'root' is root/)
  })
})
