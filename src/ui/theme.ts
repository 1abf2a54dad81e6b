import { signal } from '@preact/signals'
import { save } from './storage.ts'

const CHOICES = ['system', 'light', 'dark'] as const

// theme.js applied a stored choice before the first paint.
const chosen = document.documentElement.dataset['theme']
export const theme = signal(CHOICES.find((choice) => choice === chosen) ?? 'system')

/** Switches from system to light, then to dark, and back. */
export function nextTheme(): void {
  const next = CHOICES[(CHOICES.indexOf(theme.value) + 1) % CHOICES.length] ?? 'system'
  theme.value = next
  if (next === 'system') delete document.documentElement.dataset['theme']
  else document.documentElement.dataset['theme'] = next
  save('kalends.theme', next)
}
