import { signal } from '@preact/signals'
import { ApiError } from '../api/client.ts'
import { link } from '../router.ts'
import { IconButton } from './Button.tsx'
import { Icon } from './Icon.tsx'

interface Toast {
  readonly id: number
  readonly text: string
  readonly isError: boolean
  readonly job: string | undefined
}

const SHOWN_MS = 6000
const toasts = signal<readonly Toast[]>([])
let last = 0

export function toast(text: string): void {
  const id = add(text, false, undefined)
  setTimeout(() => close(id), SHOWN_MS)
}

/** Stays until it is closed. */
export function toastWarning(text: string): void {
  add(text, true, undefined)
}

export function toastError(error: unknown): void {
  const job = error instanceof ApiError ? error.problem.jobId : undefined
  add(error instanceof Error ? error.message : String(error), true, job)
}

export function Toasts() {
  return (
    <div class="toasts" role="log" aria-live="polite" aria-label="Messages">
      {toasts.value.map(({ id, text, isError, job }) => (
        <div key={id} class={isError ? 'toast failed' : 'toast'}>
          <Icon name={isError ? 'late' : 'success'} />
          <span>
            {text}
            {job !== undefined && <a href={link(['jobs', job])}> Show the job</a>}
          </span>
          <IconButton icon="failed" label="Close the message" onClick={() => close(id)} />
        </div>
      ))}
    </div>
  )
}

function add(text: string, isError: boolean, job: string | undefined): number {
  const id = ++last
  toasts.value = [
    ...toasts.value.filter((toast) => toast.text !== text).slice(-3),
    { id, text, isError, job },
  ]
  return id
}

function close(id: number): void {
  toasts.value = toasts.value.filter((toast) => toast.id !== id)
}
