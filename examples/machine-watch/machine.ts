/** What is measured: the disks of this machine, its load and its memory. */
import { readFile, statfs } from 'node:fs/promises'
import { availableParallelism, freemem, loadavg, totalmem } from 'node:os'
import { parse } from 'node:path'

/** One measurement. `used` of `size`, in bytes; of the load: processes that want to run, of so many cores. */
export interface Measurement {
  readonly kind: 'disk' | 'load' | 'memory'
  /** Where the disk is mounted; empty for the others. */
  readonly name: string
  readonly used: number
  readonly size: number
}

export async function measureLoad(): Promise<Measurement[]> {
  const total = totalmem()
  return [
    { kind: 'load', name: '', used: loadavg()[0] ?? 0, size: availableParallelism() },
    { kind: 'memory', name: '', used: total - (await availableMemory()), size: total },
  ]
}

/** A disk that does not answer is left out, so that one broken mount hides no other. */
export async function measureDisks(): Promise<Measurement[]> {
  const disks: Measurement[] = []
  for (const mount of await mounts()) {
    const disk = await statfs(mount).catch(() => null)
    if (disk === null || disk.blocks === 0) continue
    // As df counts: blocks kept for root are neither used nor free.
    const used = (disk.blocks - disk.bfree) * disk.bsize
    disks.push({ kind: 'disk', name: mount, used, size: used + disk.bavail * disk.bsize })
  }
  return disks
}

/** Free memory and what the system would give up for it: freemem() alone calls every cache used. */
async function availableMemory(): Promise<number> {
  const text = await readFile('/proc/meminfo', 'utf8').catch(() => '')
  const kilobytes = /^MemAvailable:\s+(\d+)/m.exec(text)?.[1]
  return kilobytes === undefined ? freemem() : Number(kilobytes) * 1024
}

/** The real disks of a Linux machine, each once; elsewhere the disk that this process stands on. */
async function mounts(): Promise<string[]> {
  const table = await readFile('/proc/self/mounts', 'utf8').catch(() => null)
  if (table === null) return [parse(process.cwd()).root]
  const byDevice = new Map<string, string>([['/', '/']])
  for (const line of table.split('\n')) {
    const [device = '', mount = '', type = ''] = line.split(' ')
    if (!device.startsWith('/dev/') || type === 'squashfs' || mount === '/') continue
    // One device is often mounted in several places, in containers even over single files.
    const known = byDevice.get(device)
    if (known === undefined || mount.length < known.length) byDevice.set(device, mount)
  }
  const folders = [...byDevice.values()].map((mount) => mount.replaceAll('\\040', ' '))
  return folders.filter((mount) => !/^\/(etc|proc|sys|dev)(\/|$)/.test(mount)).toSorted()
}
