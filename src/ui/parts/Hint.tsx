import type { ComponentChildren } from 'preact'
import { Icon } from './Icon.tsx'

interface HintProps {
  /** `alert` and `status` are read aloud when they appear. */
  readonly role?: 'alert' | 'status'
  readonly children: ComponentChildren
}

export function Hint({ role, children }: HintProps) {
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
