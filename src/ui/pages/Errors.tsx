/** Failed jobs by their error: one line for what went wrong in the same way. */
import { urls } from '../api/calls.ts'
import type { Values } from '../api/client.ts'
import { useApi } from '../api/query.ts'
import type { FailureGroup } from '../api/types.ts'
import { Empty, Failure, Loading } from '../parts/placeholders.tsx'
import { type Column, Table } from '../parts/Table.tsx'
import { link } from '../router.ts'
import { isScoped } from '../session.ts'
import { Ago } from '../time/Time.tsx'
import { count } from '../time/format.ts'

/** Of an error, as much as an address should hold. */
const SEARCHED = 200

/** The jobs of a group; for callers with a scope, who cannot search errors, its newest job. */
export function errorLink({ error, lastJob }: FailureGroup, others: Values = {}): string {
  if (isScoped.value) return link(['jobs', lastJob])
  const values = Object.fromEntries(Object.entries(others).map(([name, value]) => [name, value?.toString()]))
  return link(['jobs'], { ...values, state: 'failed', error: error.slice(0, SEARCHED) })
}

const columns = (wanted: Values): readonly Column<FailureGroup>[] => [
  {
    title: 'Error',
    phone: 'first',
    class: 'wide',
    cell: (group) => (
      <a class="row-link clip" href={errorLink(group, wanted)}>
        {group.error === '' ? 'no error was recorded' : group.error}
      </a>
    ),
  },
  {
    title: 'Tasks',
    cell: ({ tasks }) => (
      <span class="tags">
        {tasks.map((task) => (
          <a key={task} class="tag" href={link(['jobs'], { state: 'failed', task })}>
            {task}
          </a>
        ))}
      </span>
    ),
  },
  {
    title: 'Jobs',
    isNumber: true,
    cell: (group) => <a href={errorLink(group, wanted)}>{count(group.jobs)}</a>,
  },
  {
    title: 'Newest',
    cell: ({ lastJob, lastFinished }) => (
      <a href={link(['jobs', lastJob])}>
        <Ago at={lastFinished} />
      </a>
    ),
  },
]

export function Errors({ wanted, most }: { readonly wanted: Values; readonly most?: number }) {
  const { data, error, reload } = useApi<{ readonly items: readonly FailureGroup[] }>(urls.failures(wanted), [
    'jobs',
  ])
  if (data === undefined)
    return error === undefined ? <Loading rows={3} /> : <Failure error={error} onRetry={reload} />
  if (data.items.length === 0) return <Empty title="Nothing has failed" />
  return (
    <Table
      label="Failures by error"
      rows={data.items.slice(0, most)}
      idOf={({ lastJob }) => lastJob}
      columns={columns(wanted)}
      view={JSON.stringify(wanted)}
    />
  )
}
