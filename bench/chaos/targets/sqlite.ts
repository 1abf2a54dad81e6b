/** A private SQLite file, on a private disk if possible. */
import { mkdtemp } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { KeptFolder } from '../../../test/support/servers-restartable.ts'
import type { Target } from '../fault.ts'
import { clockFaults } from '../faults/clock.ts'
import { diskFaults } from '../faults/disk.ts'
import { sqliteFaults } from '../faults/sqlite.ts'
import { sweepSharedMemory, TargetClock } from './clock.ts'
import { SmallDisk } from './disk.ts'
import { type LeftOutParts, orLeftOut, type TargetOptions } from './own-server.ts'
import { accessOf, SqliteProcess } from './sqlite-process.ts'

export async function openSqlite(options: TargetOptions): Promise<Target> {
  const folder = await KeptFolder.keep(await mkdtemp(join(tmpdir(), 'kalends-sqlite-')))
  const open: (() => Promise<void>)[] = [() => folder.remove(), () => sweepSharedMemory()]
  const close = async () => {
    for (const each of open.splice(0).toReversed()) await each()
  }
  try {
    const leftOut: LeftOutParts = {}
    const disk = orLeftOut('disk', await SmallDisk.open(folder.path), leftOut)
    const clock = orLeftOut('clock', await TargetClock.open(folder.path), leftOut)
    const environment = clock?.environment ?? {}
    const path = join(disk?.path ?? folder.path, 'chaos.db')
    const connect = (other = path) => SqliteProcess.open(other, environment)
    const connection = await connect()
    const access = accessOf(connection)
    open.push(() => access.close())
    clock?.beginAt(options.beginAt)
    const [version] = await access.query('SELECT sqlite_version() AS version')
    return {
      kind: 'sqlite',
      name: `SQLite ${String(version?.['version'])}`,
      ways: [{ url: `sqlite:${path}`, proxy: null }],
      environment,
      query: access.query,
      transaction: access.transaction,
      deadlocks: async () => null,
      faults: [
        ...sqliteFaults({ path, connect }),
        ...(disk === null
          ? []
          : diskFaults(disk, {
              tighten: () => beside(connect, emptyLog),
              probe: () => beside(connect, writeMuch),
              revive: async () => '',
            })),
        ...(clock === null ? [] : clockFaults(clock)),
      ],
      leftOut,
      close,
    }
  } catch (error) {
    await close()
    throw error
  }
}

async function beside<Result>(
  connect: () => Promise<SqliteProcess>,
  work: (other: SqliteProcess) => Promise<Result>,
): Promise<Result> {
  const other = await connect()
  try {
    return await work(other)
  } finally {
    await other.close()
  }
}

/** Empties the WAL file, so that it must grow with each write. */
async function emptyLog(other: SqliteProcess): Promise<void> {
  await other.rows('PRAGMA wal_checkpoint(TRUNCATE)')
}

const MAX_MB = 32

/** Writes more than the cache holds, without a commit. @returns the error, or null if everything was written */
async function writeMuch(other: SqliteProcess): Promise<string | null> {
  await other.rows('BEGIN IMMEDIATE')
  try {
    for (let megabyte = 0; megabyte < MAX_MB; megabyte += 1) {
      await other.rows(
        "INSERT INTO job (id, task, args) VALUES (?, 'probe', json_quote(hex(zeroblob(524288))))",
        [`probe-${megabyte}`],
      )
    }
    return null
  } catch (error) {
    return error instanceof Error ? error.message : String(error)
  } finally {
    await other.rows('ROLLBACK')
  }
}
