/**
 * The database server dies, stalls, or rejects writes or connections, or an administrator kills the workers'
 * connections or statements.
 */
import { setTimeout as delay } from 'node:timers/promises'
import mysql, { type Connection } from 'mysql2/promise'
import { errorNumber } from '../../../src/store/mysql/errors.ts'
import type { Fault, FaultReport, Ground } from '../fault.ts'
import type { Random } from '../random.ts'
import type { Admin } from '../targets/admin.ts'
import { timed } from './held.ts'
import { seenByWorkers, withSeen } from './mending.ts'

/** The process of a private server, with the controls that faults need. */
export interface ServerProcess {
  readonly pid: number | null
  kill(): Promise<void>
  stop(): Promise<void>
  start(): Promise<void>
  signal(signal: NodeJS.Signals): void
}

/** @param part  the first part of the fault names, and what the faults affect */
export function serverProcessFaults(
  server: ServerProcess,
  leaseMs: number,
  part: { readonly name: string; readonly hit: string } = { name: 'server', hit: 'database' },
): Fault[] {
  const { name, hit } = part
  return [
    whole(`${name}.kill`, 3, 12_000, async (ground, random) => {
      const ms = random.int(0, 3000)
      await server.kill()
      let upMs = 0
      try {
        await ground.pause(ms)
      } finally {
        upMs = await timed(server.start())
      }
      return { hit, detail: `kill -9, restarted after ${ms} ms, responded ${upMs} ms later` }
    }),
    whole(`${name}.restart`, 3, 12_000, async () => {
      const stopMs = await timed(server.stop())
      const upMs = await timed(server.start())
      return { hit, detail: `stopped in ${stopMs} ms and started again in ${upMs} ms` }
    }),
    whole(`${name}.stand-still`, 3, leaseMs + 3500, async (ground, random) => {
      const ms = random.int(1500, leaseMs + 3000)
      server.signal('SIGSTOP')
      let seen: boolean | null = null
      try {
        await ground.pause(ms)
        seen = ms > leaseMs ? await seenByWorkers(ground) : null
      } finally {
        server.signal('SIGCONT')
      }
      return withSeen({ hit, detail: `stalled for ${ms} ms` }, seen)
    }),
  ]
}

/** One server, or one node of several. */
export interface ServerPlace {
  /** For people: 'database', 'n1'. */
  readonly name: string
  readonly admin: Admin
  /** Bypasses all proxies and signs in as the workers' user, whom some faults shut out. */
  readonly workerUrl: string
}

/**
 * @param places  some faults affect one of them, others all of them
 * @param writable  servers that a fault may make read-only and then writable again: not secondaries or replicas, which
 *   must stay read-only
 */
export function serverAdminFaults(
  places: readonly ServerPlace[],
  kind: 'mariadb' | 'mysql',
  writable = places,
): Fault[] {
  const variables = kind === 'mysql' ? ['super_read_only', 'read_only'] : ['read_only']
  const at =
    (
      those: readonly ServerPlace[],
      hurt: (place: ServerPlace, ground: Ground, random: Random) => Promise<Omit<FaultReport, 'hit'>>,
    ): Hurt =>
    async (ground, random) => {
      const place = random.pick(those)
      return { hit: place.name, ...(await hurt(place, ground, random)) }
    }
  return [
    whole(
      'server.read-only',
      4,
      7500,
      at(writable, async ({ admin }, ground, random) => {
        const variable = variables[0] ?? 'read_only'
        const ms = random.int(1500, 6000)
        let seen: boolean | null = null
        await admin.query(`SET GLOBAL ${variable} = 1`)
        try {
          await ground.pause(ms)
          seen = ms > 4000 ? await seenByWorkers(ground) : null
        } finally {
          for (const each of variables) await admin.query(`SET GLOBAL ${each} = 0`)
        }
        return withSeen({ detail: `${variable} for ${ms} ms` }, seen)
      }),
    ),
    whole(
      'server.full',
      3,
      7500,
      at(places, async ({ admin, workerUrl }, ground, random) => {
        const [limits] = await admin.query('SELECT @@GLOBAL.max_connections AS most')
        const most = Number(limits?.['most'])
        const idle: Connection[] = []
        const ms = random.int(1500, 5000)
        try {
          // Leave only ten connections free; otherwise, hundreds might be needed to reach the limit.
          await admin.query(`SET GLOBAL max_connections = ${(await connectionsNow(admin)) + 10}`)
          await takeAllPlaces(workerUrl, idle)
          // Kill some of the workers' connections, oldest first. The workers cannot reconnect, because the harness
          // takes the freed connections at once.
          const ended = await killAll(admin, userOf(workerUrl), (index) => index < 8)
          await takeAllPlaces(workerUrl, idle)
          await ground.pause(ms)
          return {
            detail: `${idle.length} idle connections used up max_connections for ${ms} ms; ${ended} other connections were killed`,
          }
        } finally {
          for (const connection of idle) connection.destroy()
          await admin.query(`SET GLOBAL max_connections = ${most}`)
        }
      }),
    ),
    whole('server.kill-connections', 4, 3000, async (ground, random) => {
      const times = random.int(1, 3)
      let killed = 0
      for (let time = 0; time < times; time += 1) {
        for (const { admin, workerUrl } of places) killed += await killAll(admin, userOf(workerUrl))
        await ground.pause(random.int(50, 700))
      }
      return { detail: `KILL of ${killed} connections, in ${times} rounds` }
    }),
    whole('server.kill-queries', 4, 3500, async (ground, random) => {
      const end = performance.now() + random.int(500, 3000)
      let killed = 0
      while (performance.now() < end) {
        for (const { admin, workerUrl } of places) killed += await killQueries(admin, userOf(workerUrl))
        await ground.pause(10)
      }
      return { detail: `KILL QUERY of ${killed} statements` }
    }),
  ]
}

/** `hit` is what the fault affected; absent if that is the whole database. */
type Hurt = (ground: Ground, random: Random) => Promise<Omit<FaultReport, 'hit'> & { readonly hit?: string }>

function whole(name: string, weight: number, lastsMs: number, hurt: Hurt): Fault {
  return {
    name,
    weight,
    lastsMs,
    scope: 'whole',
    run: async (ground, random) => ({ hit: 'database', ...(await hurt(ground, random)) }),
  }
}

function userOf(url: string): string {
  return decodeURIComponent(new URL(url).username)
}

async function connectionsNow(admin: Admin): Promise<number> {
  const [row] = await admin.query("SHOW GLOBAL STATUS LIKE 'Threads_connected'")
  return Number(row?.['Value'])
}

const TOO_MANY = 1040

async function takeAllPlaces(url: string, taken: Connection[]): Promise<void> {
  const deadline = performance.now() + 5000
  while (performance.now() < deadline) {
    try {
      const connection = await mysql.createConnection({ uri: url, connectTimeout: 3000 })
      connection.on('error', () => {})
      taken.push(connection)
    } catch (error) {
      if (errorNumber(error) !== TOO_MANY) throw error
      return
    }
  }
}

/** @returns how many connections of the user were killed */
async function killAll(
  admin: Admin,
  user: string,
  isMeant: (index: number) => boolean = () => true,
): Promise<number> {
  const ids = await connectionsOf(admin, user)
  let killed = 0
  await admin.connected(async (connection) => {
    for (const id of ids.filter((_, index) => isMeant(index))) {
      // It is not an error if the connection has just ended by itself.
      await connection.query(`KILL ${id}`).then(
        () => (killed += 1),
        () => {},
      )
    }
  })
  return killed
}

async function killQueries(admin: Admin, user: string): Promise<number> {
  return await admin.connected(async (connection) => {
    let killed = 0
    const [rows] = await connection.query<mysql.RowDataPacket[]>(
      "SELECT id FROM information_schema.processlist WHERE user = ? AND command IN ('Query', 'Execute')",
      [user],
    )
    for (const row of rows) {
      await connection.query(`KILL QUERY ${Number(row['id'] ?? row['ID'])}`).then(
        () => (killed += 1),
        () => {},
      )
    }
    if (rows.length === 0) await delay(1)
    return killed
  })
}

async function connectionsOf(admin: Admin, user: string): Promise<number[]> {
  const rows = await admin.query(
    `SELECT id AS id FROM information_schema.processlist WHERE user = '${user}' ORDER BY id`,
  )
  return rows.map((row) => Number(row['id']))
}
