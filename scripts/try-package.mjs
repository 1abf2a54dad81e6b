/**
 * `node scripts/try-package.mjs <tarball> <application…>` tries these applications of test/package/applications. For
 * each, it copies the application and the files of `shared` into an empty folder, installs the package there, runs the
 * script `try`, and removes the folder.
 */
import { spawnSync } from 'node:child_process'
import { cpSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'

const APPLICATIONS = join(import.meta.dirname, '../test/package/applications')
const [tarball, ...applications] = process.argv.slice(2)
if (tarball === undefined || applications.length === 0)
  throw new Error('usage: node scripts/try-package.mjs <tarball> <application…>')

for (const application of applications) {
  const folder = mkdtempSync(join(tmpdir(), `kalends-${application}-`))
  // Test runners set NODE_ENV to a mode that Next.js does not support.
  const { NODE_ENV: _, ...env } = process.env
  const npm = (...args) => {
    const { status } = spawnSync('npm', args, { cwd: folder, stdio: 'inherit', env })
    if (status !== 0) throw new Error(`The application '${application}' failed: npm ${args.join(' ')}`)
  }
  try {
    for (const part of ['shared', application]) cpSync(join(APPLICATIONS, part), folder, { recursive: true })
    npm('install', '--prefer-offline', '--no-audit', '--no-fund', '--silent', resolve(tarball))
    npm('run', '--silent', 'try')
    process.stdout.write(`The application '${application}' works\n`)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}
