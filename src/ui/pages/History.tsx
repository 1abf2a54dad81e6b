/** Runs and skipped slots of a schedule in one list, newest slot first. */
import { useState } from 'preact/hooks'
import { api, contentOf } from '../api/client.ts'
import type { ListedJob, Schedule } from '../api/generated/api.ts'
import { useApi } from '../api/query.ts'
import { Button } from '../parts/Button.tsx'
import { Section } from '../parts/layout.tsx'
import { Empty, Loaded } from '../parts/placeholders.tsx'
import { type Column, Table } from '../parts/Table.tsx'
import { toastError } from '../parts/toast.tsx'
import { link } from '../router.ts'
import { Ago, At } from '../time/Time.tsx'
import { count, zoneOf } from '../time/format.ts'
import { attemptColumn, outcomeColumn, stateColumn, tookColumn } from './job-columns.tsx'

const PATH = '/api/v1/schedules/{id}/history'
const NEWEST = 25
const OLDER = 50

const columns = (timerZone: string): readonly Column<ListedJob>[] => [
  stateColumn,
  {
    title: 'Slot',
    isMain: true,
    cell: ({ id, slot, submittedAt: submitted }) => (
      <a class="row-link" href={link(['jobs', id])}>
        <At at={slot ?? submitted} own={timerZone} />
      </a>
    ),
  },
  {
    title: 'Run',
    isNumber: true,
    cell: ({ run }) => (run === null ? <span class="none">–</span> : count(run)),
  },
  attemptColumn,
  tookColumn,
  { title: 'Ended', cell: ({ finishedAt }) => <Ago at={finishedAt} own={timerZone} /> },
  outcomeColumn,
]

export function History({ schedule: { id, timer } }: { readonly schedule: Schedule }) {
  const first = useApi(PATH, { path: { id }, query: { limit: NEWEST } }, ['jobs'])
  const [older, setOlder] = useState<readonly ListedJob[]>([])
  const [isEnd, setEnd] = useState(false)
  const newest = first.data?.items ?? []
  const known = new Set(newest.map((job) => job.id))
  const jobs = [...newest, ...older.filter((job) => !known.has(job.id))]
  const loadOlder = async () => {
    const before = jobs.at(-1)?.slot
    const query = { limit: OLDER, ...(before != null && { before }) }
    try {
      const { items } = await contentOf(api.GET(PATH, { params: { path: { id }, query } }))
      setOlder([...jobs.slice(newest.length), ...items])
      setEnd(items.length < OLDER)
    } catch (error) {
      toastError(error)
    }
  }
  return (
    <Section title="Run history" aside={<a href={link(['jobs'], { scheduleId: id })}>All jobs</a>}>
      <Loaded query={first} rows={5}>
        {() => (
          <Table
            label="Runs and skips"
            rows={jobs}
            columns={columns(zoneOf(timer))}
            view={String(older.length)}
            empty={<Empty title="No runs yet" />}
          />
        )}
      </Loaded>
      {newest.length >= NEWEST && !isEnd && (
        <div class="row pager">
          <Button label="Show older" onClick={loadOlder} />
        </div>
      )}
    </Section>
  )
}
