/**
 * Args are data: no value in a row becomes SQL, a program or a path. The test writes the rows in SQL, which bypasses
 * all checks in the library and the API.
 */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { commandTask, runCommand } from '../../src/cli/command-task.ts'
import type { Job } from '../../src/index.ts'
import { temporaryFolder } from '../cli/program.ts'
import { ended, scene } from '../kalends/scene.ts'
import { eachDatabase, type TestDatabase } from '../support/databases.ts'

const SECRET = 'the secret of another table'
const READ = `(SELECT value FROM secret LIMIT 1)`

/** Args as JSON strings, so that they can include what JSON.stringify never produces. */
const PRUNE_ARGS = [
  '{}',
  'null',
  '[]',
  '"0"',
  '[1000, 1]',
  '{"ageMs": -1000000, "perSchedule": 1}',
  '{"ageMs": 0, "perSchedule": 1}',
  '{"ageMs": 999, "perSchedule": 1}',
  '{"ageMs": null, "perSchedule": 1}',
  '{"ageMs": "1000", "perSchedule": 1}',
  '{"ageMs": [1000], "perSchedule": 1}',
  '{"ageMs": {"valueOf": 1000}, "perSchedule": 1}',
  '{"ageMs": 1000.5, "perSchedule": 1}',
  '{"ageMs": 1e300, "perSchedule": 1}',
  '{"ageMs": 9007199254740993, "perSchedule": 1}',
  '{"ageMs": true, "perSchedule": 1}',
  '{"ageMs": 1000}',
  '{"perSchedule": 1}',
  '{"ageMs": 1000, "perSchedule": null}',
  '{"ageMs": 1000, "perSchedule": 0}',
  '{"ageMs": 1000, "perSchedule": -1}',
  '{"ageMs": 1000, "perSchedule": 1.5}',
  '{"ageMs": 1000, "perSchedule": 1e300}',
  '{"ageMs": 1000, "perSchedule": "1"}',
  '{"ageMs": 1000, "perSchedule": ["0 OR 1 = 1"]}',
  '{"ageMs": 1000, "perSchedule": {"toString": "0 OR 1 = 1"}}',
  '{"ageMs": 1000, "perSchedule": 1, "limit": 1}',
  '{"ageMs": 1000, "perSchedule": 1, "1 UNION SELECT value FROM secret": 1}',
  '{"ageMs": 1000, "perSchedule": 1, "__proto__": {"ageMs": 0}}',
  '{"__proto__": {"ageMs": 1000, "perSchedule": 1}}',
  '{"ageMs": 1000, "perSchedule": 1, "constructor": {"prototype": {}}}',
  ...[
    '0 OR 1 = 1',
    '0; DELETE FROM job',
    '0 UNION SELECT value FROM secret',
    `0 OR extractvalue(1, concat(0x7e, ${READ}))`,
    `0 OR ${READ} LIKE 'the%'`,
    '0) -- ',
    '0 /*',
    "0' OR '1' = '1",
  ].map((sql) => JSON.stringify({ ageMs: 3_600_000_000_000, perSchedule: sql })),
]

/** Args for a command that would create the file if it ran. */
function commandArgs(file: string): string[] {
  const argv = ['touch', file]
  return [
    '{}',
    'null',
    '[]',
    JSON.stringify(argv),
    JSON.stringify(argv.join(' ')),
    ...[
      { argv: argv.join(' ') },
      { argv: [] },
      { argv: ['', ...argv] },
      { argv: [...argv, 1] },
      { argv: [argv] },
      { argv: [...argv, 'nul\0'] },
      { argv, shell: argv.join(' ') },
      { shell: argv },
      { shell: { toString: argv.join(' ') } },
      { shell: `${argv.join(' ')}\0` },
      { argv, shellPath: 1 },
      { argv, cwd: ['/'] },
      { argv, cwd: '/\0' },
      { argv, stdin: 1 },
      { argv, env: ['PATH=/'] },
      { argv, env: null },
      { argv, env: { A: 1 } },
      { argv, env: { 'A=B': 'x' } },
      { argv, env: { '': 'x' } },
      { argv, env: { A: 'nul\0' } },
      { argv, user: 'root; id' },
      { argv, user: '-c' },
      { argv, user: ['root'] },
      { argv, user: "x' OR '1' = '1" },
      { argv, uid: 0 },
      { argv, '1 UNION SELECT value FROM secret': 1 },
      { argv, constructor: 1 },
    ].map((args) => JSON.stringify(args)),
    `{"argv": ${JSON.stringify(argv)}, "__proto__": {"user": "root"}}`,
    `{"__proto__": {"argv": ${JSON.stringify(argv)}}}`,
  ]
}

async function submitted(database: TestDatabase, task: string, all: readonly string[]): Promise<string[]> {
  const ids = all.map((_, index) => `${task}-${String(index).padStart(3, '0')}`)
  for (const [index, args] of all.entries()) {
    await database.query('INSERT INTO job (id, task, args, max_retries) VALUES (?, ?, ?, 5)', [
      ids[index],
      task,
      args,
    ])
  }
  return ids
}

/** Checks that each job failed permanently at its first attempt, and that its error reveals no database content. */
function expectRefused(jobs: readonly Job[], all: readonly string[]): void {
  for (const [index, { state, reason, attempt, error }] of jobs.entries()) {
    expect({ state, reason, attempt }, `${all[index]}\n${error}`).toEqual({
      state: 'failed',
      reason: 'permanent',
      attempt: 1,
    })
    expect(error, all[index]).toContain('does not match the args of the task')
    expect(error, all[index]).not.toMatch(
      /\b(SQL|SQLITE\w*|SELECT|UNION|DELETE|XPATH|extractvalue|secret|syntax|OR '?1)\b/i,
    )
  }
}

eachDatabase((under) => {
  it('hostile args cannot make kalends.prune delete other rows or read anything [L45]', async () => {
    const { open, database } = await scene(under)
    // With this age, the built-in housekeeping deletes none of the rows.
    const kalends = await open({ retention: { age: '36500d' } })
    await database.query('CREATE TABLE secret (value VARCHAR(100))')
    await database.query('INSERT INTO secret (value) VALUES (?)', [SECRET])
    for (const slot of ['2026-01-01 00:00:00.000', '2026-01-02 00:00:00.000', '2026-01-03 00:00:00.000']) {
      await database.query(
        "INSERT INTO job (id, task, periodic_task_id, slot, state, finished) VALUES (?, 'work', 's', ?, 'success', ?)",
        [`kept-${slot}`, slot, slot],
      )
    }
    const ids = await submitted(database, 'kalends.prune', PRUNE_ARGS)
    await kalends.start()
    const jobs = await Promise.all(ids.map((id) => ended(kalends, id)))

    expectRefused(jobs, PRUNE_ARGS)
    expect(await database.query("SELECT COUNT(*) AS n FROM job WHERE task = 'work'")).toEqual([{ n: 3 }])
    expect(await database.query('SELECT value FROM secret')).toEqual([{ value: SECRET }])
  })

  it('the `command` task runs nothing if its args are invalid [L45]', async () => {
    const { open, database } = await scene(under)
    const file = join(await temporaryFolder(), 'made')
    const kalends = await open()
    kalends.handle(commandTask, (context) => runCommand(context, null))
    const all = commandArgs(file)
    const ids = await submitted(database, 'command', all)
    await kalends.start()
    const jobs = await Promise.all(ids.map((id) => ended(kalends, id)))

    expectRefused(jobs, all)
    expect(existsSync(file)).toBe(false)
  })

  it('invalid args of a built-in task are rejected at every entry point', async () => {
    const { open } = await scene(under)
    const kalends = await open({ retention: { age: '36500d' } })
    kalends.handle(commandTask, (context) => runCommand(context, null))
    await kalends.start({ scheduler: false })
    const refused = { code: 'KALENDS_INVALID_INPUT', field: 'args' }
    const args = { ageMs: -1, perSchedule: '0 OR 1 = 1' }
    await expect(kalends.jobs.submit('kalends.prune', args)).rejects.toMatchObject(refused)
    await expect(
      kalends.schedules.create({ task: 'kalends.prune', timer: 'daily', args }),
    ).rejects.toMatchObject(refused)
    await expect(kalends.jobs.submit('command', { argv: 'ls' })).rejects.toMatchObject(refused)
  })
})
