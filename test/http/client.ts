/** Uses a generated client whose types come from the OpenAPI document (see openapi.test.ts). */
import createClient from 'openapi-fetch'
import type { paths } from '../../src/ui/generated/api.ts'

export async function useClient(
  baseUrl: string,
  fetch: (request: Request) => Promise<Response>,
): Promise<string[]> {
  const client = createClient<paths>({ baseUrl, fetch, headers: { authorization: 'Bearer admin' } })
  const { data: made, error } = await client.POST('/api/v1/schedules', {
    body: { id: 'from a client', task: 'mail', timer: 'Mon..Fri 09:00', args: { to: 'x' }, timeout: '5min' },
  })
  if (made === undefined) throw new Error(error?.detail)
  const status: 'active' | 'retrying' | 'frozen' | 'paused' | 'done' | 'dead' | 'invalid' | 'retired' =
    made.status
  const { data: page } = await client.GET('/api/v1/schedules', {
    params: { query: { status: 'active', limit: 10, order: 'id' } },
  })
  const ids: string[] = page?.items.map(({ id }) => id) ?? []
  const path = { params: { path: { id: made.id } } }
  const { data: run } = await client.POST('/api/v1/schedules/{id}/run', path)
  const job: string | undefined = run?.jobId
  const { error: conflict, response } = await client.POST('/api/v1/schedules/{id}/run', path)
  const inTheWay: string | undefined = conflict?.jobId
  const { data: jobs } = await client.GET('/api/v1/jobs', { params: { query: { scheduleId: made.id } } })
  const total: number | null | undefined = jobs?.total
  const { data: check } = await client.GET('/api/v1/timers/check', {
    params: { query: { timer: 'Mo 9:00' } },
  })
  const hint = check?.valid === false ? check.error.message : ''
  const wrong = await client.POST('/api/v1/schedules', {
    // @ts-expect-error the timer is missing
    body: { task: 'mail' },
  })
  const deleted = await client.DELETE('/api/v1/schedules/{id}', path)
  // @ts-expect-error the path does not exist
  await client.GET('/api/v1/nowhere')
  return [
    status,
    ids.join(),
    String(job === inTheWay && response.status === 409),
    String(total),
    String(hint.includes('Mo')),
    String(wrong.error?.field),
    String(deleted.response.status),
  ]
}
