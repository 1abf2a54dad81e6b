/** Expands specifiers, as described in systemd.unit(5). */
import { dirname, join } from 'node:path'
import type { CommandUser } from '../command-user.ts'
import { Refusal } from './candidate.ts'
import type { Unit } from './unit-folders.ts'

/** The user that the system's service manager runs as. */
export const ROOT: CommandUser = { name: 'root', uid: 0, gid: 0, home: '/root' }

const SYSTEM: Readonly<Record<string, string>> = {
  t: '/run',
  S: '/var/lib',
  C: '/var/cache',
  L: '/var/log',
  E: '/etc',
  g: 'root',
}

/** @throws Refusal for specifiers whose value is only known on the machine that runs the unit */
export function expanded(text: string, { name, path }: Unit, manager: CommandUser): string {
  const base = name.slice(0, name.lastIndexOf('.'))
  const [, prefix = '', instance = ''] = /^([^@]*)@?(.*)$/.exec(base) ?? []
  const last = prefix.slice(prefix.lastIndexOf('-') + 1)
  const known: Readonly<Record<string, string>> = {
    '%': '%',
    n: name,
    N: base,
    p: prefix,
    P: unescaped(prefix),
    i: instance,
    I: unescaped(instance),
    j: last,
    J: unescaped(last),
    f: join('/', unescaped(instance || prefix)),
    y: path,
    Y: dirname(path),
    u: manager.name,
    U: String(manager.uid),
    G: String(manager.gid),
    h: manager.home,
    T: '/tmp',
    V: '/var/tmp',
    // For user units, the values of %S and %L depend on the version of systemd.
    ...(manager === ROOT
      ? SYSTEM
      : { t: `/run/user/${manager.uid}`, C: `${manager.home}/.cache`, E: `${manager.home}/.config` }),
  }
  return text.replaceAll(/%(.)/gu, (all, letter: string) => {
    const value = known[letter]
    if (value === undefined)
      throw new Refusal(
        `${name} uses ${all}, whose value only systemd knows: write the value instead, or %% for a percent sign`,
      )
    return value
  })
}

/** In unit names, `/` is escaped as `-`, and other bytes as in `\x2d`. */
function unescaped(name: string): string {
  const bytes = name.replaceAll(/-|\\x([\da-f]{2})/gi, (_, hex: string | undefined) =>
    hex === undefined ? '/' : String.fromCodePoint(Number.parseInt(hex, 16)),
  )
  return Buffer.from(bytes, 'latin1').toString()
}
