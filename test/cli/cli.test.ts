import { existsSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { describe, expect, test } from 'vitest'
import { eachDatabase } from '../support/databases.ts'
import { runHere, startHere } from './here.ts'
import { root, run, start, temporaryFolder } from './program.ts'

const CLI = 'dist/cli/main.js'

/** Writes an application module that imports kalends from this package, and returns its file name. */
async function moduleIn(folder: string, body: string, name = 'app.mjs'): Promise<string> {
  const index = pathToFileURL(join(root, 'dist/index.js')).href
  await writeFile(join(folder, name), `import { task } from '${index}'\n${body}\n`)
  return name
}

describe('help and usage', () => {
  test.each([['--help'], ['help'], ['start', '--help'], ['migrate', '--help'], ['calendar', '--help']])(
    'kalends %s %s prints examples and exits with 0',
    async (...args) => {
      const { code, stdout, stderr } = await runHere(args, { cwd: await temporaryFolder() })
      expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
      expect(stdout).toMatch(/^Usage: kalends/)
      expect(stdout).toContain('Examples:\n  $ kalends ')
    },
  )

  test.each([
    [['frobnicate'], /unknown command 'frobnicate'/],
    [['start', '--no-such-option'], /unknown option '--no-such-option'/],
    [['start', '--concurrency', 'many'], /--concurrency.*integer/],
    [['start', '--grace', '5 parsecs'], /--grace.*parsecs/],
    [['start', '--log-level', 'trace'], /--log-level.*debug, info, warn, error/],
    [['start', '--lease', '5 parsecs'], /option '--lease': .*parsecs/],
    [['start', '--zone', 'Mars/Olympus'], /option '--zone': .*Mars\/Olympus/],
    [['start', '--worker', 'a/b'], /option '--worker': .*a\/b/],
    [['start', '--redact', 'args.password,secret'], /option '--redact': .*"secret"/],
    [['start', '--no-scheduler'], /nothing else to do/],
    [['start', '--no-scheduler', '--no-executor'], /leave nothing to do/],
    [['start', 'missing.js'], /the module 'missing\.js' does not exist \(looked for \//],
    [['start', '.'], /'\.' is a folder/],
    [['migrate', '--database', 'postgres://localhost/app'], /option '--database': .*postgres/],
    [['migrate', '--table-prefix', 'a b'], /option '--table-prefix': .*"a b"/],
  ])('kalends %j is a usage error: one clear message and exit code 2', async (args, message) => {
    const { code, stdout, stderr } = await runHere(args, { cwd: await temporaryFolder() })
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
    expect(stderr).toMatch(message)
    expect(stderr).not.toMatch(/\n\s+at /)
  })
})

describe('modules that cannot be loaded', () => {
  test.each([
    [
      'no default export',
      'export const answer = 42',
      /a function as its default export; write\n {2}export default/,
    ],
    [
      'a default export that is not a function',
      'export default 42',
      /a function as its default export, got a value of type number/,
    ],
    ['an error when it is loaded', "throw new TypeError('boo')", /cannot be loaded: TypeError: boo/],
    [
      'an error in its function',
      "export default async () => { throw new Error('no mail server') }",
      /failed to set up Kalends: no mail server/,
    ],
    ['a missing dependency', "import 'no-such-package'", /cannot be loaded: .*no-such-package/],
    [
      'an invalid declared schedule',
      "export default (kalends) => kalends.declare('set', [{ task: task('mail'), timer: 'Mo 9:00' }])",
      /Nothing was started[^]*schedule 'mail': no handler[^]*schedule 'mail': .*Mo/,
    ],
  ])('%s: one message without a stack, exit code 1', async (_what, body, message) => {
    const cwd = await temporaryFolder()
    const { code, stderr } = await runHere(['start', await moduleIn(cwd, body)], { cwd })
    expect(stderr).toMatch(message)
    expect(stderr).not.toMatch(/\n\s+at /)
    expect(code).toBe(1)
  })

  test('--verbose shows the stack and the causes', async () => {
    const cwd = await temporaryFolder()
    const module = await moduleIn(cwd, "throw new TypeError('boo')")
    const { code, stderr } = await runHere(['start', module, '--verbose'], { cwd })
    expect(stderr).toMatch(/\n\s+at [^]*Caused by: TypeError: boo\n\s+at .*app\.mjs/)
    expect(code).toBe(1)
  })

  test('a TypeScript module runs if this version of Node.js can import it; otherwise the error says that it cannot', async () => {
    const cwd = await temporaryFolder()
    const module = await moduleIn(
      cwd,
      'const n: number = 1\nexport default () => { throw new Error(`n is ${n}`) }',
      'app.ts',
    )
    await writeFile(join(cwd, 'package.json'), '{ "type": "module" }')
    const { code, stderr } = await run(CLI, ['start', module], { cwd })
    const imports = 'typescript' in process.features && process.features.typescript !== false
    expect(stderr).toMatch(imports ? /n is 1/ : /cannot import TypeScript[^]*Node 22\.18/)
    expect(code).toBe(1)
  })
})

eachDatabase(({ fresh, bare }) => {
  test('kalends migrate applies each migration once per table prefix, and reads the URL from the environment', async () => {
    const cwd = await temporaryFolder()
    const database = await bare()
    const env = { KALENDS_DATABASE: database.url }
    expect(await runHere(['migrate'], { cwd, env })).toMatchObject({
      code: 0,
      stdout: expect.stringContaining('applied 0000_'),
    })
    expect(await runHere(['migrate', '--database', database.url], { cwd })).toMatchObject({
      code: 0,
      stdout: expect.stringContaining('up to date, nothing to do'),
    })
    expect(await runHere(['migrate', '--table-prefix', 'k_'], { cwd, env })).toMatchObject({
      code: 0,
      stdout: expect.stringContaining('applied 0000_'),
    })
    expect(await database.query('SELECT COUNT(*) AS n FROM k_periodic_task')).toEqual([{ n: 0 }])
    await database.drop()
  })

  test('kalends start runs the jobs of a module and stops cleanly on SIGINT', async () => {
    const cwd = await temporaryFolder()
    const database = await fresh()
    const module = await moduleIn(
      cwd,
      `const tick = task('tick')
       export default (kalends) => {
         kalends.handle(tick, ({ slot }) => { process.stdout.write('ran for ' + slot.toISOString() + '\\n') })
         kalends.declare('ticks', [{ task: tick, timer: '*:*:*' }])
         setInterval(() => {}, 1000) // open handles of a module must not keep the worker alive
       }`,
    )
    const worker = start(CLI, ['start', module, '--database', database.url, '--worker', 'test'], { cwd })
    await worker.until(/Kalends started worker=test\/\w+ tasks=\["tick","kalends.prune"\]/)
    await worker.until(/ran for .*\.000Z[^]*ran for .*\.000Z/)
    worker.child.kill('SIGINT')
    const { code, stdout, stderr } = await worker.ended
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    expect(stdout).toMatch(/Stopping.*signal=SIGINT[^]*Kalends stopped/)
    expect(await database.query('SELECT COUNT(*) AS n FROM worker')).toEqual([{ n: 0 }])
    await database.drop()
  })
})

describe('kalends start', () => {
  test('without a module, logs that other workers must run the jobs, and stops cleanly', async () => {
    const cwd = await temporaryFolder()
    const submitter = await startHere(['start', '--json'], { cwd })
    await submitter.until(/No module was given/)
    const { code, stdout } = await submitter.stop()
    expect(code).toBe(0)
    const lines = stdout
      .trim()
      .split('\n')
      .map((line): unknown => JSON.parse(line))
    expect(lines.at(-1)).toMatchObject({ level: 'info', msg: 'Kalends stopped' })
  })

  test('logs messages at or above the given --log-level', async () => {
    const cwd = await temporaryFolder()
    const module = await moduleIn(
      cwd,
      `export default (kalends) => {
         kalends.handle(task('fails'), () => { throw new Error('no') })
         kalends.on('settled', () => { process.stdout.write('settled ') })
         setTimeout(() => kalends.jobs.submit('fails', {}, { retries: 0 }), 50)
       }`,
    )
    const lines = async (level: string) => {
      const worker = start(CLI, ['start', module, '--json', '--log-level', level], { cwd })
      await worker.until(/settled/)
      worker.child.kill('SIGINT')
      const { stdout } = await worker.ended
      return new Set(Array.from(stdout.matchAll(/"level":"(\w+)"/gu), ([, found]) => found))
    }
    expect(await lines('warn')).toEqual(new Set(['warn']))
    expect(await lines('debug')).toEqual(new Set(['debug', 'info', 'warn']))
  })

  test('stops cleanly when nothing reads its log any longer', async () => {
    const cwd = await temporaryFolder()
    const module = await moduleIn(
      cwd,
      `import { writeFileSync } from 'node:fs'
       export default (kalends) => {
         kalends.handle(task('tick'), () => { process.stdout.write('tick\\n') })
         kalends.declare('ticks', [{ task: task('tick'), timer: 'every 200ms' }])
         const stop = kalends.stop.bind(kalends)
         kalends.stop = async (options) => { await stop(options); writeFileSync('stopped', '') }
       }`,
    )
    const worker = start(CLI, ['start', module], { cwd })
    await worker.until(/tick/)
    worker.child.stdout?.destroy()
    const { code } = await worker.ended
    expect(code).toBe(0)
    expect(existsSync(join(cwd, 'stopped'))).toBe(true)
  })

  test('ends at once on a second Ctrl-C', async () => {
    const cwd = await temporaryFolder()
    const module = await moduleIn(
      cwd,
      `export default (kalends) => {
         kalends.handle(task('stuck'), () => { process.stdout.write('stuck\\n'); return new Promise(() => {}) })
         kalends.on('started', () => {})
         setTimeout(() => kalends.jobs.submit('stuck'), 100)
       }`,
    )
    const worker = start(CLI, ['start', module], { cwd })
    await worker.until(/^stuck/m)
    worker.child.kill('SIGINT')
    await worker.until(/Stopping/)
    const again = setInterval(() => worker.child.kill('SIGINT'), 200)
    const { code } = await worker.ended
    clearInterval(again)
    expect(code).toBe(130)
  })
})

describe('the password in a database URL', () => {
  test.each(['mysql://app:s3cret@127.0.0.1:1/app', 'mysql://app:s3cret%40x@127.0.0.1:1/app'])(
    'is never printed: %s',
    async (url) => {
      const cwd = await temporaryFolder()
      for (const args of [['migrate'], ['start'], ['migrate', '--verbose']]) {
        const { code, stdout, stderr } = await runHere([...args, '--database', url], { cwd })
        expect(code).toBe(5)
        expect(stderr).toMatch(/^error: .*database does not respond/)
        expect(stdout + stderr).not.toContain('s3cret')
      }
    },
  )
})
