/** All operations, in the order in which the document lists them. */
import { z } from 'zod'
import { UNKNOWN_USER } from './access.ts'
import { openApiDocument } from './document.ts'
import { freezeOperations } from './freeze-operations.ts'
import { jobOperations } from './job-operations.ts'
import { type Answer, type Call, ok, operation, type Operation } from './operation.ts'
import { scheduleOperations } from './schedule-operations.ts'
import { serverOperations } from './server-operations.ts'
import * as answers from './answer-schemas.ts'

export const operations: readonly Operation[] = [
  ...scheduleOperations,
  ...jobOperations,
  ...freezeOperations,
  ...serverOperations,
  operation('getHealth', 'GET', '/health', null, {
    summary: 'Whether this process works',
    description:
      'For readiness probes, without a sign-in. Signed-in callers without a scope see the reasons.',
    answers: {
      200: { description: 'The process works', schema: answers.Health },
      503: { description: 'The process does not work' },
    },
    run: async (call) => healthAnswer(call, 'ok'),
  }),
  operation('getLiveness', 'GET', '/health/live', null, {
    summary: 'Whether this process can recover without a restart',
    description:
      'For liveness probes: an unavailable database is not a reason to restart the process, but a stuck loop is.',
    answers: {
      200: { description: 'The process can recover', schema: answers.Health },
      503: { description: 'The process needs a restart' },
    },
    run: async (call) => healthAnswer(call, 'live'),
  }),
  operation('getDocument', 'GET', '/api/v1/openapi.json', 'read', {
    summary: 'Get this document',
    answers: { 200: { description: 'OpenAPI 3.1', schema: z.looseObject({}) } },
    run: async ({ base }) => ok(openApiDocument(operations, base)),
  }),
]

/** Worker errors and ids are not exposed to callers that are not signed in or have a scope. */
function healthAnswer({ kalends, access }: Call, property: 'ok' | 'live'): Answer {
  const health = kalends.health()
  const isVisible = access.user !== UNKNOWN_USER && access.scope === undefined
  return {
    status: health[property] ? 200 : 503,
    body: isVisible ? health : { ok: health.ok, live: health.live },
  }
}
