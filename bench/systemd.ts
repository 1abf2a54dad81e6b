/** systemd's own calendar code, measured in the same run if its library and a C compiler are installed. */
import { execFile } from 'node:child_process'
import { readdirSync, statSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { findProgram } from '../test/support/servers-programs.ts'

const run = promisify(execFile)
const SOURCE = join(import.meta.dirname, 'peers/systemd-calendar.c')

export interface SystemdCalendar {
  readonly version: string
  readonly next: (
    event: string,
    zone: string,
    from: Date,
    steps: number,
    ms: number,
  ) => Promise<{ perSecond: number; elapses: string[] }>
  readonly remove: () => Promise<void>
}

/** @returns systemd's calendar, or the reason why it is not available */
export async function buildSystemdCalendar(): Promise<SystemdCalendar | string> {
  const compiler = findProgram('cc') ?? findProgram('gcc')
  if (compiler === null) return 'no C compiler on this machine'
  const library = sharedLibrary()
  if (library === null)
    return "libsystemd-shared, which contains systemd's calendar code, is not on this machine"
  const folder = await mkdtemp(join(tmpdir(), 'kalends-systemd-'))
  const program = join(folder, 'calendar')
  try {
    await run(compiler, ['-O2', SOURCE, '-o', program, library, `-Wl,-rpath,${dirname(library)}`])
  } catch (error) {
    await rm(folder, { recursive: true, force: true })
    return `libsystemd-shared does not expose its calendar functions: ${String(error).slice(0, 300)}`
  }
  return {
    version: /shared-(\d+)/.exec(library)?.[1] ?? 'unknown',
    next: async (event, zone, from, steps, ms) => {
      const { stdout } = await run(program, [event, `${from.getTime()}000`, String(steps), String(ms)], {
        env: { TZ: zone },
      })
      const lines = stdout.trim().split('\n').map(Number)
      return {
        perSecond: lines.at(-1) ?? Number.NaN,
        elapses: lines.slice(0, -1).map((micros) => new Date(micros / 1000).toISOString()),
      }
    },
    remove: () => rm(folder, { recursive: true, force: true }),
  }
}

function sharedLibrary(): string | null {
  for (const folder of ['/usr/lib/systemd', ...multiarch()]) {
    if (!statSync(folder, { throwIfNoEntry: false })?.isDirectory()) continue
    const name = readdirSync(folder).find((name) => /^libsystemd-shared-\d.*\.so$/.test(name))
    if (name !== undefined) return join(folder, name)
  }
  return null
}

function multiarch(): string[] {
  return readdirSync('/usr/lib')
    .filter((folder) => folder.includes('-linux-'))
    .map((folder) => join('/usr/lib', folder, 'systemd'))
}
