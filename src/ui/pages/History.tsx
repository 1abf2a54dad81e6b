import type { ListedJob, Schedule } from '../api/generated/api.ts'
import { useApi } from '../api/query.ts'
import { Section } from '../parts/layout.tsx'
import { Empty } from '../parts/placeholders.tsx'
import { type Column, Table } from '../parts/Table.tsx'
import { link } from '../router.ts'
import { Ago, At } from '../time/Time.tsx'
import { count, zoneOf } from '../time/format.ts'
import { attemptColumn, outcomeColumn, stateColumn, tookColumn } from './job-columns.tsx'

const NEWEST = 25

const columns = (timerZone: string): readonly Column<ListedJob>[] => [
  stateColumn,
  {
    title: 'Slot',
    kind: 'main',
    cell: ({ id, slot, submittedAt: submitted }) => (
      <a class="row-link" href={link(['jobs', id])}>
        <At at={slot ?? submitted} own={timerZone} />
      </a>
    ),
  },
  { title: 'Run', kind: 'number', cell: ({ run }) => (run === null ? null : count(run)) },
  attemptColumn,
  tookColumn,
  { title: 'Ended', cell: ({ finishedAt }) => <Ago at={finishedAt} own={timerZone} /> },
  outcomeColumn,
]

export function History({ schedule: { id, timer } }: { readonly schedule: Schedule }) {
  const params = { path: { id }, query: { limit: NEWEST } }
  const history = useApi('/api/v1/schedules/{id}/history', params, ['jobs'])
  return (
    <Section title="Run history" aside={<a href={link(['jobs'], { scheduleId: id })}>All jobs</a>}>
      <Table
        label="Runs and skips"
        query={history}
        rows={history.data?.items}
        columns={columns(zoneOf(timer))}
        empty={<Empty title="No runs yet" />}
      />
    </Section>
  )
}
