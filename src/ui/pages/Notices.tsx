import type { RenderableProps } from 'preact'
import type { ScheduleCounts } from '../generated/api.ts'
import { perform } from '../actions.tsx'
import { api } from '../api/client.ts'
import { useApi } from '../api/query.ts'
import { Button } from '../parts/Button.tsx'
import { Icon, type IconName } from '../parts/Icon.tsx'
import { Section } from '../parts/layout.tsx'
import { link } from '../router.ts'
import { mayEdit } from '../session.ts'
import { now } from '../time/clock.ts'
import { Ago, At } from '../time/Time.tsx'
import { count, counted } from '../time/format.ts'
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
          <Notice icon="late">
            <a href={link(['schedules'], { order: 'nextRunAt' })}>
              {late.length === MAX_CHECKED
                ? `${MAX_CHECKED} or more schedules`
                : counted(late.length, 'schedule')}
            </a>{' '}
            not submitted in time, for example <a href={link(['schedules', first.id])}>{first.id}</a>, due{' '}
            <Ago at={first.nextRunAt} />
          </Notice>
        )}
        {dead > 0 && (
          <Notice icon="dead">
            <a href={link(['schedules'], { status: 'dead' })}>
              {counted(dead, 'schedule')} stopped after a failed run: reset to continue
            </a>
          </Notice>
        )}
        {invalid > 0 && (
          <Notice icon="invalid">
            <a href={link(['schedules'], { status: 'invalid' })}>
              {count(invalid)} {invalid === 1 ? 'schedule has a timer' : 'schedules have timers'} that cannot
              be read
            </a>
          </Notice>
        )}
      </ul>
    </Section>
  )
}

export function Freezes() {
  const { data } = useApi('/api/v1/freezes', {}, ['schedules'])
  if (data === undefined || data.items.length === 0) return null
  return (
    <Section title="Frozen">
      <ul class="attention">
        {data.items.map(({ id, scheduleId, task, group, until, reason }) => (
          <Notice key={id} icon="frozen">
            {scheduleId === null && task === null && group === null && 'Everything '}
            {scheduleId !== null && <a href={link(['schedules', scheduleId])}>{scheduleId} </a>}
            {task !== null && <a href={link(['schedules'], { task })}>the task {task} </a>}
            {group !== null && <a href={link(['schedules'], { group })}>the group {group} </a>}
            until <At at={until} />
            {reason !== null && `: ${reason}`}{' '}
            {mayEdit.value && <Button label="Thaw" kind="link" onClick={() => thaw(id)} />}
          </Notice>
        ))}
      </ul>
    </Section>
  )
}

function thaw(id: string): Promise<boolean> {
  return perform(() => api.DELETE('/api/v1/freezes/{id}', { params: { path: { id } } }), {
    title: 'End this freeze now?',
    body: 'Everything that it holds back continues immediately.',
    action: 'Thaw',
  })
}

function Notice({ icon, children }: RenderableProps<{ readonly icon: IconName }>) {
  return (
    <li>
      <span class={`state ${icon}`}>
        <Icon name={icon} /> {icon}
      </span>
      <span>{children}</span>
    </li>
  )
}
