/** Edge cases of the command line: narrow terminals, no terminal, closed pipes, colours, an unavailable database. */
import { spawn, spawnSync } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, inject, onTestFinished, test } from 'vitest'
import { type Column, tableText } from '../../src/cli/table.ts'
import { harmlessText } from '../../src/cli/output.ts'
import { hasProgram } from '../support/not-tested.ts'
import { type Ended, root, run, temporaryFolder } from './program.ts'

const CLI = 'dist/cli/main.js'
const program = `'${process.execPath}' '${join(root, CLI)}'`

/** A folder with a database that contains three schedules. */
async function folder(): Promise<{ cwd: string; cli: (...args: string[]) => Promise<Ended> }> {
  const cwd = await temporaryFolder()
  const cli = (...args: string[]) => run(CLI, args, { cwd })
  await cli('migrate')
  for (const id of ['one', 'two', 'a-rather-long-name-of-a-schedule'])
    await cli('schedules', 'add', id, '--task', 'x', '--timer', 'daily', '--summary', 'none of yours')
  return { cwd, cli }
}

/** Runs a shell command in a terminal that util-linux's `script` provides. */
function atTerminal(
  line: string,
  cwd: string,
  options: { input?: string; env?: Record<string, string> } = {},
): Promise<{ code: number | null; output: string }> {
  // With CI set, Node.js assumes a terminal without colours.
  const { NO_COLOR: _, KALENDS_DATABASE: __, COLUMNS: ___, CI: ____, ...env } = process.env
  const child = spawn('script', ['-qec', line, '/dev/null'], {
    cwd,
    env: { ...env, TERM: 'xterm', ...options.env },
  })
  onTestFinished(() => void child.kill('SIGKILL'))
  let output = ''
  let asked = false
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    output += text
    if (!asked && output.includes('[y/N]') && options.input !== undefined) {
      asked = true
      child.stdin.write(options.input)
    }
  })
  return new Promise((resolve) => child.once('close', (code) => resolve({ code, output })))
}

const hasScript = await hasProgram(inject('testRun'), 'The CLI at a terminal', 'script', 'bsdutils')
const hasBash = await hasProgram(inject('testRun'), 'The CLI in bash', 'bash')

describe.runIf(hasScript)('at a terminal', () => {
  test('output has colours unless NO_COLOR is set or the terminal is dumb', async () => {
    const { cwd } = await folder()
    expect((await atTerminal(`${program} schedules list`, cwd)).output).toContain(
      '\u001b[32mactive\u001b[39m',
    )
    for (const env of [{ NO_COLOR: '1' }, { TERM: 'dumb' }])
      expect((await atTerminal(`${program} schedules list`, cwd, { env })).output).not.toContain('\u001b[')
  })

  test('lines are at most as wide as the terminal; the least important columns are dropped first', async () => {
    const { cwd } = await folder()
    const shown = async (columns: number) => {
      const { output } = await atTerminal(`stty cols ${columns}; ${program} schedules list`, cwd, {
        env: { NO_COLOR: '1' },
      })
      const lines = output.split('\r\n').filter((line) => line !== '')
      for (const line of lines.slice(0, 4)) expect(line.length, line).toBeLessThanOrEqual(columns)
      return lines
    }
    expect((await shown(200))[0]).toMatch(/^NEXT +LEFT +LAST +PASSED +SCHEDULE +STATE$/)
    expect((await shown(39)).join('\n')).toMatch(/SCHEDULE[^]*a-rather-long-na\S*…/)
    // Wide enough for the longest time in LEFT, such as 23 h 59 min, but not for other optional columns.
    expect((await shown(31))[0]).toMatch(/SCHEDULE +STATE$/)
  })

  test('destructive commands ask for confirmation and accept only yes', async () => {
    const { cwd, cli } = await folder()
    for (const input of ['\n', 'n\n', 'maybe\n']) {
      const { code, output } = await atTerminal(`${program} schedules rm one`, cwd, { input })
      expect(code).toBe(1)
      expect(output).toMatch(/Delete the schedule 'one'\? \[y\/N\][^]*Nothing was changed\./)
    }
    expect((await atTerminal(`${program} schedules rm one`, cwd, { input: '\u0003' })).code).toBe(130)
    expect((await cli('schedules', 'show', 'one')).code).toBe(0)
    expect((await atTerminal(`${program} schedules rm one`, cwd, { input: 'y\n' })).output).toContain(
      'one: deleted',
    )
    expect((await cli('schedules', 'show', 'one')).code).toBe(3)
  })
})

describe('without a terminal', () => {
  test('output has no colours, no width limit and no questions, and messages are separate from data', async () => {
    const { cli } = await folder()
    const { stdout, stderr } = await cli('schedules', 'list')
    expect(stdout).not.toContain('\u001b')
    expect(stdout).toContain('a-rather-long-name-of-a-schedule')
    expect(stdout.trim().split('\n')).toHaveLength(4)
    expect(stderr).toBe('3 schedules listed.\n')
    expect((await cli('prune')).code).toBe(2)
  })

  test('COLUMNS sets the width', async () => {
    const { cwd } = await folder()
    const { stdout } = await run(CLI, ['schedules', 'list'], { cwd, env: { COLUMNS: '40' } })
    for (const line of stdout.trimEnd().split('\n')) expect(line.length).toBeLessThanOrEqual(40)
  })

  test.runIf(hasBash)('a pipe that is closed early ends the command without an error', async () => {
    const { cwd } = await folder()
    const lines = [
      `${program} schedules list --json | head -n 1 > /dev/null; echo "\${PIPESTATUS[0]}"`,
      `${program} calendar minutely --iterations 10000 | head -n 1 > /dev/null; echo "\${PIPESTATUS[0]}"`,
      `${program} schedules list --json | true; echo "\${PIPESTATUS[0]}"`,
    ]
    for (const line of lines) {
      const { stdout, stderr } = spawnSync('bash', ['-c', line], { cwd, encoding: 'utf8' })
      expect({ stdout, stderr: stderr.replace(/^3 schedules listed\.\n/, '') }, line).toEqual({
        stdout: '0\n',
        stderr: '',
      })
    }
  })

  test('Ctrl-C ends a waiting command with exit code 130', async () => {
    const { cwd, cli } = await folder()
    const job = (await cli('jobs', 'submit', 'nobody')).stdout.trim()
    const child = spawn(process.execPath, [join(root, CLI), 'jobs', 'logs', '--follow', job], {
      cwd,
      stdio: 'ignore',
    })
    const ended = new Promise((resolve) => child.once('close', resolve))
    const timer = setInterval(() => child.kill('SIGINT'), 500)
    // Until the command installs its handler, the signal itself ends the command.
    expect([130, null]).toContain(await ended)
    clearInterval(timer)
  })
})

describe('the database', () => {
  test('comes from the flag, the environment, the configuration file or the default, in this order', async () => {
    const cwd = await temporaryFolder()
    const named = async (args: string[], env: Record<string, string> = {}) =>
      /'(.*?)' does not exist \(from (.*?)\)/
        .exec((await run(CLI, ['schedules', 'list', ...args], { cwd, env })).stderr)
        ?.slice(1)
    expect(await named([])).toEqual(['./kalends.db', 'the default'])
    await writeFile(join(cwd, 'kalends.config.json'), '{ "database": "sqlite:./config.db" }')
    expect(await named([])).toEqual([join(cwd, 'config.db'), 'kalends.config.json'])
    await writeFile(join(cwd, 'other.json'), '{ "database": "sqlite:./other.db", "tablePrefix": "k_" }')
    expect(await named(['--config', 'other.json'])).toEqual([join(cwd, 'other.db'), 'other.json'])
    expect(await named(['--config', 'other.json'], { KALENDS_DATABASE: 'sqlite:./env.db' })).toEqual([
      './env.db',
      'KALENDS_DATABASE',
    ])
    expect(await named(['--database', 'sqlite:./flag.db'], { KALENDS_DATABASE: 'sqlite:./env.db' })).toEqual([
      './flag.db',
      '--database',
    ])
    await run(CLI, ['migrate', '--config', 'other.json'], { cwd })
    expect((await run(CLI, ['doctor', '--config', 'other.json'], { cwd })).code).toBe(0)
    expect((await run(CLI, ['doctor', '--database', 'sqlite:./other.db'], { cwd })).code).toBe(1)
    expect(
      (
        await run(CLI, ['doctor', '--database', 'sqlite:./other.db'], {
          cwd,
          env: { KALENDS_TABLE_PREFIX: 'k_' },
        })
      ).code,
    ).toBe(0)
  })

  test.each([
    ['{', 'cannot be read'],
    ['[]', 'JSON object'],
    ['{"databse":"x"}', "unknown key 'databse'"],
    ['{"database":5}', 'must be a string'],
  ])('a configuration file with %s is rejected', async (text, why) => {
    const cwd = await temporaryFolder()
    await writeFile(join(cwd, 'kalends.config.json'), text)
    const { code, stderr } = await run(CLI, ['schedules', 'list'], { cwd })
    expect(code).toBe(2)
    expect(stderr).toContain(why)
  })

  test('if it is unavailable, every command that needs it exits with 5', async () => {
    const cwd = await temporaryFolder()
    const down = ['--database', 'mysql://root:s3cret@127.0.0.1:1/app']
    const commands = [
      ['schedules', 'list'],
      ['schedules', 'show', 'x'],
      ['jobs', 'list'],
      ['jobs', 'submit', 'x'],
      ['workers'],
      ['doctor'],
      ['prune', '--yes'],
      ['migrate'],
    ]
    for (const args of commands) {
      const { code, stdout, stderr } = await run(CLI, [...args, ...down], { cwd })
      expect({ code, stdout }, args.join(' ')).toEqual({ code: 5, stdout: '' })
      expect(stderr).toMatch(/^error: .*database does not respond/)
      expect(stderr).not.toContain('s3cret')
    }
    const { code, stderr } = await run(CLI, ['schedules', 'list'], { cwd })
    expect(code).toBe(5)
    expect(stderr).toContain("create it with 'kalends migrate'")
  })
})

describe('help', () => {
  const commands = [
    'schedules',
    'schedules list',
    'schedules show',
    'schedules add',
    'schedules edit',
    'schedules pause',
    'schedules resume',
    'schedules run',
    'schedules reset',
    'schedules rm',
    'schedules history',
    'schedules explain',
    'jobs',
    'jobs list',
    'jobs show',
    'jobs logs',
    'jobs cancel',
    'jobs retry',
    'jobs submit',
    'workers',
    'check',
    'doctor',
    'prune',
    'import',
    'import crontab',
    'completion',
  ]
  test.each(commands)('kalends %s --help prints examples', async (command) => {
    const { code, stdout, stderr } = await run(CLI, [...command.split(' '), '--help'], {
      cwd: await temporaryFolder(),
    })
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    expect(stdout).toMatch(/^Usage: kalends/)
    expect(stdout).toMatch(/Examples:\n {2}\$ /)
  })

  test('loads no heavy modules', async () => {
    const cwd = await temporaryFolder()
    // Node.js writes the names of the loaded modules to files in this folder.
    await run(CLI, ['--help'], { cwd, env: { NODE_V8_COVERAGE: join(cwd, 'loaded') } })
    const loaded = readdirSync(join(cwd, 'loaded')).flatMap((name) => {
      const { result }: { result: { url: string }[] } = JSON.parse(
        readFileSync(join(cwd, 'loaded', name), 'utf8'),
      )
      return result.map(({ url }) => url).filter((url) => url.startsWith('file:'))
    })
    expect(loaded.filter((url) => url.endsWith('/dist/cli/main.js'))).toHaveLength(1)
    expect(loaded.filter((url) => /node_modules\/(?!commander\/)/.test(url))).toEqual([])
    expect(loaded.length).toBeLessThan(25)
  })
})

describe('kalends check', () => {
  const index = JSON.stringify(new URL('../../dist/index.js', import.meta.url).href)
  const check = async (body: string, ...args: string[]) => {
    const cwd = await temporaryFolder()
    await writeFile(
      join(cwd, 'app.mjs'),
      `import { task } from ${index}\nexport default (kalends) => {\n${body}\n}\nsetInterval(() => {}, 1000)\n`,
    )
    return run(CLI, ['check', 'app.mjs', ...args], { cwd })
  }

  test('reports success and leaves no database behind', async () => {
    const body =
      "kalends.handle(task('a'), () => {}); kalends.declare('s', [{ task: task('a'), timer: 'daily' }])"
    expect(await check(body)).toMatchObject({ code: 0, stdout: 'app.mjs: no problems\n', stderr: '' })
    expect(await check(body, '--json')).toMatchObject({ code: 0, stdout: '{"ok":true,"problems":[]}\n' })
  })

  test('reports all problems at once and exits with 1', async () => {
    const body =
      "kalends.declare('s', [{ task: task('a'), timer: 'Mo 9:00' }, { task: task('a'), timer: 'daily', catchUp: -1 }])"
    const { code, stdout, stderr } = await check(body)
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' })
    expect(stderr).toMatch(/did you mean Mon[^]*declared twice[^]*catchUp/)
    const json = await check(body, '--json')
    const { ok, problems }: { ok: boolean; problems: string[] } = JSON.parse(json.stdout)
    expect(ok).toBe(false)
    expect(problems.length).toBeGreaterThan(3)
    expect((await check("throw new Error('boo')")).code).toBe(1)
  })
})

describe('completion', () => {
  /** An environment in which the completion scripts find the program `kalends`. */
  const environment = async () => {
    const folder = await temporaryFolder()
    await writeFile(join(folder, 'kalends'), `#!/bin/sh\nexec ${program} "$@"\n`, { mode: 0o755 })
    return { ...process.env, PATH: `${folder}:${process.env['PATH']}` }
  }
  const complete = async (...words: string[]) => {
    const { stdout } = await run(CLI, ['completion', 'bash'], { cwd: await temporaryFolder() })
    const line = `${stdout}\nCOMP_WORDS=(${words.map((word) => `'${word}'`).join(' ')}); COMP_CWORD=${words.length - 1}; _kalends; printf '%s\\n' "\${COMPREPLY[@]}"`
    const env = await environment()
    return spawnSync('bash', ['-c', line], { encoding: 'utf8', env }).stdout.trim().split('\n')
  }

  test.runIf(hasBash)('bash completes commands, options and their choices', async () => {
    expect(await complete('kalends', 'sch')).toEqual(['schedules'])
    expect(await complete('kalends', 'schedules', 're')).toEqual(['resume', 'reset'])
    expect(await complete('kalends', 'schedules', 'list', '--st')).toEqual(['--status'])
    expect(await complete('kalends', 'schedules', 'list', '--status', 'd')).toEqual(['done', 'dead'])
    expect(await complete('kalends', 'schedules', 'list', '-d', '')).toEqual([''])
    expect(await complete('kalends', '--verbose', 'jobs', 'ca')).toEqual(['cancel'])
    expect(await complete('kalends', 'jobs', 'show', 'x')).toEqual([''])
  })

  test.runIf(spawnSync('fish', ['--version']).status === 0)('fish completes the same', async () => {
    const { stdout } = await run(CLI, ['completion', 'fish'], { cwd: await temporaryFolder() })
    const env = await environment()
    const completed = (line: string) =>
      spawnSync('fish', ['--no-config', '-c', `${stdout}\ncomplete -C '${line}'`], {
        encoding: 'utf8',
        env,
      }).stdout.match(/^[\w-]+/gm)
    expect(completed('kalends schedules re')).toEqual(['reset', 'resume'])
    expect(completed('kalends schedules list --status d')).toEqual(['dead', 'done'])
    expect(completed('kalends jobs list --sub')).toEqual(['--submitter'])
  })

  test('zsh and fish have scripts, and other shells are rejected with a list of supported ones', async () => {
    const cwd = await temporaryFolder()
    expect((await run(CLI, ['completion', 'zsh'], { cwd })).stdout).toMatch(/^#compdef kalends\n/)
    expect((await run(CLI, ['completion', 'fish'], { cwd })).stdout).toContain('complete -c kalends ')
    expect((await run(CLI, ['completion', 'fish', '--', 'jobs', 'ca'], { cwd })).stdout).toBe(
      'cancel\tcancel waiting jobs, stop running ones\n',
    )
    const { code, stderr } = await run(CLI, ['completion', 'csh'], { cwd })
    expect(code).toBe(2)
    expect(stderr).toContain('bash, zsh, fish')
  })
})

describe('tables', () => {
  const columns: Column<readonly [string, string, string]>[] = [
    { title: 'A', value: ([a]) => a, least: 4 },
    { title: 'B', value: ([, b]) => b, align: 'right' },
    { title: 'C', value: ([, , c]) => c, optional: 1 },
  ]
  test.each([
    [Infinity, 'A                   B  C\n漢字漢字漢字漢字  1.5  third\n'],
    [20, 'A           B  C\n漢字漢…   1.5  third\n'],
    [12, 'A          B\n漢字漢…  1.5\n'],
    [3, 'A       B\n漢…   1.5\n'],
  ])('%d cells wide', (width, expected) => {
    expect(tableText(columns, [['漢字漢字漢字漢字', '1.5', 'third']], width)).toBe(expected)
  })

  test('control characters are shown escaped, not sent to the terminal', () => {
    expect(harmlessText('a\u001b[2Jb\nc\td\u0007\u202ee')).toBe('a\\x1b[2Jb\\nc\\td\\x07\\u202ee')
  })
})
