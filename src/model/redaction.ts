/**
 * Redacts secrets in args, results and progress at the paths of the option `redact`, and wherever the same values occur
 * in other text of the same job. Pure.
 */
import { isDeepStrictEqual } from 'node:util'
import { InvalidInputError } from '../errors.ts'
import { checkedList, shownInput } from './input.ts'
import { mapped, NO_SECRETS, REDACTED, Secrets } from './secrets.ts'

export type RedactRoot = 'args' | 'result' | 'progress'
const ROOTS: readonly RedactRoot[] = ['args', 'result', 'progress']

/** The JSON values of a job, or the args of a schedule. `truncated` names the values that a list leaves out. */
export type Payload = { readonly [Root in RedactRoot]?: unknown } & {
  readonly truncated?: { readonly [Root in RedactRoot]?: number }
}

export class Redaction {
  readonly #paths: readonly (readonly string[])[]

  /**
   * @param paths  such as `args.password`, `result.token` or `args.users.*.key`; `*` is any key or index. A path
   *   applies to each item of an array, even without `*`
   * @throws InvalidInputError
   */
  constructor(paths: readonly string[]) {
    for (const path of checkedList('redact', paths, 'paths')) {
      if (typeof path !== 'string' || !isPath(path))
        throw new InvalidInputError(
          'redact',
          `each path must begin with one of ${ROOTS.join(', ')}, such as 'args.password', got ${shownInput(path)}`,
        )
    }
    this.#paths = paths.map((path) => path.split('.'))
  }

  /** Whether any value is hidden, below `root` if given. A search in hidden values could reveal them. */
  hides(root?: RedactRoot): boolean {
    return this.#paths.some(([first]) => root === undefined || first === root)
  }

  /** If a value with secrets was left out, the secrets are unknown, so all text of the job or schedule is hidden. */
  secretsOf(payload: Payload): Secrets {
    if (this.#paths.length === 0) return NO_SECRETS
    const { truncated } = payload
    if (ROOTS.some((root) => truncated?.[root] !== undefined && this.hides(root))) return new Secrets(null)
    const secrets = new Secrets([])
    this.addSecrets(secrets, payload)
    return secrets
  }

  /** Adds the secrets in other values of the same job. @param secrets  from `secretsOf` */
  addSecrets(secrets: Secrets, payload: Payload): void {
    for (const root of ROOTS)
      for (const path of this.#pathsOf(root)) visitAt(payload[root], path, (value) => secrets.add(value))
  }

  /** A value without its secrets. @param secrets  the secrets of the whole job, if the job has other values too */
  redacted(root: RedactRoot, value: unknown, secrets = this.secretsOf({ [root]: value })): unknown {
    const shown = this.#pathsOf(root).reduce((part, path) => changedAt(part, path, marked), value)
    return secrets.hiddenIn(shown)
  }

  /**
   * The progress or result of a job in the form in which it is stored. Readers take a job's secrets from its row, which
   * lacks the secrets of earlier progress. Those are removed here if readers of the row would otherwise see them.
   *
   * @param row  the values of the job, including the one to store
   * @param earlier  the secrets of earlier progress
   */
  stored(root: RedactRoot, value: unknown, row: () => Payload, earlier: Secrets): unknown {
    const isSeen = (shown: unknown) => !isDeepStrictEqual(earlier.hiddenIn(shown), shown)
    if (!earlier.areKnown() || !isSeen(this.redacted(root, value))) return value
    return isSeen(this.redacted(root, value, this.secretsOf(row()))) ? earlier.hiddenIn(value) : value
  }

  /** Replaces redacted parts with their stored values. @throws InvalidInputError if one has no stored value */
  restored(root: RedactRoot, input: unknown, stored: unknown): unknown {
    if (!this.hides(root)) return input
    const secrets = this.secretsOf({ [root]: stored })
    const known = filled(input, this.redacted(root, stored, secrets), stored, secrets)
    for (const path of this.#pathsOf(root))
      visitAt(known, path, (value, at) => {
        if (value === REDACTED) throw unknownSecret([root, ...at].join('.'))
      })
    return known
  }

  #pathsOf(root: RedactRoot): (readonly string[])[] {
    return this.#paths.filter(([first]) => first === root).map((path) => path.slice(1))
  }
}

function isPath(path: string): boolean {
  const [root, ...keys] = path.split('.')
  return ROOTS.some((one) => one === root) && keys.every((key) => key !== '')
}

/** A path also applies to each item of an array. @param visit  receives a value and its full path */
function visitAt(
  value: unknown,
  path: readonly string[],
  visit: (value: unknown, at: readonly (string | number)[]) => void,
  depth = 0,
  at: (string | number)[] = [],
): void {
  if (depth === path.length) return visit(value, at)
  eachPart(value, path, depth, (item, name, next) => {
    at.push(name)
    visitAt(item, path, visit, next, at)
    at.pop()
  })
}

/** The value with the parts at the path changed. Parts without a change are not copied. */
function changedAt(
  value: unknown,
  path: readonly string[],
  change: (value: unknown) => unknown,
  depth = 0,
): unknown {
  if (depth === path.length) return change(value)
  if (!isObject(value)) return value
  const changes = new Map<string, unknown>()
  eachPart(value, path, depth, (item, name, next) => {
    const changed = changedAt(item, path, change, next)
    if (changed !== item) changes.set(String(name), changed)
  })
  return withChanges(value, changes)
}

/** @param use  receives each part of the value to which the path leads, its name, and the depth of the path there */
function eachPart(
  value: unknown,
  path: readonly string[],
  depth: number,
  use: (item: unknown, name: string | number, next: number) => void,
): void {
  const key = path[depth] ?? ''
  const isAny = key === '*'
  // No part of a string or number is at the rest of the path. A value may have many of them.
  const leadsOn = (item: unknown) => depth === path.length - 1 || isObject(item)
  if (Array.isArray(value)) {
    for (let index = 0; index < value.length; index += 1) {
      const item: unknown = value[index]
      if (!leadsOn(item)) continue
      const isNamed = isAny || key === String(index)
      if (isNamed || typeof item === 'object') use(item, index, isNamed ? depth + 1 : depth)
    }
  } else if (isObject(value))
    for (const name of isAny ? Object.keys(value) : [key]) {
      const item = ownProperty(value, name)
      if (item !== undefined && leadsOn(item)) use(item, name, depth + 1)
    }
}

function marked(value: unknown): unknown {
  return value === null || value === undefined ? value : REDACTED
}

function unknownSecret(at: string): InvalidInputError {
  return new InvalidInputError(
    at,
    `'${REDACTED}' stands for a value that is not stored; send the value itself`,
  )
}

/** Replaces each part of the input that equals the redacted form of the stored part with that stored part. */
function filled(input: unknown, shown: unknown, stored: unknown, secrets: Secrets): unknown {
  // The redacted form of a value without secrets is the value itself.
  if (shown === stored) return input
  if (typeof input === 'string') return input === shown ? stored : input
  if (!isObject(input) || !isObject(shown) || !isObject(stored)) return input
  const names = new Map([...secrets.shownNames(stored)].map(([name, shownName]) => [shownName, name]))
  const changes = new Map<string, unknown>()
  for (const name of Object.keys(shown)) {
    if (!Object.hasOwn(input, name)) continue
    const item = ownProperty(input, name)
    const known = filled(
      item,
      ownProperty(shown, name),
      ownProperty(stored, names.get(name) ?? name),
      secrets,
    )
    if (known !== item || names.has(name)) changes.set(name, known)
  }
  return withChanges(input, changes, names)
}

function withChanges(
  value: object,
  changes: ReadonlyMap<string, unknown>,
  names?: ReadonlyMap<string, string>,
): unknown {
  if (changes.size === 0) return value
  return mapped(value, (item, name) => (changes.has(name) ? changes.get(name) : item), names)
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null
}

function ownProperty(value: object, name: string): unknown {
  if (!Object.hasOwn(value, name)) return undefined
  const property: unknown = Reflect.get(value, name)
  return property
}
