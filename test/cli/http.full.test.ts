/** Tests of `kalends start --http` that need separate processes. */
import { existsSync } from 'node:fs'
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { temporaryFolder } from './program.ts'
import { getAt, servingProcess } from './serving.ts'

test('workers that start at the same time share one token', async () => {
  const folder = await temporaryFolder()
  const servers = await Promise.all([1, 2, 3].map(() => servingProcess(['127.0.0.1:0'], folder)))
  const token = await readFile(join(folder, 'kalends.db.token'), 'utf8')
  for (const { worker } of servers) {
    worker.child.kill('SIGTERM')
    const { code, stderr } = await worker.ended
    expect([code, /#token=(\S+)\n/.exec(stderr)?.[1]]).toEqual([0, token.trim()])
  }
  expect((await readdir(folder)).filter((name) => name.includes('token'))).toEqual(['kalends.db.token'])
})

test('a server replaces the socket of a process that was killed', async () => {
  const folder = await temporaryFolder()
  const path = join(folder, 'api.sock')
  const killed = await servingProcess(['unix:api.sock'], folder)
  killed.worker.child.kill('SIGKILL')
  await killed.worker.ended
  expect(existsSync(path)).toBe(true)
  await servingProcess(['unix:api.sock'], folder)
  expect(await getAt(path, '/health')).toBe(200)
})
