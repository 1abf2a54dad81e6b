/** Operations for freezes, which stop schedules, tasks and groups until a given time. They affect all owners. */
import { z } from 'zod'
import * as answers from './answer-schemas.ts'
import * as bodies from './body-schemas.ts'
import { type Call, ok, operation, type Operation } from './operation.ts'
import { Problem } from './problem.ts'

const PATH = '/api/v1/freezes'
const Params = z.object({ id: z.string() })
const one = { description: 'The freeze', schema: answers.Freeze }

export const freezeOperations: readonly Operation[] = [
  operation('listFreezes', 'GET', PATH, 'read', {
    summary: 'List the freezes in force',
    unscoped: true,
    answers: { 200: { description: 'Freezes', schema: answers.Freezes } },
    run: async ({ kalends }) => ok({ items: await kalends.api.freezes.list() }),
  }),
  operation('freeze', 'POST', PATH, 'admin', {
    summary: 'Stop a schedule, a task, a group or everything until a given time',
    description:
      'A freeze applies to everything that matches all fields. Jobs and retries wait; slots are skipped with the reason `frozen`.',
    unscoped: true,
    body: bodies.NewFreeze,
    answers: { 201: one },
    run: async (call) => {
      await permitted(call, call.body)
      const freeze = await call.kalends.api.freezes.add(call.body)
      call.writes.freeze(freeze.id, null, freeze)
      return { status: 201, body: freeze }
    },
  }),
  operation('previewFreeze', 'POST', `${PATH}/preview`, 'operate', {
    summary: 'Show what a freeze would hold and skip',
    unscoped: true,
    body: bodies.FreezeTarget,
    answers: { 200: { description: 'Slots and jobs', schema: answers.FreezePreview } },
    run: async ({ kalends, body }) => ok(await kalends.api.freezes.preview(body)),
  }),
  operation('thaw', 'DELETE', `${PATH}/{id}`, 'admin', {
    summary: 'End a freeze now',
    unscoped: true,
    params: Params,
    answers: { 200: one },
    run: async (call) => {
      const { freezes } = call.kalends.api
      const { id } = call.params
      const found = (await freezes.list()).find((freeze) => freeze.id === id)
      if (found !== undefined) await permitted(call, found)
      const freeze = await freezes.end(id)
      call.writes.freeze(id, found ?? null, freeze)
      return ok(freeze)
    },
  }),
]

/** @throws Problem 403 when the caller may not use every task, or the application's hook refuses */
async function permitted(
  { access, permit, kalends }: Pick<Call, 'access' | 'permit' | 'kalends'>,
  { task, scheduleId }: { readonly [Name in 'task' | 'scheduleId']?: string | null | undefined },
): Promise<void> {
  if (access.tasks !== undefined)
    throw new Problem(403, 'FORBIDDEN', 'Only callers that may use every task can freeze and thaw')
  const schedule = scheduleId == null ? null : await kalends.api.schedules.get(scheduleId)
  await permit({ task: task ?? schedule?.task ?? '*', scheduleId: scheduleId ?? null })
}
