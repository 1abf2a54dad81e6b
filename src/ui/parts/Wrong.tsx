import { Icon } from './Icon.tsx'

/** What is wrong with the entry above it. */
export function Wrong({ children: message }: { readonly children: string }) {
  return (
    <span class="wrong">
      <Icon name="late" /> <span>{message}</span>
    </span>
  )
}
