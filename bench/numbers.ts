/** Formats numbers for people. */

/** Formats a number with up to three significant digits and commas between thousands, such as 12,300 or 0.0123. */
export function round(value: number): string {
  if (value === 0) return '0'
  return value.toLocaleString('en', { maximumSignificantDigits: 3 })
}

/** Formats a number for the ticks of a plot, such as 1K, 20K or 1M. */
export function short(value: number): string {
  return value.toLocaleString('en', { notation: 'compact', maximumSignificantDigits: 3 })
}
