/**
 * Peers that do not run on the oldest Node.js that Kalends supports. The first measurement installs them, with their
 * own Node.js, into the folder of their built programs.
 */
import { execFile } from 'node:child_process'
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { z } from 'zod'

const run = promisify(execFile)
const PACKAGE = join(import.meta.dirname, 'peers-node24/package.json')
const FOLDER = join(import.meta.dirname, 'dist/peers-node24')
/** A copy of the installed package.json, written last. */
const INSTALLED = join(FOLDER, 'installed.json')

/** @returns the path of their Node.js, or the reason why they are not available */
export async function installNode24(): Promise<{ readonly node: string } | string> {
  const wanted = await readFile(PACKAGE, 'utf8')
  const node = join(FOLDER, 'node_modules/node/bin/node')
  try {
    if ((await readFile(INSTALLED, 'utf8').catch(() => '')) !== wanted) {
      await mkdir(FOLDER, { recursive: true })
      await writeFile(join(FOLDER, 'package.json'), wanted)
      await run('npm', ['install', '--no-audit', '--no-fund', '--no-package-lock'], { cwd: FOLDER })
      await run(node, ['--version'])
      await writeFile(INSTALLED, wanted)
    }
    return { node }
  } catch (error) {
    return `npm could not install it: ${String(error).slice(0, 300)}`
  }
}

/** Name → version. */
export async function versionsOnNode24(): Promise<ReadonlyMap<string, string>> {
  const { dependencies } = z
    .object({ dependencies: z.record(z.string(), z.string()) })
    .parse(JSON.parse(await readFile(PACKAGE, 'utf8')))
  return new Map(Object.entries(dependencies))
}
