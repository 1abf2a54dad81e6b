/** Instants as stored in the tables: UTC text, `YYYY-MM-DD HH:MM:SS.mmm`. */

export function toText(instant: Date): string {
  return instant.toISOString().replace('T', ' ').slice(0, 23)
}

/** @returns null for null and for text that is not an instant */
export function fromText(text: string | null): Date | null {
  if (text === null) return null
  const instant = new Date(`${text.replace(' ', 'T')}Z`)
  return Number.isNaN(instant.getTime()) ? null : instant
}

/** For columns that are never NULL. Invalid text becomes the epoch. */
export function fromStored(text: string): Date {
  return fromText(text) ?? new Date(0)
}
