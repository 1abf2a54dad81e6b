import type { Failures } from '../generated/api.ts'
import { useApi } from '../api/query.ts'
import { Tags } from '../parts/layout.tsx'
import { Empty } from '../parts/placeholders.tsx'
import { type Column, Table } from '../parts/Table.tsx'
import { link } from '../router.ts'
import { session } from '../session.ts'
import { Ago } from '../time/Time.tsx'
import { count } from '../time/format.ts'

type FailureGroup = Failures['items'][number]
type Filter = Readonly<Record<string, string>>

/** Maximum length of an error in an address. */
const SEARCH_LENGTH = 200

/** A link to a group's jobs. Callers with a scope cannot search errors, so their link opens the newest of the jobs. */
function linkTo({ error, lastJobId }: FailureGroup, filter: Filter): string {
  if (session.value?.unsearchable.includes('error') === true) return link(['jobs', lastJobId])
  return link(['jobs'], { ...filter, state: 'failed', error: error.slice(0, SEARCH_LENGTH) })
}

const columns = (filter: Filter): readonly Column<FailureGroup>[] => [
  {
    title: 'Error',
    kind: 'main',
    cell: (group) => (
      <a class="row-link clip" href={linkTo(group, filter)}>
        {group.error === '' ? 'no error message' : group.error}
      </a>
    ),
  },
  {
    title: 'Tasks',
    cell: ({ tasks }) => <Tags names={tasks} hrefOf={(task) => link(['jobs'], { state: 'failed', task })} />,
  },
  {
    title: 'Jobs',
    kind: 'number',
    cell: (group) => <a href={linkTo(group, filter)}>{count(group.jobs)}</a>,
  },
  {
    title: 'Newest',
    cell: ({ lastJobId, lastFinishedAt }) => (
      <a href={link(['jobs', lastJobId])}>
        <Ago at={lastFinishedAt} />
      </a>
    ),
  },
]

export function Errors({ filter, limit }: { readonly filter: Filter; readonly limit?: number }) {
  const failures = useApi('/api/v1/failures', { query: filter }, ['jobs'])
  return (
    <Table
      label="Failures by error"
      query={failures}
      rows={failures.data?.items.slice(0, limit).map((group) => ({ ...group, id: group.lastJobId }))}
      columns={columns(filter)}
      empty={<Empty title="No failed jobs" />}
    />
  )
}
