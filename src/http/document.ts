import { z } from 'zod'
import type { Answers, Operation } from './operation.ts'
import * as answers from './answer-schemas.ts'
import * as bodies from './body-schemas.ts'

type Json = Record<string, unknown>

const NAMED: Readonly<Record<string, z.ZodType>> = { ...bodies, ...answers }

const PROBLEMS: Readonly<Record<string, string>> = {
  '400': 'The request cannot be parsed, or is not possible in the current state',
  '401': 'Not signed in',
  '403':
    'The role, the scope, the list of permitted tasks or the application does not allow the request, or a page on another site sent it',
  '404': 'The row does not exist, or belongs to another owner',
  '409':
    'The request conflicts with the current state: for example, a job has not finished, or others changed the row at the same time',
  '413': 'The body is too large',
  '415': 'The body is not JSON',
  '422': 'A field is invalid',
  '429': 'A limit is reached, or too many sign-ins from this address have failed',
  '503': 'The database is unavailable',
}

export function openApiDocument(operations: readonly Operation[], base: string): Json {
  const named = z.registry<{ id: string }>()
  for (const [id, schema] of Object.entries(NAMED)) named.add(schema, { id })
  const { schemas } = z.toJSONSchema(named, { uri: pathOf, io: 'input', unrepresentable: 'any' })
  const paths: Record<string, Json> = {}
  for (const one of operations) {
    const path = (paths[one.path] ??= {})
    path[one.method.toLowerCase()] = operationObject(one)
  }
  return {
    openapi: '3.1.0',
    info: {
      title: 'Kalends',
      version: '1',
      description:
        "Schedules and jobs in an application's own SQL database. Instants are RFC 3339 in UTC. Time spans are milliseconds. Unknown fields are rejected. Every error is a problem (RFC 9457) that names the field and explains what to do.",
    },
    servers: [{ url: base === '/' ? '/' : base.replace(/\/$/, '') }],
    security: [{ bearer: [] }],
    paths,
    components: {
      securitySchemes: { bearer: { type: 'http', scheme: 'bearer' } },
      schemas: Object.fromEntries(
        Object.entries(schemas).map(([id, schema]) => [id, withoutIdentity({ ...schema })]),
      ),
    },
  }
}

function pathOf(id: string): string {
  return `#/components/schemas/${id}`
}

function operationObject(one: Operation): Json {
  const { description, permission, body } = one
  return {
    operationId: one.id,
    tags: [/^\/api\/v1\/([\w-]+)/.exec(one.path)?.[1] ?? 'server'],
    summary: one.summary,
    ...(description !== undefined && { description }),
    'x-permission': permission ?? 'anyone',
    ...(permission === null && { security: [] }),
    parameters: [...parameters(one.params, 'path'), ...parameters(one.query, 'query')],
    ...(body !== null && {
      requestBody: {
        required: !(body instanceof z.ZodOptional),
        content: { 'application/json': { schema: reference(body) } },
      },
    }),
    responses: responsesOf(one),
  }
}

function responsesOf({ method, permission, params, body, answers }: Operation): Json {
  const fits = (status: string) =>
    permission === null
      ? status === '503'
      : ((status !== '413' && status !== '415') || body !== null) &&
        (status !== '404' || 'id' in params.shape) &&
        (status !== '409' || method !== 'GET')
  const problems = Object.entries(PROBLEMS)
    .filter(([status]) => fits(status))
    .map(([status, description]) => [status, { description }] as const)
  const all: Answers = { ...Object.fromEntries(problems), ...answers }
  return Object.fromEntries(
    Object.entries(all).map(([status, { description, schema, type }]) => {
      const problem = { 'application/problem+json': { schema: { $ref: pathOf('ProblemDetails') } } }
      const json = schema && { 'application/json': { schema: reference(schema) } }
      const text = type !== undefined && { [type]: { schema: { type: 'string' } } }
      const content = Number(status) >= 400 ? problem : (json ?? text)
      return [status, { description, ...(content && { content }) }]
    }),
  )
}

function parameters(schema: z.ZodObject, place: 'path' | 'query'): Json[] {
  return Object.entries(schema.shape).map(([name, field]) => {
    const { description, ...rest } = jsonSchema(field)
    return {
      name,
      in: place,
      required: place === 'path' || !(field instanceof z.ZodOptional),
      ...(description !== undefined && { description }),
      schema: rest,
    }
  })
}

function reference(schema: z.ZodType): Json {
  const plain = schema instanceof z.ZodOptional ? schema.unwrap() : schema
  const found = Object.entries(NAMED).find(([, one]) => one === plain)
  return found === undefined ? jsonSchema(schema) : { $ref: pathOf(found[0]) }
}

function jsonSchema(schema: z.core.$ZodType): Json {
  // Numbers in a query are converted from text, but the document describes them as numbers.
  const isCoerced = schema instanceof z.ZodOptional && schema.unwrap() instanceof z.ZodNumber
  const io = isCoerced ? 'output' : 'input'
  return withoutIdentity({ ...z.toJSONSchema(schema, { io, unrepresentable: 'any' }) })
}

/** Removes keywords that only apply to a whole document. */
function withoutIdentity({ $schema: _schema, $id: _$id, id: _id, ...schema }: Json): Json {
  return schema
}
