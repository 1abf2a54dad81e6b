import { type ComponentChildren, Fragment } from 'preact'
import { link } from '../router.ts'

interface PageHeadProps {
  readonly title: string
  readonly crumb?: 'Schedules' | 'Jobs'
  readonly beside?: ComponentChildren
  readonly below?: ComponentChildren
  readonly children?: ComponentChildren
}

export function PageHead({ title, crumb, beside, below, children }: PageHeadProps) {
  return (
    <header class="head">
      <div>
        {crumb !== undefined && (
          <a class="crumb" href={link([crumb.toLowerCase()])}>
            {crumb}
          </a>
        )}
        <div class="row title-line">
          <h1 tabIndex={-1}>{title}</h1>
          {beside}
        </div>
        {below}
      </div>
      <div class="row">{children}</div>
    </header>
  )
}

interface SectionProps {
  readonly title: string
  readonly aside?: ComponentChildren
  readonly isLive?: boolean
  readonly children: ComponentChildren
}

export function Section({ title, aside, isLive = false, children }: SectionProps) {
  return (
    <section aria-live={isLive ? 'polite' : undefined}>
      <div class="section-head">
        <h2>{title}</h2>
        {aside}
      </div>
      {children}
    </section>
  )
}

/** A fact whose value is null or false is omitted. */
export function Facts({ of }: { readonly of: Readonly<Record<string, ComponentChildren>> }) {
  const shown = Object.entries(of).filter(([, value]) => value !== null && value !== false)
  return (
    <dl class="facts">
      {shown.map(([name, value]) => (
        <Fragment key={name}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </Fragment>
      ))}
    </dl>
  )
}

export function RowLink({ href, children }: { readonly href: string; readonly children: string }) {
  return (
    <a class="row-link name" href={href}>
      {children}
    </a>
  )
}

interface TagsProps {
  readonly names: readonly string[]
  readonly hrefOf: (name: string) => string
  readonly titleOf?: (name: string) => string | undefined
}

export function Tags({ names, hrefOf, titleOf }: TagsProps) {
  return (
    <span class="row tags">
      {names.map((name) => (
        <a key={name} class="tag" href={hrefOf(name)} title={titleOf?.(name)}>
          {name}
        </a>
      ))}
    </span>
  )
}
