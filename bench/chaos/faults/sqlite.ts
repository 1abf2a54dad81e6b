/** Faults of a SQLite file: a worker dies while writing, or another process locks, reads, copies or checkpoints it. */
import { readFile, rm, stat } from 'node:fs/promises'
import { setTimeout as delay } from 'node:timers/promises'
import type { Fault, FaultReport, Ground, Member } from '../fault.ts'
import type { Random } from '../random.ts'
import type { SqliteProcess } from '../targets/sqlite-process.ts'
import { reachingAll, withMember } from './held.ts'

export interface SqliteFile {
  readonly path: string
  /** Opens a new connection in a separate process. */
  readonly connect: (path?: string) => Promise<SqliteProcess>
}

export function sqliteFaults(file: SqliteFile): Fault[] {
  return [
    reachingAll(killInWrite(file)),
    beside(file, 'sqlite.write-lock', 5, 7500, async (other, ground, random) => {
      const ms = random.int(1000, 6000)
      await other.rows('BEGIN IMMEDIATE')
      await ground.pause(ms)
      await other.rows('ROLLBACK')
      return { detail: `another process held the write lock for ${ms} ms` }
    }),
    beside(file, 'sqlite.long-read', 3, 7500, async (other, ground, random) => {
      const ms = random.int(2000, 6000)
      await other.rows('BEGIN')
      const count = async () => Number((await other.rows('SELECT COUNT(*) AS n FROM job'))[0]?.['n'])
      const first = await count()
      await ground.pause(ms)
      const second = await count()
      await other.rows('ROLLBACK')
      const detail = `a read of ${first} jobs stayed open for ${ms} ms`
      return first === second
        ? { detail }
        : { detail, trouble: `its snapshot changed from ${first} to ${second} jobs` }
    }),
    beside(file, 'sqlite.checkpoint', 3, 3000, async (other, _ground, random) => {
      const mode = random.pick(['PASSIVE', 'FULL', 'RESTART', 'TRUNCATE'])
      // Except in the mode PASSIVE, the checkpoint waits up to this long for the readers and the writer.
      await other.rows('PRAGMA busy_timeout = 1000')
      const [row] = await other.rows(`PRAGMA wal_checkpoint(${mode})`)
      return { detail: `wal_checkpoint(${mode}): ${JSON.stringify(row)}` }
    }),
    beside(file, 'sqlite.backup', 3, 6000, (other) => backup(other, file)),
  ]
}

type Beside = (other: SqliteProcess, ground: Ground, random: Random) => Promise<Omit<FaultReport, 'hit'>>

function beside(file: SqliteFile, name: string, weight: number, lastsMs: number, work: Beside): Fault {
  return {
    name,
    weight,
    lastsMs,
    scope: 'whole',
    async run(ground, random) {
      const other = await file.connect()
      try {
        return { hit: 'file', ...(await work(other, ground, random)) }
      } finally {
        await other.close()
      }
    },
  }
}

const CATCH_WITHIN_MS = 3000

function killInWrite(file: SqliteFile): Fault {
  return {
    name: 'sqlite.kill-in-write',
    weight: 8,
    lastsMs: 7500,
    scope: 'worker',
    run: (ground, random) =>
      withMember(ground, random, async (member) => {
        const isCaught = await caughtInWrite(member, file.path)
        await member.kill()
        const faulty = await integrity(await file.connect())
        await member.start()
        const detail = isCaught
          ? 'kill -9 while it held the write lock'
          : `kill -9; the worker did not take the write lock within ${CATCH_WITHIN_MS} ms`
        return faulty === null ? { detail } : { detail, trouble: `the file is corrupt: ${faulty}` }
      }),
  }
}

/** Suspends the worker while it holds the write lock. @returns false if it did not take the lock in time */
async function caughtInWrite(member: Member, path: string): Promise<boolean> {
  const deadline = performance.now() + CATCH_WITHIN_MS
  while (performance.now() < deadline) {
    member.signal('SIGSTOP')
    if (await holdsWriteLock(member.pid, path)) return true
    member.signal('SIGCONT')
    await delay(1)
  }
  return false
}

/** The byte of the `-shm` file that a writer locks in WAL mode. */
const WRITE_LOCK_BYTE = 120

async function holdsWriteLock(pid: number, path: string): Promise<boolean> {
  const { ino } = await stat(`${path}-shm`)
  const locks = await readFile('/proc/locks', 'utf8')
  // `1: POSIX  ADVISORY  WRITE 4711 fe:00:131 120 120`
  return locks.split('\n').some((line) => {
    const [, , , mode, holder, place, from, to] = line.split(/\s+/)
    return (
      mode === 'WRITE' &&
      Number(holder) === pid &&
      place?.split(':').at(-1) === String(ino) &&
      Number(from) <= WRITE_LOCK_BYTE &&
      (to === 'EOF' || WRITE_LOCK_BYTE <= Number(to))
    )
  })
}

/** Checks the file and closes the connection. @returns null if the file is intact */
async function integrity(connection: SqliteProcess): Promise<string | null> {
  try {
    const rows = await connection.rows('PRAGMA integrity_check')
    const told = rows.map((row) => String(row['integrity_check'])).join('; ')
    return told === 'ok' ? null : told
  } finally {
    await connection.close()
  }
}

/** Copies the file while the workers run, and checks that the copy is a consistent snapshot. */
async function backup(other: SqliteProcess, file: SqliteFile): Promise<Omit<FaultReport, 'hit'>> {
  const path = `${file.path}.copy`
  await rm(path, { force: true })
  try {
    const from = performance.now()
    await other.rows('VACUUM INTO ?', [path])
    const ms = Math.round(performance.now() - from)
    const copy = await file.connect(path)
    const [half] = await copy.rows(
      `SELECT COUNT(*) AS n FROM job JOIN periodic_task ON periodic_task.uid = job.periodic_task_uid
        WHERE job.slot > periodic_task.last_slot AND periodic_task.id LIKE 'canary%'`,
    )
    const [jobs] = await copy.rows('SELECT COUNT(*) AS n FROM job')
    const faulty = await integrity(copy)
    const detail = `a copy with ${String(jobs?.['n'])} jobs, made in ${ms} ms`
    if (faulty !== null) return { detail, trouble: `the copy is corrupt: ${faulty}` }
    if (half?.['n'] !== 0)
      return { detail, trouble: `${String(half?.['n'])} jobs whose schedule was not advanced` }
    return { detail }
  } finally {
    for (const side of ['', '-wal', '-shm']) await rm(`${path}${side}`, { force: true })
  }
}
