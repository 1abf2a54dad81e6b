/** What stands where rows would: nothing yet, nothing at all, an error. */
import type { ComponentChildren } from 'preact'
import { ApiError } from '../api/client.ts'
import { Icon } from './Icon.tsx'

export function Loading({ rows = 8 }: { readonly rows?: number }) {
  return (
    <div class="loading" role="status" aria-label="Loading">
      {Array.from({ length: rows }, (_, row) => (
        <div key={row} style={{ width: `${60 + ((row * 37) % 40)}%` }} />
      ))}
    </div>
  )
}

export function Empty({
  title,
  children,
}: {
  readonly title: string
  readonly children?: ComponentChildren
}) {
  return (
    <div class="notice">
      <p class="notice-title">{title}</p>
      {children !== undefined && <div>{children}</div>}
    </div>
  )
}

export function Failure({ error, onRetry }: { readonly error: Error; readonly onRetry: () => void }) {
  const isGone = error instanceof ApiError && error.status === 404
  return (
    <div class="notice error" role="alert">
      <p class="notice-title">
        <Icon name="late" /> {isGone ? 'Not found' : 'This could not be shown'}
      </p>
      <p>{error.message}</p>
      {!isGone && (
        <button type="button" onClick={onRetry}>
          Try again
        </button>
      )}
    </div>
  )
}

/** Above rows that may be out of date. */
export function Stale({ error }: { readonly error: Error | undefined }) {
  if (error === undefined) return null
  return (
    <p class="stale" role="status">
      <Icon name="late" /> {error.message} What is shown may be out of date.
    </p>
  )
}
