import type { ComponentChildren, RenderableProps } from 'preact'
import { ApiError } from '../api/client.ts'
import type { Query } from '../api/query.ts'
import { Button } from './Button.tsx'
import { Hint } from './Hint.tsx'
import { Icon } from './Icon.tsx'

interface LoadedProps<Content> {
  readonly query: Query<Content>
  readonly rows?: number | undefined
  readonly children: (data: Content) => ComponentChildren
}

export function Loaded<Content>({ query, rows, children }: LoadedProps<Content>) {
  if (query.data !== undefined) return <>{children(query.data)}</>
  return <Pending query={query} rows={rows} />
}

export function Pending({ query: { error, reload }, rows = 8 }: Omit<LoadedProps<unknown>, 'children'>) {
  if (error !== undefined) return <Failure error={error} onRetry={reload} />
  return (
    <div class="loading" role="status" aria-label="Loading">
      {Array.from({ length: rows }, (_, row) => (
        <div key={row} style={{ width: `${60 + ((row * 37) % 40)}%` }} />
      ))}
    </div>
  )
}

export function Empty({ title, children }: RenderableProps<{ readonly title: string }>) {
  return (
    <div class="placeholder">
      <p class="placeholder-title">{title}</p>
      {children !== undefined && <div>{children}</div>}
    </div>
  )
}

function Failure({ error, onRetry }: { readonly error: Error; readonly onRetry: () => void }) {
  const isMissing = error instanceof ApiError && error.status === 404
  return (
    <div class="placeholder" role="alert">
      <p class="placeholder-title">
        <Icon name="late" /> {isMissing ? 'Not found' : 'Could not load this'}
      </p>
      <p>{error.message}</p>
      {!isMissing && <Button label="Try again" onClick={onRetry} />}
    </div>
  )
}

export function Stale({ query: { data, error } }: { readonly query: Query<unknown> }) {
  if (data === undefined || error === undefined) return null
  return <Hint role="status">{error.message} This data may be out of date.</Hint>
}
