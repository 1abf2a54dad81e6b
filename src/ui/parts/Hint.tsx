import type { RenderableProps } from 'preact'
import { Icon } from './Icon.tsx'

/** If the hint has a role, screen readers announce it when it appears. */
export function Hint({ role, children }: RenderableProps<{ readonly role?: 'alert' | 'status' }>) {
  return (
    <p class="hint" role={role}>
      <Icon name="late" /> <span>{children}</span>
    </p>
  )
}

export function Wrong({ children: message }: { readonly children: string }) {
  return (
    <span class="wrong">
      <Icon name="late" /> <span>{message}</span>
    </span>
  )
}
