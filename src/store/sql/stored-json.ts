/** Reads JSON columns that normally only Kalends writes. Invalid values count as missing. */

export function textsOf(json: string): string[] {
  const value = parsed(json)
  return Array.isArray(value) ? value.filter((item) => typeof item === 'string') : []
}

export function textRecordOf(json: string): Readonly<Record<string, string>> {
  const value = parsed(json)
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return {}
  return Object.fromEntries(Object.entries(value).filter((entry) => typeof entry[1] === 'string'))
}

export function numberIn(json: string, name: string): number | null {
  const value = parsed(json)
  const number: unknown = typeof value === 'object' && value !== null ? Reflect.get(value, name) : null
  return typeof number === 'number' ? number : null
}

function parsed(json: string): unknown {
  try {
    return JSON.parse(json)
  } catch {
    return null
  }
}
