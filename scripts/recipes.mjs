/**
 * Runs the recipes, which are applications that use Kalends as its users do.
 *
 *     npm run recipes                          # all of them
 *     npm run recipes -- express fastify       # some
 *     node scripts/recipes.mjs kalends.tgz …   # with an existing tarball
 *
 * For each recipe, copies recipes/<name> and recipes/shared into an empty folder, installs the packed package there,
 * runs the script `try`, and removes the folder.
 */
import { spawnSync } from 'node:child_process'
import { cpSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'

const ROOT = join(import.meta.dirname, '..')
const RECIPES = join(ROOT, 'recipes')
const all = readdirSync(RECIPES, { withFileTypes: true })
  .filter((entry) => entry.isDirectory() && entry.name !== 'shared')
  .map(({ name }) => name)

const given = process.argv.slice(2)
const tarball = given[0]?.endsWith('.tgz') ? given.shift() : undefined
const unknown = given.filter((name) => !all.includes(name))
if (unknown.length > 0)
  throw new Error(`Unknown recipe ${unknown.join(', ')}; known recipes: ${all.join(', ')}`)

/** Runs npm in a folder. @throws if it fails */
function npm(cwd, ...args) {
  // Test runners set NODE_ENV to a value that `next build` does not support.
  const { NODE_ENV: _, ...env } = process.env
  const { status } = spawnSync('npm', args, { cwd, stdio: 'inherit', env })
  if (status !== 0) throw new Error(`npm ${args.join(' ')} failed in ${cwd}`)
}

const packed = mkdtempSync(join(tmpdir(), 'kalends-packed-'))
try {
  if (tarball === undefined) npm(ROOT, 'pack', '--ignore-scripts', '--silent', '--pack-destination', packed)
  const file = tarball === undefined ? join(packed, readdirSync(packed)[0] ?? '') : resolve(tarball)
  for (const recipe of given.length === 0 ? all : given) {
    const folder = mkdtempSync(join(tmpdir(), `kalends-${recipe}-`))
    try {
      for (const part of ['shared', recipe]) cpSync(join(RECIPES, part), folder, { recursive: true })
      npm(folder, 'install', '--prefer-offline', '--no-audit', '--no-fund', '--silent', file)
      npm(folder, 'run', '--silent', 'try')
      process.stdout.write(`The recipe '${recipe}' works\n`)
    } finally {
      rmSync(folder, { recursive: true, force: true })
    }
  }
} finally {
  rmSync(packed, { recursive: true, force: true })
}
