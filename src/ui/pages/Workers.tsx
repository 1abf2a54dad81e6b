import type { Workers } from '../generated/api.ts'
import { useApi } from '../api/query.ts'
import { Icon } from '../parts/Icon.tsx'
import { PageHead, RowLink, Tags } from '../parts/layout.tsx'
import { Empty, Stale } from '../parts/placeholders.tsx'
import { type Column, Table } from '../parts/Table.tsx'
import { link } from '../router.ts'
import { Ago } from '../time/Time.tsx'
import { count } from '../time/format.ts'

type Worker = Workers['items'][number]

/** The polling interval for heartbeats, which the server does not report as changes. */
const HEARTBEAT_MS = 5000

const jobsOf = (worker: string) => link(['jobs'], { state: 'running', worker })

const columns: readonly Column<Worker>[] = [
  {
    title: 'State',
    cell: ({ alive }) => (
      <span class={`state ${alive ? 'active' : 'dead'}`}>
        <Icon name={alive ? 'active' : 'dead'} />
        {alive ? 'alive' : 'silent'}
      </span>
    ),
  },
  {
    title: 'Worker',
    kind: 'main',
    cell: ({ id, name, host, pid }) => (
      <>
        <RowLink href={jobsOf(id)}>{name}</RowLink>
        <span class="below">
          {host}, process {pid}
        </span>
      </>
    ),
  },
  { title: 'Heartbeat', cell: ({ heartbeatAt }) => <Ago at={heartbeatAt} /> },
  { title: 'Started', cell: ({ startedAt }) => <Ago at={startedAt} /> },
  { title: 'Runs', kind: 'number', cell: ({ id, running }) => <a href={jobsOf(id)}>{count(running)}</a> },
  {
    title: 'Tasks',
    kind: 'wide',
    cell: ({ tasks }) =>
      tasks.length === 0 ? (
        <span class="quiet">none: it only submits jobs</span>
      ) : (
        <Tags names={tasks} hrefOf={(task) => link(['jobs'], { task })} />
      ),
  },
  {
    title: 'Declared sets',
    kind: 'no-phone',
    cell: ({ sets }) => (
      <Tags
        names={Object.keys(sets)}
        hrefOf={(declaredBy) => link(['schedules'], { declaredBy })}
        titleOf={(name) => `version ${sets[name]}`}
      />
    ),
  },
]

const shortColumns = columns.filter(({ title }) => ['State', 'Worker', 'Heartbeat', 'Runs'].includes(title))

export function useWorkers() {
  return useApi('/api/v1/workers', {}, ['workers', 'jobs'], HEARTBEAT_MS)
}

interface WorkerTableProps {
  readonly query: ReturnType<typeof useWorkers>
  readonly limit?: number
}

/** With a limit, shows only the columns for which the overview has room. */
export function WorkerTable({ query, limit }: WorkerTableProps) {
  return (
    <Table
      label="Workers"
      query={query}
      rows={query.data?.items.slice(0, limit)}
      columns={limit === undefined ? columns : shortColumns}
      empty={<Empty title="No workers">No jobs are submitted or run until a process calls start().</Empty>}
    />
  )
}

export function WorkersPage() {
  const workers = useWorkers()
  return (
    <>
      <PageHead title="Workers" />
      <Stale query={workers} />
      <WorkerTable query={workers} />
    </>
  )
}
