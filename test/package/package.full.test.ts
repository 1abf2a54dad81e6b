/** The package as published: packed, installed in another folder, and used as in the README. */
import { execFile, spawn } from 'node:child_process'
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { blocksOf, root } from '../docs/markdown.ts'

const run = promisify(execFile)

let folder = ''
let tarball = ''

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'kalends-package-'))
  // Without scripts, because the package is already built and other tests are using the build.
  await run('npm', ['pack', '--ignore-scripts', '--pack-destination', folder], { cwd: root })
  tarball = (await readdir(folder)).find((file) => file.endsWith('.tgz')) ?? ''
  await writeFile(join(folder, 'package.json'), '{ "name": "empty", "private": true, "type": "module" }')
  await run(
    'npm',
    ['install', '--prefer-offline', '--no-audit', '--no-fund', `./${tarball}`, 'libsql@^0.5.29'],
    {
      cwd: folder,
    },
  )
}, 180_000)

afterAll(() => rm(folder, { recursive: true, force: true }))

test("the README's example runs as printed, and Ctrl-C stops it", async () => {
  const [example] = blocksOf(join(root, 'README.md'), ['js'])
  await writeFile(join(folder, 'example.js'), example?.text ?? '')
  const child = spawn(process.execPath, ['example.js'], { cwd: folder, stdio: ['ignore', 'pipe', 'pipe'] })
  let errors = ''
  child.stderr.on('data', (text: Buffer) => {
    errors += text.toString()
  })
  const code = new Promise((resolve) => child.once('close', (code, signal) => resolve(code ?? signal)))
  let greetings = 0
  for await (const text of child.stdout) {
    greetings +=
      String(text).match(/Hello world, it is \d{4}-\d\d-\d\dT\d\d:\d\d:\d[02468]\.000Z\n/g)?.length ?? 0
    if (greetings >= 2) child.kill('SIGINT')
  }
  expect(await code).toBe('SIGINT')
  expect(errors).toBe('')
  expect(greetings).toBe(2)
})

test('npx kalends works in an application that has installed it', async () => {
  const help = await run('npx', ['kalends', '--help'], { cwd: folder })
  expect(help.stdout).toMatch(/^Usage: kalends/)
  const migrated = await run('npx', ['kalends', 'migrate', '--database', 'sqlite:./cli.db'], { cwd: folder })
  expect(migrated.stdout).toContain('applied 0000_')
  const event = await run('npx', ['kalends', 'calendar', 'Mon..Fri 9:00 Europe/Berlin'], { cwd: folder })
  expect(event.stdout).toContain('Mon..Fri *-*-* 09:00:00 Europe/Berlin')
})

test('only the entry points can be imported', async () => {
  await writeFile(
    join(folder, 'entries.js'),
    `import { Kalends, task } from 'kalends'
     import { calendar } from 'kalends/calendar'
     import { timeSpan } from 'kalends/timer'
     const inside = await import('kalends/dist/kalends.js').catch((error) => error.code)
     console.log(typeof Kalends, typeof task, String(calendar('daily')), timeSpan('1h 30min'), inside)`,
  )
  const { stdout } = await run(process.execPath, ['entries.js'], { cwd: folder })
  expect(stdout).toBe('function function *-*-* 00:00:00 5400000 ERR_PACKAGE_PATH_NOT_EXPORTED\n')
})

test('the package contains only required files, and has no run-time dependency on drizzle', async () => {
  const shipped = join(folder, 'node_modules/kalends')
  expect((await readdir(shipped)).toSorted()).toEqual([
    'CHANGELOG.md',
    'LICENSE',
    'README.md',
    'dist',
    'drizzle',
    'package.json',
  ])
  const { dependencies }: { dependencies: Record<string, string> } = JSON.parse(
    await readFile(join(shipped, 'package.json'), 'utf8'),
  )
  expect(Object.keys(dependencies).toSorted()).toEqual([
    '@hono/node-server',
    'commander',
    'hono',
    'mysql2',
    'zod',
  ])
})

/** Allows time for builds and for installing hundreds of packages. */
const longest = 600_000
const recipes = join(root, 'scripts/recipes.mjs')

test.each(['bullmq', 'express', 'fastify', 'hono', 'nestjs-jest', 'nextjs', 'types', 'vite-ssr', 'vitest'])(
  'the recipe %s works [E1, E3, L63]',
  async (recipe) => {
    const { stdout } = await run(process.execPath, [recipes, join(folder, tarball), recipe])
    expect(stdout).toContain(`The recipe '${recipe}' works`)
  },
  longest,
)

// `npm run check:package` tests this on the machine's own Node.js version.
test.each(['20.19.0', '24'])(
  'on Node.js %s, require and import return the same modules without a warning',
  async (version) => {
    const command = `node --version && node ${recipes} ${join(folder, tarball)} plain`
    const { stdout, stderr } = await run('npx', ['-y', '--silent', '-p', `node@${version}`, '-c', command])
    expect(stdout).toMatch(new RegExp(`^v${version}`))
    expect(stdout).toContain("The recipe 'plain' works")
    expect(stderr).toBe('')
  },
  longest,
)
