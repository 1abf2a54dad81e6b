/** Measures the disks, load and memory of this machine. */
import { readFile, statfs } from 'node:fs/promises'
import { availableParallelism, freemem, loadavg, totalmem } from 'node:os'
import { parse } from 'node:path'

/** One measurement: `used` of `size`, in bytes. For the load, these are the load average and the number of cores. */
export interface Measurement {
  readonly kind: 'disk' | 'load' | 'memory'
  /** The mount point of a disk; empty for other kinds. */
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

/** Leaves out mounts that cannot be measured, so that a broken one does not hide the other disks. */
export async function measureDisks(): Promise<Measurement[]> {
  const disks: Measurement[] = []
  for (const mount of await mounts()) {
    const disk = await statfs(mount).catch(() => null)
    if (disk === null || disk.blocks === 0) continue
    // Like df: blocks reserved for root count as neither used nor free.
    const used = (disk.blocks - disk.bfree) * disk.bsize
    disks.push({ kind: 'disk', name: mount, used, size: used + disk.bavail * disk.bsize })
  }
  return disks
}

/** Free memory, including reclaimable caches where the system reports them. */
async function availableMemory(): Promise<number> {
  const text = await readFile('/proc/meminfo', 'utf8').catch(() => '')
  const kilobytes = /^MemAvailable:\s+(\d+)/m.exec(text)?.[1]
  return kilobytes === undefined ? freemem() : Number(kilobytes) * 1024
}

/** One mount point for each mounted device of a Linux machine; on other systems, the root of the current drive. */
async function mounts(): Promise<string[]> {
  const table = await readFile('/proc/self/mounts', 'utf8').catch(() => null)
  if (table === null) return [parse(process.cwd()).root]
  const byDevice = new Map<string, string>([['/', '/']])
  for (const line of table.split('\n')) {
    const [device = '', mount = '', type = ''] = line.split(' ')
    if (!device.startsWith('/dev/') || type === 'squashfs' || mount === '/') continue
    // A device is often mounted in several places and, in containers, even over single files.
    const known = byDevice.get(device)
    if (known === undefined || mount.length < known.length) byDevice.set(device, mount)
  }
  const folders = [...byDevice.values()].map((mount) => mount.replaceAll('\\040', ' '))
  return folders.filter((mount) => !/^\/(etc|proc|sys|dev)(\/|$)/.test(mount)).toSorted()
}
