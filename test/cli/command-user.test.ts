/** The user that commands run as: names are never interpreted as options or by a shell. */
import { describe, expect, test } from 'vitest'
import { commandTask } from '../../src/cli/command-task.ts'
import { commandUser } from '../../src/cli/command-user.ts'
import { runHere } from './here.ts'
import { temporaryFolder } from './program.ts'

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
