import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { run, start, temporaryFolder } from '../cli/program.ts'
import { eachDatabase } from '../support/databases.ts'

const MAIN = 'examples/dist/machine-watch/main.js'

eachDatabase(({ fresh }) => {
  test('machine watch lists its schedules, writes a digest at once, reports each run, and stops cleanly', async () => {
    const cwd = await temporaryFolder()
    const database = await fresh()
    const watch = start(MAIN, ['--database', database.url, '--port', '0'], { cwd })
    const [, page = ''] = /Web page: (\S+)/.exec(await watch.until(/Web page: .*\n/)) ?? []
    await watch.until(/SCHEDULE +TIMER +NEXT[^]*load +\*:\*:0\/10 .*in \d+ m?s/)
    await watch.until(/done +hourly-digest +wrote digests\/.*-hourly\.md/)
    await database.query("UPDATE periodic_task SET timer = '*:*:0/1' WHERE id = 'load'")
    await watch.until(
      /due +load +since \S+, \d+ m?s ago\n.*submitted load +next \S+\n[^]*running +load[^]*done +load +load \d/,
    )
    await watch.until(/(done +load[^]*){2}/)
    const answer = await fetch(page, { headers: { accept: 'text/html' } })
    expect(await answer.text()).toContain('<title>Kalends</title>')
    // The API requires the token from the link.
    const api = new URL('api/v1/schedules', page)
    expect((await fetch(api)).status).toBe(401)
    const [, token = ''] = /^#token=([\da-f]{64})$/.exec(new URL(page).hash) ?? []
    const schedules = await fetch(api, { headers: { authorization: `Bearer ${token}` } })
    expect(await schedules.json()).toMatchObject({ total: expect.any(Number) })
    watch.child.kill('SIGINT')
    const { code, stdout, stderr } = await watch.ended
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    expect(stdout).toMatch(/Stopped cleanly after .* submitted \d+ jobs and ran \d+ \(.*\); 0 failed\.\n$/)

    // Around midnight, there is also a daily digest.
    const files = await readdir(join(cwd, 'digests'))
    const file = files.find((name) => name.endsWith('-hourly.md')) ?? ''
    const digest = await readFile(join(cwd, 'digests', file), 'utf8')
    expect(digest).toMatch(/# Hourly machine digest\n[^]*\| \/ \| \d+ % \| .* \| .* \|/)
    expect(await database.query('SELECT COUNT(*) AS n FROM worker')).toEqual([{ n: 0 }])
    const [{ n } = {}] = await database.query("SELECT COUNT(*) AS n FROM machine_sample WHERE kind = 'load'")
    expect(n).toBeGreaterThanOrEqual(2)
    await database.drop()
  })

  test('machine watch warns of a full disk, writes the daily digest, and prunes its data', async () => {
    const cwd = await temporaryFolder()
    const database = await fresh()
    const watch = start(MAIN, ['--database', database.url, '--full-at', '0', '--keep', '3'], { cwd })
    await watch.until(/done +hourly-digest/)
    const old = "'2020-01-01 00:00:00'"
    await database.query(`INSERT INTO job (task, state, finished) VALUES ('load', 'success', ${old})`)
    await database.query(`INSERT INTO job_log (job_id, at, message) VALUES ('gone', ${old}, 'old')`)
    await database.query("INSERT INTO machine_sample VALUES ('test', 'load', '', 1, 1, 1)")
    await database.query(
      "UPDATE periodic_task SET nextrun = '2020-01-01 00:00:00' WHERE id IN ('disk-alarm', 'daily-digest', 'prune')",
    )
    await watch.until(/done +disk-alarm +WARNING: nearly full: \//)
    await watch.until(/done +daily-digest +wrote digests\/\d{4}-\d\d-\d\d-daily\.md/)
    await watch.until(/done +prune +deleted data older than 3 days; \d+ measurements and \d+ jobs remain/)
    const [left] = await database.query(
      `SELECT (SELECT COUNT(*) FROM job WHERE finished = ${old}) AS jobs, (SELECT COUNT(*) FROM job_log WHERE job_id = 'gone') AS logs, (SELECT COUNT(*) FROM machine_sample WHERE host = 'test') AS samples`,
    )
    expect(left).toEqual({ jobs: 0, logs: 0, samples: 0 })
    watch.child.kill('SIGTERM')
    expect(await watch.ended).toMatchObject({ code: 0, stderr: '' })
    await database.drop()
  })
})

test('machine watch describes its options, and reports an invalid URL', async () => {
  const cwd = await temporaryFolder()
  expect(await run(MAIN, ['--help'], { cwd })).toMatchObject({
    code: 0,
    stdout: expect.stringMatching(/^Usage: npm start/),
  })
  const wrong = await run(MAIN, ['--database', 'postgres://localhost/app'], { cwd })
  expect(wrong.code).toBe(1)
  expect(wrong.stderr).toMatch(/^error: .*postgres/)
})
