/** Finds the secrets of a job wherever they occur in other text of the same job. Pure. */
import { shortened } from '../errors.ts'

export const REDACTED = '[redacted]'

/** Shorter values do not count as secrets, because hiding `1` or `yes` would make text unreadable. */
const SHORTEST_SECRET = 4
/**
 * Maximum number of secrets of one job, and of their characters; if one is exceeded, all of the job's text is hidden.
 * Whoever sends the args decides how many secrets they have, and several readers of one request collect them.
 */
const MAX_SECRETS = 1000
const MAX_CHARACTERS = 65_536
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
  #secrets = 0
  /** The number of characters in the trie; a common prefix counts once. */
  #characters = 0

  constructor(waiting: [] | null) {
    this.#waiting = waiting
  }

  /** Makes each string, number and property name in this value a secret. */
  add(value: unknown): void {
    for (const leaf of leaves(value)) this.#waiting?.push(leaf)
    // A handler may store progress very often, so this list must not grow without limit.
    if ((this.#waiting?.length ?? 0) > MAX_SECRETS) this.#trie()
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
    const cutAt = text.endsWith(')') ? text.search(CUT) : -1
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

  /** The text without the secrets, as it can be stored. */
  storable(text: string, mostBytes: number): string {
    return shortened(storableText(this.hiddenInText(text)), mostBytes)
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
    for (let secret = this.#waiting?.pop(); secret !== undefined; secret = this.#waiting?.pop()) {
      const [plain = '', ...others] = formsOf(secret)
      if (plain === '') continue
      if (this.#insert(plain)) this.#secrets += 1
      for (const form of others) this.#insert(form)
      if (this.#secrets > MAX_SECRETS || this.#characters > MAX_CHARACTERS) this.#waiting = null
    }
    return this.#waiting === null ? null : this.#start
  }

  /** @returns whether the form was not there before */
  #insert(form: string): boolean {
    let step = this.#start
    for (let at = 0; at < form.length && this.#characters <= MAX_CHARACTERS; at += 1) {
      const code = form.charCodeAt(at)
      let next = step.at(code)
      if (next === undefined) {
        next = step.add(code)
        this.#characters += 1
      }
      step = next
    }
    if (step.isEnd) return false
    step.isEnd = true
    return true
  }
}

export const NO_SECRETS = new Secrets([])

function leaves(value: unknown): string[] {
  if (typeof value === 'string') return [value]
  if (typeof value === 'number') return [String(value)]
  if (typeof value !== 'object' || value === null) return []
  if (Array.isArray(value)) return value.flatMap(leaves)
  return Object.entries(value).flatMap(([name, item]) => [name, ...leaves(item)])
}

/** The plain secret, and its forms in JSON, URLs, form data and stored text if they differ. */
function formsOf(secret: string): string[] {
  const plain = secret.trim()
  if (plain.length < SHORTEST_SECRET || plain === REDACTED) return []
  const forms = [plain]
  if (/["\\\p{Cc}\p{Cs}]/u.test(plain)) forms.push(JSON.stringify(plain).slice(1, -1), storableText(plain))
  if (/[^\w.!~*'()-]/.test(plain)) {
    const encoded = encodeURIComponent(plain.toWellFormed())
    forms.push(encoded)
    if (plain.includes(' ')) forms.push(encoded.replaceAll('%20', '+'))
  }
  return forms
}

/**
 * In a form that every database can store: well-formed, and with ␀ in place of NUL, at which drivers for SQLite cut a
 * string when they read it.
 */
function storableText(text: string): string {
  return text.replaceAll('\0', '␀').toWellFormed()
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

/** The value itself if nothing changes. @param names  new names for some properties of an object */
export function mapped(
  value: object,
  change: (item: unknown, name: string) => unknown,
  names?: ReadonlyMap<string, string>,
): unknown {
  const isList = Array.isArray(value)
  const items: unknown[] = isList ? value : Object.values(value)
  const keys = isList ? [] : Object.keys(value)
  let isSame = !names?.size
  const changed = items.map((item, index) => {
    const becomes = change(item, keys[index] ?? String(index))
    isSame &&= becomes === item
    return becomes
  })
  if (isSame) return value
  return isList
    ? changed
    : Object.fromEntries(keys.map((key, index) => [names?.get(key) ?? key, changed[index]]))
}
