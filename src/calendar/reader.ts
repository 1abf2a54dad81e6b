/** Reads a calendar event from left to right, up to `end`. */
export class Reader {
  readonly text: string
  /** The end of the part that is read, before the zone suffix. */
  readonly end: number
  at = 0

  constructor(text: string, end: number) {
    this.text = text
    this.end = end
  }

  /** The next character as its UTF-16 code; END after the last one. */
  peek(): number {
    return this.at < this.end ? this.text.charCodeAt(this.at) : END
  }

  /** Skips the next character if it has this code. */
  skip(code: number): boolean {
    if (this.peek() !== code) return false
    this.at++
    return true
  }

  /** Skips `..` if it comes next. */
  skipDots(): boolean {
    if (this.peek() !== DOT || this.at + 1 >= this.end || this.text.charCodeAt(this.at + 1) !== DOT)
      return false
    this.at += 2
    return true
  }

  /** Skips spaces; no other character counts as a blank. */
  skipSpaces(): void {
    while (this.peek() === SPACE) this.at++
  }
}

/** The result of `peek` at the end of the text. */
export const END = -1

export const SPACE = 0x20
export const STAR = 0x2a
export const PLUS = 0x2b
export const COMMA = 0x2c
export const DASH = 0x2d
export const DOT = 0x2e
export const SLASH = 0x2f
export const COLON = 0x3a
export const AT = 0x40
export const TILDE = 0x7e

export function isDigit(code: number): boolean {
  return code >= 0x30 && code <= 0x39
}

/** ASCII letters only, because systemd ignores case only for these. */
export function isLetter(code: number): boolean {
  const lower = code | 0x20
  return lower >= 0x61 && lower <= 0x7a
}
