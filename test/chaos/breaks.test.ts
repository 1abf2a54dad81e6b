/** Each break still works: the code it replaces occurs exactly once in the current dist/, and the changed code runs. */
import { execFile } from 'node:child_process'
import { pathToFileURL } from 'node:url'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { describe, expect, test } from 'vitest'
import { BREAK_NAMES, breakNamed, BREAKS, brokenProcess, type Mutation } from '../../bench/chaos/breaks.ts'

const run = promisify(execFile)
const dist = pathToFileURL(join(import.meta.dirname, '../../dist/index.js')).href

/**
 * Runs a worker on a new database until it submits something. A statement that SQLite rejects also ends the run,
 * because some breaks use SQL that only a server accepts. Fails if a break is not valid JavaScript.
 */
async function startBroken(mutations: readonly Mutation[]): Promise<string> {
  const { execArgv, environment } = brokenProcess(mutations)
  const { stdout } = await run(
    process.execPath,
    [
      ...execArgv,
      '--input-type=module',
      '--eval',
      `const { Kalends } = await import('${dist}')
       const kalends = await Kalends.open('sqlite::memory:')
       const submitted = new Promise((resolve, reject) => {
         kalends.on('submitted', resolve)
         kalends.on('error', ({ error }) => (error.code === undefined ? reject(error) : resolve()))
       })
       await kalends.start()
       await kalends.schedules.create({ task: 'tick', timer: '*:*:*' })
       await submitted
       process.stdout.write('ran')
       await kalends.stop()`,
    ],
    { env: { ...process.env, ...environment } },
  )
  return stdout
}

describe('breaks of the product', () => {
  test.each(BREAKS)(
    '$name: the code that it replaces exists, and a worker starts with the break',
    async ({ mutations }) => {
      expect(await startBroken(mutations)).toBe('ran')
    },
  )

  test('the process exits if the code to replace is missing or occurs more than once', async () => {
    const file = 'store/sql/submit.js'
    await expect(startBroken([{ file, find: 'no such text', put: '' }])).rejects.toThrow(
      /submit\.js must contain this text once, but contains it 0 times: no such text/,
    )
    await expect(startBroken([{ file, find: 'await', put: '' }])).rejects.toThrow(
      /submit\.js must contain this text once, but contains it \d+ times/,
    )
  })

  // Without this test, a break could change a file that no worker loads.
  test.each([...new Set(BREAKS.flatMap(({ mutations }) => mutations.map(({ file }) => file)))])(
    'a worker loads %s',
    async (file) => {
      await expect(startBroken([{ file, find: 'no such text', put: '' }])).rejects.toThrow(/no such text/)
    },
  )

  test('each break has a unique name and describes what it removes', () => {
    expect(BREAKS.map(({ name }) => name)).toEqual([...BREAK_NAMES])
    for (const { mutations, sql, rules, removes } of BREAKS) {
      expect(mutations.length + sql.length).toBeGreaterThan(0)
      expect(rules.length).toBeGreaterThan(0)
      expect(removes).not.toBe('')
    }
    expect(() => breakNamed('recheckk')).toThrow(/use one of recheck, unique-key/)
  })
})
