/** Who is there: heartbeats, tasks, what they run. */
import { urls } from '../api/calls.ts'
import { useApi } from '../api/query.ts'
import type { Worker } from '../api/types.ts'
import { Icon } from '../parts/Icon.tsx'
import { Empty, Failure, Loading, Stale } from '../parts/placeholders.tsx'
import { type Column, Table } from '../parts/Table.tsx'
import { link } from '../router.ts'
import { Ago } from '../time/Time.tsx'
import { count } from '../time/format.ts'

/** Heartbeats are not told as changes. */
const HEARTBEAT_MS = 5000

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
    phone: 'first',
    class: 'wide',
    cell: ({ id, name, host, pid }) => (
      <>
        <a class="row-link name" href={link(['jobs'], { state: 'running', worker: id })}>
          {name}
        </a>
        <span class="below">
          {host}, process {pid}
        </span>
      </>
    ),
  },
  { title: 'Heartbeat', cell: ({ heartbeat }) => <Ago at={heartbeat} /> },
  { title: 'Started', cell: ({ started }) => <Ago at={started} /> },
  {
    title: 'Runs',
    isNumber: true,
    cell: ({ id, running }) => (
      <a href={link(['jobs'], { state: 'running', worker: id })}>{count(running)}</a>
    ),
  },
  {
    title: 'Tasks',
    class: 'wide',
    cell: ({ tasks }) =>
      tasks.length === 0 ? (
        <span class="quiet">none: it only submits</span>
      ) : (
        <span class="tags">
          {tasks.map((task) => (
            <a key={task} class="tag" href={link(['jobs'], { task })}>
              {task}
            </a>
          ))}
        </span>
      ),
  },
  {
    title: 'Declared sets',
    phone: 'none',
    cell: ({ sets }) => (
      <span class="tags">
        {Object.entries(sets).map(([name, hash]) => (
          <a
            key={name}
            class="tag"
            href={link(['schedules'], { declaredBy: name })}
            title={`version ${hash}`}
          >
            {name}
          </a>
        ))}
      </span>
    ),
  },
]

export function WorkersPage() {
  const { data, error, reload } = useApi<{ readonly items: readonly Worker[] }>(
    urls.workers(),
    ['workers', 'jobs'],
    HEARTBEAT_MS,
  )
  return (
    <>
      <header class="head">
        <h1 tabIndex={-1}>Workers</h1>
      </header>
      <Stale error={data === undefined ? undefined : error} />
      {data === undefined ? (
        error === undefined ? (
          <Loading rows={3} />
        ) : (
          <Failure error={error} onRetry={reload} />
        )
      ) : data.items.length === 0 ? (
        <Empty title="No worker is there">
          Nothing is submitted and no job runs until a process calls start.
        </Empty>
      ) : (
        <Table label="Workers" rows={data.items} idOf={({ id }) => id} columns={columns} />
      )}
    </>
  )
}
