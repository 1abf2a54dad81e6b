/**
 * Redacts secrets in args, results and progress at the paths of the option `redact`, and wherever the same values occur
 * in other text of the same job. Pure.
 */
import { isDeepStrictEqual } from 'node:util'
import { InvalidInputError, shortened } from '../errors.ts'
import { checkedList, shownInput } from './input.ts'

const REDACTED = '[redacted]'

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
      visitAt(known, path, (value, at) => refuseMarker(value, [root, ...at].join('.')))
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
  if (typeof value !== 'object' || value === null) return value
  const changes = new Map<string, unknown>()
  eachPart(value, path, depth, (item, name, next) => {
    const changed = changedAt(item, path, change, next)
    if (changed !== item) changes.set(String(name), changed)
  })
  if (changes.size === 0) return value
  return mapped(value, (item, name) => (changes.has(name) ? changes.get(name) : item))
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
  const isLast = depth === path.length - 1
  if (Array.isArray(value)) {
    for (let index = 0; index < value.length; index += 1) {
      const item: unknown = value[index]
      // No part of a string or number is at the rest of the path. A list may have many of them.
      if (!isLast && (typeof item !== 'object' || item === null)) continue
      const isNamed = isAny || key === String(index)
      if (isNamed || typeof item === 'object') use(item, index, isNamed ? depth + 1 : depth)
    }
  } else if (typeof value === 'object' && value !== null)
    for (const name of isAny ? Object.keys(value) : [key])
      if (Object.hasOwn(value, name)) use(ownProperty(value, name), name, depth + 1)
}

/** @param names  new names for some properties of an object */
function mapped(
  value: object,
  change: (item: unknown, name: string) => unknown,
  names?: ReadonlyMap<string, string>,
): unknown {
  const items = Object.entries(value).map(([name, item]: [string, unknown]) => [
    names?.get(name) ?? name,
    change(item, name),
  ])
  return Array.isArray(value) ? items.map(([, item]) => item) : Object.fromEntries(items)
}

function marked(value: unknown): unknown {
  return value === null || value === undefined ? value : REDACTED
}

/** @throws InvalidInputError */
function refuseMarker(value: unknown, at: string): void {
  if (value !== REDACTED) return
  throw new InvalidInputError(
    at,
    `'${REDACTED}' stands for a value that is not stored; send the value itself`,
  )
}

/** Replaces each part of the input that equals the redacted form of the stored part with that stored part. */
function filled(input: unknown, shown: unknown, stored: unknown, secrets: Secrets): unknown {
  if (typeof input === 'string') return input === shown ? stored : input
  if (typeof input !== 'object' || input === null || typeof stored !== 'object' || stored === null)
    return input
  const names = new Map([...secrets.shownNames(stored)].map(([name, shownName]) => [shownName, name]))
  return mapped(
    input,
    (item, name) =>
      filled(item, ownProperty(shown, name), ownProperty(stored, names.get(name) ?? name), secrets),
    names,
  )
}

function ownProperty(value: unknown, name: string): unknown {
  if (typeof value !== 'object' || value === null || !Object.hasOwn(value, name)) return undefined
  const property: unknown = Reflect.get(value, name)
  return property
}

/** Shorter values do not count as secrets, because hiding `1` or `yes` would make text unreadable. */
const SHORTEST_SECRET = 4
/** Maximum total number of characters in the secrets of one job; if it is exceeded, all of the job's text is hidden. */
const MAX_SECRET_CHARACTERS = 65_536
/** If there are more secrets than this, they are added to the trie even if there is no text to search yet. */
const MAX_WAITING = 1000
/** A prefix of a secret is also redacted if it is at least this long: drivers, for example, quote only the start. */
const LONG_PREFIX = 64

/** The end of a string that `shortened` has cut. */
const CUT = /… \(cut, of \d+ bytes\)$/

/** A node of the trie: the characters that can come next, and whether a secret ends here. */
class Step {
  isEnd = false
  /** Most nodes have one child, for which a map would take ten times the memory. */
  #code = Number.NaN
  #first: Step | undefined
  #others: Map<number, Step> | null = null

  get isEmpty(): boolean {
    return this.#first === undefined
  }

  at(code: number): Step | undefined {
    return code === this.#code ? this.#first : this.#others?.get(code)
  }

  add(code: number): Step {
    const step = new Step()
    if (this.#first === undefined) {
      this.#code = code
      this.#first = step
    } else (this.#others ??= new Map()).set(code, step)
    return step
  }
}

/**
 * The secrets of one job. Each string is scanned once, regardless of the number of secrets: strings and secrets may
 * come from a tenant, and `replaceAll` is quadratic for strings such as `aaaa…`.
 */
export class Secrets {
  /** Secrets to add to the trie once there is text to search; most jobs have no text. Null if they are unknown or too many. */
  #waiting: string[] | null
  readonly #start = new Step()
  /** The number of characters in the trie; a common prefix counts once. */
  #characters = 0

  constructor(waiting: [] | null) {
    this.#waiting = waiting
  }

  /** Makes each string, number and property name in this value a secret. */
  add(value: unknown): void {
    for (const leaf of leaves(value)) this.#waiting?.push(leaf)
    // A handler may store progress very often, so this list must not grow without limit.
    if ((this.#waiting?.length ?? 0) > MAX_WAITING) this.#trie()
  }

  /** Whether the secrets are complete: there are not too many to search for, and no value was left out. */
  areKnown(): boolean {
    return this.#trie() !== null
  }

  hiddenInText(text: string): string {
    const start = this.#trie()
    if (start === null) return REDACTED
    if (start.isEmpty) return text
    let shown = ''
    let from = 0
    const cutAt = text.search(CUT)
    for (let at = 0; at < text.length; ) {
      const length = secretAt(text, at, start, cutAt)
      if (length === 0) at += 1
      else {
        shown += text.slice(from, at) + REDACTED
        at += length
        from = at
      }
    }
    return shown + text.slice(from)
  }

  /**
   * The text without the secrets, cut to `mostBytes`, and in a form that every database can store: well-formed, and with
   * ␀ in place of NUL, at which drivers for SQLite cut a string when they read it.
   */
  storable(text: string, mostBytes: number): string {
    return shortened(this.hiddenInText(text).replaceAll('\0', '␀').toWellFormed(), mostBytes)
  }

  /** Redacts secrets in every string, number and property name of a JSON value. */
  hiddenIn(value: unknown): unknown {
    if (this.#trie()?.isEmpty === true) return value
    if (typeof value === 'string') return this.hiddenInText(value)
    if (typeof value === 'number')
      return this.hiddenInText(String(value)) === String(value) ? value : REDACTED
    if (typeof value !== 'object' || value === null || value instanceof Date) return value
    return mapped(value, (item) => this.hiddenIn(item), this.shownNames(value))
  }

  /** The property names that contain secrets, each with a unique name to show instead. */
  shownNames(value: unknown): Map<string, string> {
    const shown = new Map<string, string>()
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return shown
    const taken = new Set(Object.keys(value))
    const numbers = new Map<string, number>()
    for (const name of taken) {
      const hidden = this.hiddenInText(name)
      if (hidden === name) continue
      let number = numbers.get(hidden) ?? 1
      let unique = number === 1 ? hidden : `${hidden} ${number}`
      for (; taken.has(unique); unique = `${hidden} ${number}`) number += 1
      numbers.set(hidden, number + 1)
      shown.set(name, unique)
    }
    return shown
  }

  #trie(): Step | null {
    for (let secret = this.#waiting?.pop(); secret !== undefined; secret = this.#waiting?.pop())
      for (const form of formsOf(secret)) {
        this.#insert(form)
        if (this.#characters > MAX_SECRET_CHARACTERS) this.#waiting = null
      }
    return this.#waiting === null ? null : this.#start
  }

  #insert(form: string): void {
    let step = this.#start
    for (let at = 0; at < form.length && this.#characters <= MAX_SECRET_CHARACTERS; at += 1) {
      const code = form.charCodeAt(at)
      let next = step.at(code)
      if (next === undefined) {
        next = step.add(code)
        this.#characters += 1
      }
      step = next
    }
    step.isEnd = true
  }
}

const NO_SECRETS = new Secrets([])

function leaves(value: unknown): string[] {
  if (typeof value === 'string') return [value]
  if (typeof value === 'number') return [String(value)]
  if (typeof value !== 'object' || value === null) return []
  if (Array.isArray(value)) return value.flatMap(leaves)
  return Object.entries(value).flatMap(([name, item]) => [name, ...leaves(item)])
}

/** The plain secret, and its forms in JSON, URLs and form data. */
function formsOf(secret: string): string[] {
  const plain = secret.trim()
  if (plain.length < SHORTEST_SECRET || plain === REDACTED) return []
  const encoded = encodeURIComponent(plain.toWellFormed())
  return [plain, JSON.stringify(plain).slice(1, -1), encoded, encoded.replaceAll('%20', '+')]
}

/**
 * How many characters to redact at this position: those of the longest secret, or of a long enough prefix of a secret;
 * 0 if there is neither.
 *
 * @param cutAt  where the text was cut, possibly within a secret; -1 if it was not cut
 */
function secretAt(text: string, at: number, start: Step, cutAt: number): number {
  let found = 0
  let length = 0
  for (let step: Step | undefined = start; ; length += 1) {
    const isCut = at + length === cutAt && length >= SHORTEST_SECRET
    if (step.isEnd || isCut || length >= LONG_PREFIX) found = length
    // Beyond the end of the text, charCodeAt returns NaN, which no step contains.
    step = step.at(text.charCodeAt(at + length))
    if (step === undefined) return found
  }
}
