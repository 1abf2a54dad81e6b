/** Describes the environment of a run. */
import { availableParallelism, cpus, totalmem } from 'node:os'
import { createRequire } from 'node:module'
import Database from 'libsql'
import { versionsOnNode24 } from './node24.ts'
import type { Servers } from './servers.ts'

export interface RunDescription {
  readonly at: string
  readonly machine: string
  readonly node: string
  /** Libraries, with their versions. */
  readonly peers: readonly string[]
  /** The databases with their versions and the durability of an acknowledged write. */
  readonly parts: readonly { readonly name: string; readonly version: string; readonly durability: string }[]
  /** Missing parts, and why they are missing. */
  readonly missing: readonly string[]
}

const LIBRARIES = ['bullmq', 'graphile-worker', 'croner', 'cron-parser', 'cronosjs']

export async function describeRun(servers: Servers): Promise<RunDescription> {
  const used = await servers.used()
  const gigabytes = Math.round(totalmem() / 2 ** 30)
  return {
    at: new Date().toISOString(),
    machine: `${availableParallelism()} cores (${cpus()[0]?.model.trim() ?? 'unknown'}), ${gigabytes} GB of memory, ${process.platform} ${process.arch}; databases and clients share it`,
    node: process.version,
    parts: [
      ...used.flatMap(({ name, server }) =>
        'missing' in server ? [] : [{ name, version: server.version, durability: server.durability }],
      ),
      { name: 'SQLite', version: sqliteVersion(), durability: SQLITE_DURABILITY },
    ],
    peers: [
      ...LIBRARIES.map((name) => `${name} ${libraryVersion(name)}`),
      ...[...(await versionsOnNode24())].map(([name, version]) => `${name} ${version}`),
    ],
    missing: used.flatMap(({ name, server }) => ('missing' in server ? [`${name}: ${server.missing}`] : [])),
  }
}

const SQLITE_DURABILITY = 'journal_mode=WAL, synchronous=FULL'

function sqliteVersion(): string {
  const database = new Database(':memory:')
  try {
    return String(database.prepare('SELECT sqlite_version()').raw().all().flat()[0])
  } finally {
    database.close()
  }
}

function libraryVersion(name: string): string {
  const require = createRequire(import.meta.url)
  for (const folder of require.resolve.paths(name) ?? []) {
    try {
      const description: unknown = require(`${folder}/${name}/package.json`)
      if (typeof description === 'object' && description !== null && 'version' in description)
        return String(description.version)
    } catch {
      // Not in this folder.
    }
  }
  throw new Error(`${name} is not installed; run npm ci`)
}
