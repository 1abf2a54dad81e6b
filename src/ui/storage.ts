/** Choices that outlive the page. If the browser forbids storage, a choice lasts only until the page is closed. */
type Area = 'localStorage' | 'sessionStorage'

export function load(key: string, area: Area = 'localStorage'): string | null {
  try {
    return window[area].getItem(key)
  } catch {
    return null
  }
}

export function save(key: string, value: string, area: Area = 'localStorage'): void {
  try {
    window[area].setItem(key, value)
  } catch {
    // The choice then lasts only until the page is closed.
  }
}
