/** The active freezes: what must not run, until when, and why. */
import { perform } from '../actions.tsx'
import { api } from '../api/client.ts'
import { useApi } from '../api/query.ts'
import { Button } from '../parts/Button.tsx'
import { Section } from '../parts/layout.tsx'
import { link } from '../router.ts'
import { mayEdit } from '../session.ts'
import { At } from '../time/Time.tsx'
import { Notice } from './NeedsAttention.tsx'

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
    body: 'What it holds continues at once.',
    action: 'Thaw',
  })
}
