/** Global server settings that Kalends cannot override in its sessions, tested on private servers. */
import { execFile } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { createConnection, createPool } from 'mysql2/promise'
import { afterAll, beforeAll, describe, expect, inject, it, onTestFinished } from 'vitest'
import { Kalends, type KalendsOptions, StoreUnavailableError, task } from '../../src/index.ts'
import { collect, until } from '../kalends/scene.ts'
import { databaseNames } from '../support/databases-run.ts'
import { orNotTested } from '../support/not-tested.ts'
import { findMariadb, mariadbPlan } from '../support/servers-mariadb.ts'
import { findMysql, mysqlPlan } from '../support/servers-mysql.ts'
import { type PrivateServer, type PrivateServerPlan, startPrivateServer } from '../support/servers-private.ts'
import { wantedDatabases } from '../support/servers.ts'

const run = promisify(execFile)
const tick = task('tick')
const OPTIONS: KalendsOptions = { pollInterval: 50, retention: false }

/** How to run the server; null if it cannot be tested here. The last lines of the run's output then report this. */
async function planOf(kind: 'mariadb' | 'mysql'): Promise<PrivateServerPlan | null> {
  if (!wantedDatabases(process.env).includes(kind)) return null
  const testRun = inject('testRun')
  const what = `Support for global settings of ${databaseNames[kind]}`
  // If the global setup could not provide a server, do not try again: that could install something.
  const missing = testRun.missing.find((server) => server.kind === kind)?.missing
  if (kind === 'mariadb') {
    const programs = orNotTested(testRun, what, missing ?? (await findMariadb()))
    return programs === null ? null : mariadbPlan(programs)
  }
  const program = orNotTested(testRun, what, missing ?? (await findMysql(process.env)))
  return program === null ? null : mysqlPlan(program)
}

/**
 * Creates a certificate authority and a server certificate. If the host is an IP address, the driver checks the
 * certificate for the name localhost.
 */
async function makeCertificates(folder: string): Promise<void> {
  const openssl = (...args: string[]) => run('openssl', args, { cwd: folder })
  const key = '-newkey rsa:2048 -nodes -days 2'.split(' ')
  const extension = 'subjectAltName=IP:127.0.0.1,DNS:localhost'
  const signed = ['-addext', extension, '-CA', 'ca.pem', '-CAkey', 'ca.key']
  await openssl('req', '-x509', ...key, '-keyout', 'ca.key', '-out', 'ca.pem', '-subj', '/CN=Test CA')
  await openssl(
    'req',
    '-x509',
    ...key,
    '-keyout',
    'server.key',
    '-out',
    'server.pem',
    '-subj',
    '/CN=test',
    ...signed,
  )
}

for (const kind of ['mariadb', 'mysql'] as const) {
  const plan = await planOf(kind)
  describe.skipIf(plan === null)(databaseNames[kind], () => {
    let server: PrivateServer
    let authority = ''

    beforeAll(async () => {
      if (plan === null) return
      const { folder, seen } = plan
      const LOWER = '--lower-case-table-names=1'
      const options = [
        LOWER,
        '--innodb-rollback-on-timeout=ON',
        '--log-bin=binlog',
        '--server-id=1',
        `--ssl-ca=${join(seen, 'ca.pem')}`,
        `--ssl-cert=${join(seen, 'server.pem')}`,
        `--ssl-key=${join(seen, 'server.key')}`,
      ]
      await makeCertificates(folder)
      authority = await readFile(join(folder, 'ca.pem'), 'utf8')
      server = await startPrivateServer({
        ...plan,
        initialize: kind === 'mysql' ? [...plan.initialize, LOWER] : plan.initialize,
        serve: (port) => plan.serve(port, { options }),
      })
      await sql('CREATE DATABASE app')
    }, 120_000)
    afterAll(() => server?.stop())

    async function sql(statement: string): Promise<void> {
      const connection = await createConnection(server.url)
      await connection.query(statement)
      await connection.end()
    }

    /** Sets a variable during the test and restores it afterwards. */
    async function globally(variable: string, value: string, before: string): Promise<void> {
      await sql(`SET GLOBAL ${variable} = ${value}`)
      onTestFinished(() => sql(`SET GLOBAL ${variable} = ${before}`))
    }

    async function opened(target: Parameters<typeof Kalends.open>[0]): Promise<Kalends> {
      const kalends = await Kalends.open(target, OPTIONS)
      onTestFinished(() => kalends.stop({ grace: 0 }))
      return kalends
    }

    async function expectRun(kalends: Kalends): Promise<void> {
      kalends.handle(tick, () => {})
      await kalends.start()
      await kalends.schedules.put('Due', { task: tick, timer: 'yearly' })
      // Another worker of the test may run it.
      const id = await kalends.schedules.runNow('Due')
      expect(await kalends.jobs.wait(id, { timeout: '100s' })).toMatchObject({ state: 'success' })
      expect(kalends.health()).toMatchObject({ ok: true })
    }

    it('lower_case_table_names = 1: tables whose prefix has uppercase letters are migrated once and found again', async () => {
      for (let time = 0; time < 2; time += 1) {
        const kalends = await Kalends.open(`${server.url}/app`, { ...OPTIONS, tablePrefix: 'App_' })
        onTestFinished(() => kalends.stop({ grace: 0 }))
        await expectRun(kalends)
        expect((await kalends.doctor()).map(({ problem }) => problem)).toEqual([])
        await kalends.stop({ grace: 0 })
      }
    })

    it('innodb_rollback_on_timeout = ON: a row that stays locked delays only its own schedule', async () => {
      const kalends = await opened(`${server.url}/app`)
      await kalends.schedules.put('held', { task: tick, timer: '*:*:*' })
      const other = await createConnection(`${server.url}/app`)
      onTestFinished(() => other.end())
      await other.query('START TRANSACTION')
      await other.query("SELECT id FROM periodic_task WHERE id = 'held' FOR UPDATE")
      const errors = collect(kalends, 'error')
      await expectRun(kalends)
      // No loop has waited for the row until the timeout.
      expect(errors).toEqual([])
      // A write to the locked row times out, which on such a server rolls back the whole transaction.
      await expect(kalends.schedules.update('held', { summary: 'x' })).rejects.toThrow(StoreUnavailableError)
      await other.query('ROLLBACK')
      await kalends.schedules.update('held', { summary: 'x' })
      expect(await kalends.schedules.get('held')).toMatchObject({ summary: 'x' })
    }, 120_000)

    it('binlog_format = STATEMENT: `open` is rejected with an error that names the remedy', async () => {
      const kalends = await opened(`${server.url}/app`)
      await kalends.schedules.put('Due', { task: tick, timer: 'yearly' })
      await globally('binlog_format', "'STATEMENT'", "'ROW'")
      const opening = Kalends.open(`${server.url}/app`, { ...OPTIONS, tablePrefix: 'statement_' })
      await expect(opening).rejects.toThrow(/binlog_format = ROW or MIXED/)
    })

    it('while the server is at max_connections, `open` throws a StoreUnavailableError; afterwards, it succeeds', async () => {
      await globally('max_connections', '12', '400')
      const others = await Promise.all(
        Array.from({ length: 13 }, () => createConnection(server.url).catch(() => null)),
      )
      const open = () => Kalends.open(`${server.url}/app`, OPTIONS)
      const refused = expect(open()).rejects
      await refused.toThrow(StoreUnavailableError)
      await expect(open()).rejects.toThrow(/raise max_connections/)
      for (const connection of others) await connection?.end()
      const kalends = await until(() => open().catch(() => null))
      onTestFinished(() => kalends.stop({ grace: 0 }))
      await expectRun(kalends)
    })

    it('TLS with a private certificate authority can be set up in the URL or in a pool; without the authority, the connection is rejected', async () => {
      await sql("CREATE USER secure@'%' IDENTIFIED BY 'secret' REQUIRE SSL")
      await sql("GRANT ALL ON app.* TO secure@'%'")
      const url = `${server.url.replace('root@', 'secure:secret@')}/app`
      const own = JSON.stringify({ ca: authority, verifyIdentity: true })
      await expectRun(await opened(`${url}?ssl=${encodeURIComponent(own)}`))
      const pool = createPool({ uri: url, ssl: { ca: authority } })
      onTestFinished(() => pool.end())
      await expectRun(await opened(pool))
      await expect(Kalends.open(url, OPTIONS)).rejects.toThrow(/Access denied/)
      const unknown = `${url}?ssl=${encodeURIComponent('{"verifyIdentity":true}')}`
      await expect(Kalends.open(unknown, OPTIONS)).rejects.toThrow(/self.signed certificate|unable to verify/)
    })
  })
}
