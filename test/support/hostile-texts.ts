/** Strings that a database, an editor or a reader may mistake for other text. */

/** Joiners, direction marks, fillers, selectors and tags. */
export const INVISIBLE = [
  '\u200c',
  '\u200d',
  '\u2060',
  '\ufeff',
  '\u200e',
  '\u202e',
  '\u2028',
  '\u3164',
  '\ufe0f',
  '\ufff9',
  '\u{e0041}',
]

/** Strings that differ from the given text and from each other, and that every database can store. */
export function lookalikes(text: string): string[] {
  const [first = '', ...rest] = text
  const tail = rest.join('')
  return [
    `${text} `,
    ` ${text}`,
    `${text}\t`,
    `${text}\u00a0`,
    `${first.toUpperCase()}${tail}`,
    // Accents: one character, and a letter with a combining mark.
    `${text}é`,
    `${text}e\u0301`,
    `${first}\u0301${tail}`,
    // Zero-width characters.
    `${first}\u200b${tail}`,
    `${first}\u00ad${tail}`,
    ...INVISIBLE.map((character) => `${first}${character}${tail}`),
    // Wide characters, Cyrillic letters, emoji, and emoji that differ in a variation selector or a colour.
    `${text}\u0430`,
    `${text}👍`,
    `${text}👍🏽`,
    `${text}❤`,
    `${text}❤\ufe0f`,
  ]
}

/** Strings that every entry point rejects as a name. */
export function unfit(text: string): string[] {
  return [
    '',
    ' ',
    `${text} `,
    ` ${text}`,
    `${text}\t`,
    `\n${text}`,
    `${text}\u00a0`,
    `${text}\u0000`,
    `${text}\u0000${text}`,
    `${text}\u0001${text}`,
    `${text}\u007f${text}`,
    `${text}\u0085${text}`,
    `${text}\ud800`,
    `\udc00${text}`,
    ...INVISIBLE.map((character) => `${text.slice(0, 1)}${character}${text.slice(1)}`),
    text.padEnd(255, 'x'),
  ]
}
