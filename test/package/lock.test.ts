import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'

interface Locked {
  readonly cpu?: readonly string[]
  readonly integrity?: string
  readonly libc?: readonly string[]
  readonly optional?: boolean
  readonly os?: readonly string[]
  readonly optionalDependencies?: Readonly<Record<string, string>>
  readonly resolved?: string
}

const { packages }: { packages: Record<string, Locked> } = JSON.parse(
  readFileSync(join(import.meta.dirname, '../../package-lock.json'), 'utf8'),
)

// If the registry lacks a package for another platform, npm omits it from the file, and `npm ci` fails everywhere.
test('the lock file contains the packages for every platform', () => {
  const missing = Object.entries(packages).flatMap(([path, { optionalDependencies = {} }]) =>
    Object.keys(optionalDependencies).filter(
      (name) =>
        packages[`node_modules/${name}`] === undefined &&
        packages[`${path}/node_modules/${name}`] === undefined,
    ),
  )
  expect(missing).toEqual([])
})

/** Whether this is an optional program for a platform other than Linux with glibc on x64 or arm64. */
function isForeign({ cpu = ['x64'], libc = ['glibc'], optional = false, os = ['linux'] }: Locked): boolean {
  const isOurs =
    os.includes('linux') && libc.includes('glibc') && (cpu.includes('x64') || cpu.includes('arm64'))
  return optional && !isOurs
}

// Without a hash, npm does not verify a download. The lock file contains only the hashes that the registry returned
// when the file was created; for some programs for other platforms, the registry returned none.
test('every package has an integrity hash, except optional programs for other platforms', () => {
  const unchecked = Object.entries(packages).filter(
    ([path, entry]) => path !== '' && entry.integrity === undefined && !isForeign(entry),
  )
  expect(unchecked.map(([path]) => path)).toEqual([])
  const integrities = Object.values(packages).flatMap(({ integrity }) => integrity ?? [])
  expect(integrities.filter((integrity) => !/^sha512-[A-Za-z0-9+/]{86}==$/.test(integrity))).toEqual([])
})

test('the lock file contains no registry URL', () => {
  expect(Object.keys(packages).filter((path) => packages[path]?.resolved !== undefined)).toEqual([])
})
