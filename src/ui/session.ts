/** The server enforces the user's permissions; the page only hides what they do not allow. */
import { computed, signal } from '@preact/signals'
import { api, contentOf } from './api/client.ts'
import type { Me } from './generated/api.ts'
import { connections } from './api/live.ts'
import { setServerTime } from './time/clock.ts'

export const session = signal<Me | null>(null)

export const isScoped = computed(() => {
  const scope = session.value?.scope
  return scope !== undefined && (scope.group !== null || scope.submitter !== null)
})

/** Run, pause, resume and reset schedules; cancel and retry jobs. */
export const mayOperate = computed(() => session.value !== null && session.value.role !== 'read')
export const mayEdit = computed(() => session.value?.role === 'admin')
/** Run a schedule with other args; this also requires `mayOperate`. */
export const maySubmit = computed(() => session.value?.submit === true)

export function startSession(): void {
  connections.subscribe(() => void loadSession())
}

async function loadSession(): Promise<void> {
  try {
    const me = await contentOf(api.GET('/api/v1/me'))
    setServerTime(new Date(me.now))
    session.value = me
  } catch {
    // The pages themselves show that the server cannot be reached, and the next connection tries again.
  }
}
