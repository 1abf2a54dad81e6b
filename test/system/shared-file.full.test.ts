/** The application and Kalends share a SQLite file in one process; see shared-file.mjs. For other drivers and longer
 * runs, start that program by hand. */
import { execFile } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { isBuiltin } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, it, onTestFinished } from 'vitest'

const SECONDS = '20'

it.each(['libsql', ...(isBuiltin('node:sqlite') ? ['node:sqlite'] : [])])(
  'nothing is lost or repeated while the application and Kalends write through %s, and another process opens and closes the file',
  async (driver) => {
    const folder = mkdtempSync(join(tmpdir(), 'kalends-shared-'))
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
    const { stdout } = await promisify(execFile)(process.execPath, [
      join(import.meta.dirname, 'shared-file.mjs'),
      driver,
      join(folder, 'app.db'),
      SECONDS,
    ])
    expect(JSON.parse(stdout)).toMatchObject({
      lostRows: 0,
      lostJobs: 0,
      unsuccessful: 0,
      repeated: 0,
      notRun: 0,
      integrity: 'ok',
      logged: [],
    })
  },
)
