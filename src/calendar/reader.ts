/** A calendar event being read, from left to right up to `end`. */
export class Reader {
  readonly text: string
  /** Where the part to read ends: before the zone suffix. */
  readonly end: number
  at = 0

  constructor(text: string, end: number) {
    this.text = text
    this.end = end
  }

  /** The character to read next as its UTF-16 code; END behind the last one. */
  peek(): number {
    return this.at < this.end ? this.text.charCodeAt(this.at) : END
  }

  /** Reads one character if it is this one. */
  skip(code: number): boolean {
    if (this.peek() !== code) return false
    this.at++
    return true
  }

  /** Reads `..` if it is there. */
  skipDots(): boolean {
    if (this.peek() !== DOT || this.at + 1 >= this.end || this.text.charCodeAt(this.at + 1) !== DOT)
      return false
    this.at += 2
    return true
  }

  /** Reads spaces; nothing else counts as blank. */
  skipSpaces(): void {
    while (this.peek() === SPACE) this.at++
  }
}

/** Stands for the end of the text. */
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

/** ASCII letters only: systemd folds no other ones. */
export function isLetter(code: number): boolean {
  const lower = code | 0x20
  return lower >= 0x61 && lower <= 0x7a
}
