import type { RenderableProps } from 'preact'
import { Icon, type IconName } from './Icon.tsx'

interface ButtonProps {
  readonly label: string
  readonly icon?: IconName
  /** A button has either `href` or `onClick`. */
  readonly href?: string
  readonly onClick?: () => unknown
  readonly kind?: 'primary' | 'danger' | 'link' | 'plain' | 'plain no-phone' | undefined
  readonly title?: string
  readonly disabled?: boolean
  readonly autoFocus?: boolean
  readonly 'aria-label'?: string
  readonly 'aria-current'?: 'true' | 'date' | undefined
}

export function Button({ label, icon, ...action }: ButtonProps) {
  return (
    <Clickable {...action}>
      {icon !== undefined && <Icon name={icon} />} {label}
    </Clickable>
  )
}

export function IconButton({ label, icon, ...action }: ButtonProps & { readonly icon: IconName }) {
  return (
    <Clickable
      aria-label={label}
      title={label}
      kind={action.href === undefined ? 'plain' : undefined}
      {...action}
    >
      <Icon name={icon} />
    </Clickable>
  )
}

type Action = RenderableProps<Omit<ButtonProps, 'label' | 'icon'>>

function Clickable({ href, onClick, kind, ...attributes }: Action) {
  if (href !== undefined) return <a class={`button ${kind ?? ''}`} href={href} {...attributes} />
  return <button type="button" class={kind} onClick={() => void onClick?.()} {...attributes} />
}
