/** Reads a calendar event from left to right, up to its zone suffix. */
export class Reader {
  /** The whole text, with the zone suffix. */
  readonly text: string
  readonly #event: string
  at = 0

  constructor(text: string, end: number) {
    this.text = text
    this.#event = text.slice(0, end)
  }

  /** The next character; empty at the end. */
  peek(): string {
    return this.#event.charAt(this.at)
  }

  isAtBlankOrEnd(): boolean {
    return this.peek() === ' ' || this.peek() === ''
  }

  /** Skips this text if it comes next. @returns whether it was skipped */
  skip(text: string): boolean {
    if (!this.#event.startsWith(text, this.at)) return false
    this.at += text.length
    return true
  }

  /** Whether a sticky pattern matches here. */
  isAt(pattern: RegExp): boolean {
    pattern.lastIndex = this.at
    return pattern.test(this.#event)
  }

  /** Reads the text that a sticky pattern matches; empty if it does not match here. */
  take(pattern: RegExp): string {
    const from = this.at
    if (!this.isAt(pattern)) return ''
    this.at = pattern.lastIndex
    return this.#event.slice(from, this.at)
  }
}
