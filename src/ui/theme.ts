import { signal } from '@preact/signals'

const KEY = 'kalends.theme'
const CHOICES = ['system', 'light', 'dark'] as const
type Theme = (typeof CHOICES)[number]

const isTheme = (value: unknown): value is Theme => CHOICES.some((choice) => choice === value)

const chosen = document.documentElement.dataset['theme']
export const theme = signal<Theme>(isTheme(chosen) ? chosen : 'system')

/** From what the system says to light, to dark, and back. */
export function nextTheme(): void {
  const next = CHOICES[(CHOICES.indexOf(theme.value) + 1) % CHOICES.length] ?? 'system'
  theme.value = next
  if (next === 'system') delete document.documentElement.dataset['theme']
  else document.documentElement.dataset['theme'] = next
  try {
    localStorage.setItem(KEY, next)
  } catch {
    // Without storage it lasts until the page is left.
  }
}
