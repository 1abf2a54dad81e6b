/** Schedules that are late, dead or invalid. */
import type { ComponentChildren } from 'preact'
import type { ScheduleCounts } from '../api/generated/api.ts'
import { useApi } from '../api/query.ts'
import { Icon } from '../parts/Icon.tsx'
import { Section } from '../parts/layout.tsx'
import { link } from '../router.ts'
import { now } from '../time/clock.ts'
import { Ago } from '../time/Time.tsx'
import { count } from '../time/format.ts'
import { nextRunOf } from './Schedules.tsx'

/** A schedule counts as late only when it has been due for longer than the poll interval plus the lease. */
const LATE_MS = 90_000
const MAX_CHECKED = 20

export function NeedsAttention({ counts }: { readonly counts: ScheduleCounts | undefined }) {
  const query = { order: 'nextRunAt', limit: MAX_CHECKED }
  const { data } = useApi('/api/v1/schedules', { query }, ['schedules'])
  const late = (data?.items ?? []).filter((schedule) => {
    const nextRunAt = nextRunOf(schedule)
    return nextRunAt !== null && now.value.getTime() - Date.parse(nextRunAt) > LATE_MS
  })
  const { dead = 0, invalid = 0 } = counts?.counts ?? {}
  const [first] = late
  if (dead + invalid === 0 && first === undefined) return null
  return (
    <Section title="Needs attention">
      <ul class="attention">
        {first !== undefined && (
          <Item state="failed" icon="late" word="late">
            <a href={link(['schedules'], { order: 'nextRunAt' })}>
              {late.length === MAX_CHECKED ? `${MAX_CHECKED} or more` : count(late.length)}{' '}
              {late.length === 1 ? 'schedule' : 'schedules'}
            </a>{' '}
            not submitted in time, for example <a href={link(['schedules', first.id])}>{first.id}</a>, due{' '}
            <Ago at={first.nextRunAt} />
          </Item>
        )}
        {dead > 0 && (
          <Item state="dead" icon="dead" word="dead">
            <a href={link(['schedules'], { status: 'dead' })}>
              {count(dead)} {dead === 1 ? 'schedule' : 'schedules'} stopped after a failed run: reset to
              continue
            </a>
          </Item>
        )}
        {invalid > 0 && (
          <Item state="invalid" icon="invalid" word="invalid">
            <a href={link(['schedules'], { status: 'invalid' })}>
              {count(invalid)} {invalid === 1 ? 'schedule has a timer' : 'schedules have timers'} that cannot
              be read
            </a>
          </Item>
        )}
      </ul>
    </Section>
  )
}

interface ItemProps {
  readonly state: string
  readonly icon: 'late' | 'dead' | 'invalid'
  readonly word: string
  readonly children: ComponentChildren
}

function Item({ state, icon, word, children }: ItemProps) {
  return (
    <li>
      <span class={`state ${state}`}>
        <Icon name={icon} /> {word}
      </span>
      <span>{children}</span>
    </li>
  )
}
