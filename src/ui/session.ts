/** Who reads this page, and what they may do. The server enforces it; the page only does not offer the rest. */
import { computed, signal } from '@preact/signals'

export type Role = 'read' | 'operate' | 'admin'

export interface Session {
  readonly role: Role
  /** Whether they may submit jobs, and run a schedule with other args. */
  readonly submit: boolean
  readonly user: string | null
  /** Only these rows; both null: everything. */
  readonly scope: { readonly group: string | null; readonly submitter: string | null }
  /** Written into timers that name none. */
  readonly zone: string
  readonly now: string
}

export const session = signal<Session | null>(null)

/** Who sees only their own rows: workers are nobody's. */
export const isScoped = computed(() => {
  const scope = session.value?.scope
  return scope !== undefined && (scope.group !== null || scope.submitter !== null)
})

/** Pause, resume, run now, cancel, retry. */
export const mayOperate = computed(() => session.value !== null && session.value.role !== 'read')
/** Make, change and delete schedules. */
export const mayEdit = computed(() => session.value?.role === 'admin')
/** Run a schedule with other args. */
export const maySubmit = computed(() => session.value?.submit === true)
