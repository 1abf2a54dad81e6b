/**
 * The results of `import crontab --dry-run` for real and odd crontabs. They are compared with the files in
 * fixtures/import/expected, and with what Debian's crontab accepts.
 */
import { spawnSync } from 'node:child_process'
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { findProgram } from '../support/servers-programs.ts'
import { runHere } from './here.ts'
import { root } from './program.ts'

const fixtures = join(root, 'test/cli/fixtures/import')

interface Found {
  readonly original: string
  readonly result: string
  readonly notes: readonly string[]
}

function dryRun(name: string) {
  const options = ['--dry-run', '--json', '--zone', 'UTC', '--iterations', '0']
  return runHere(['import', 'crontab', `crontabs/${name}`, ...options], { cwd: fixtures })
}

async function foundIn(name: string): Promise<Found[]> {
  const { stdout } = await dryRun(name)
  return stdout
    .trim()
    .split('\n')
    .map((line): Found => JSON.parse(line))
}

const crontabs = readdirSync(join(fixtures, 'crontabs'))

test.each(crontabs)('the import of the crontab %s is as expected [C3]', async (name) => {
  const { code, stdout, stderr } = await dryRun(name)
  await expect(`${stdout}${stderr}exit code ${code}\n`).toMatchFileSnapshot(
    join(fixtures, 'expected', `crontab-${name}.txt`),
  )
})

/** Debian's crontab checks a file with -n, an option that other crontab programs do not have. */
const crontab = findProgram('crontab')
const checks = (text: string) =>
  crontab === null ? null : spawnSync(crontab, ['-n', '-'], { input: text, encoding: 'utf8' })
const isDebians = checks('@daily x\n')?.status === 0

test.skipIf(!isDebians)(
  "Debian's crontab rejects exactly the invalid lines and those whose notes say so",
  async () => {
    const read = await Promise.all(
      crontabs
        .filter((name) => !['contradiction', 'some-accounts'].includes(name))
        .map((name) => foundIn(name)),
    )
    for (const { original, result, notes } of read.flat()) {
      // Debian's check accepts dates that never occur, and @reboot.
      const isMistake = result === 'refused' && !/never|@reboot/.test(notes.join())
      const isRejected = isMistake || notes.join().includes('reject')
      expect(checks(`${original}\n`)?.status, original).toBe(isRejected ? 1 : 0)
    }
  },
)
