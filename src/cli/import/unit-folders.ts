/** Finds units in folders, in the order of precedence that systemd.unit(5) defines. */
import { existsSync, readdirSync, readFileSync, realpathSync, statSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { UsageError } from '../failure.ts'
import { readUnit, type UnitFile, valuesOf } from './unit-file.ts'

export const SYSTEM_FOLDERS: readonly string[] = [
  '/etc/systemd/system.control',
  '/run/systemd/system.control',
  '/run/systemd/transient',
  '/run/systemd/generator.early',
  '/etc/systemd/system',
  '/etc/systemd/system.attached',
  '/run/systemd/system',
  '/run/systemd/system.attached',
  '/run/systemd/generator',
  '/usr/local/lib/systemd/system',
  '/lib/systemd/system',
  '/usr/lib/systemd/system',
  '/run/systemd/generator.late',
]

export interface Unit {
  /** Includes the instance; never an alias. */
  readonly name: string
  readonly path: string
  readonly settings: UnitFile
  /** The file's owner if a user's service manager runs the unit, or null if the system's does. */
  readonly uid: number | null
}

export type Units = ReturnType<typeof unitsIn>

/**
 * @param folders  the first folder that contains a file wins
 * @param skipsMasks  whether a masked unit is read from the next folder that contains it
 * @throws UsageError if only some of the folders are for users, or `ofUser` is set and one is for the system
 */
export function unitsIn(folders: readonly string[], skipsMasks: boolean, ofUser: boolean) {
  const paths = new Set(folders.map((folder) => realpathSync(folder)))
  const ofSystem = [...paths].find(isFolderOfSystem)
  if (ofUser && ofSystem !== undefined)
    throw new UsageError(`option '--user': ${ofSystem} contains system units: leave --user out`)
  if (new Set([...paths].map((path) => ofUser || isFolderOfUsers(path))).size > 1)
    throw new UsageError('import user units separately from system units')
  const files = new Map<string, string[]>()
  const links = new Map<string, string>()
  for (const folder of paths)
    for (const name of readdirSync(folder)) {
      const path = join(folder, name)
      if (/\.(?:timer|service)$/.test(name)) files.set(name, [...(files.get(name) ?? []), path])
      if (/\.(?:wants|requires|upholds)$/.test(name))
        for (const link of namesIn(path)) {
          const key = join(name, link)
          if (!links.has(key)) links.set(key, join(path, link))
        }
    }
  const linked = [...links.values()]

  /** An alias is a link to another unit in these folders. */
  const idOf = (name: string) => {
    const [path] = files.get(name) ?? []
    if (path === undefined || !existsSync(path)) return name
    const target = realpathSync(path)
    const isUnit = paths.has(dirname(target)) && basename(target) !== templateOf(name)
    return isUnit ? basename(target) : name
  }
  const namesOf = (id: string) => [
    id,
    ...[...files.keys()].filter((name) => name !== id && idOf(name) === id),
  ]
  /** If drop-ins share a file name, the first folder wins; within a folder, the most specific unit name wins. */
  const dropInsOf = (id: string) => {
    const type = id.slice(id.lastIndexOf('.') + 1)
    const found = new Map<string, string>()
    for (const names of [...namesOf(id).map(dropInNames), [type]])
      for (const folder of [...paths].flatMap((path) => names.map((name) => join(path, `${name}.d`))))
        for (const name of namesIn(folder))
          if (name.endsWith('.conf') && !found.has(name)) found.set(name, join(folder, name))
    const sorted = [...found].toSorted(([a], [b]) => (a < b ? -1 : 1)).map(([, path]) => path)
    return sorted.filter((path) => existsSync(path))
  }

  return {
    /** Timers and timer templates, sorted. */
    timers: () =>
      [...new Set([...files.keys(), ...linked.map((path) => basename(path))].map(idOf))]
        .filter((name) => name.endsWith('.timer'))
        .toSorted(),
    /** Whether a link in a folder such as `timers.target.wants` starts the unit. */
    isEnabled: (name: string) => {
      const names = new Set(namesOf(name))
      return linked.some((path) => names.has(basename(path)) && !isMask(path))
    },
    find: (name: string): Unit | 'masked' | null => {
      const id = idOf(name)
      for (const path of [id, templateOf(id)].flatMap((one) => files.get(one) ?? [])) {
        // A dangling link is not a unit.
        if (!existsSync(path) || (isMask(path) && skipsMasks)) continue
        if (isMask(path)) return 'masked'
        const settings = readUnit([path, ...dropInsOf(id)].map((one) => readFileSync(one, 'utf8')))
        const uid = ofUser || isOfUsers(dirname(path), settings) ? statSync(path).uid : null
        return { name: id, path, settings, uid }
      }
      return null
    },
  }
}

function namesIn(folder: string): string[] {
  return statSync(folder, { throwIfNoEntry: false })?.isDirectory() === true ? readdirSync(folder) : []
}

function isMask(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.size === 0
}

/** `a@b.timer` → `a@.timer`. */
function templateOf(name: string): string {
  return name.replace(/@.+(?=\.)/, '@')
}

/** The names whose drop-ins apply, from specific to general: `a-b@c`, `a-b@`, `a-@c`, `a-@`. */
function dropInNames(name: string): string[] {
  const [, prefix = '', rest = ''] = /^([^@]*?)((?:@.*)?\.\w+)$/.exec(name) ?? []
  const words = prefix.split('-')
  const prefixes = words.map(
    (_, index) => words.slice(0, words.length - index).join('-') + (index > 0 ? '-' : ''),
  )
  return [...new Set(prefixes.flatMap((one) => [one + rest, templateOf(one + rest)]))]
}

/** Whether a user's service manager reads a folder, such as `/etc/systemd/user` or `~/.config/systemd/user`. */
function isFolderOfUsers(folder: string): boolean {
  return /\/systemd\/user(?:\.\w+)?$|^\/run\/user\//.test(folder)
}

function isFolderOfSystem(folder: string): boolean {
  return /\/systemd\/system(?:\.\w+)?$/.test(folder) || SYSTEM_FOLDERS.includes(folder)
}

/** In a folder that no service manager reads, user units are recognised by the target that only they use. */
function isOfUsers(folder: string, unit: UnitFile): boolean {
  if (isFolderOfUsers(folder)) return true
  return (
    !isFolderOfSystem(folder) &&
    valuesOf(unit, 'Install', 'WantedBy').some((text) => text.split(/\s+/).includes('default.target'))
  )
}
