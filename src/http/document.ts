/** The OpenAPI 3.1 document, made of the operations and their schemas. */
import { z } from 'zod'
import type { Answers, Operation } from './operation.ts'
import { NAMED } from './schemas.ts'

type Json = Record<string, unknown>

/** What every operation may answer besides its own. */
const PROBLEMS: Readonly<Record<string, string>> = {
  '400': 'The request cannot be read, or is made in the wrong state',
  '401': 'Nobody has signed in',
  '403': 'The role, the scope, its tasks or the application do not allow it, or it comes from a foreign page',
  '404': 'There is no such thing, or it belongs to others',
  '409': 'Something is in the way',
  '413': 'The body is too large',
  '415': 'The body is not JSON',
  '422': 'A field is wrong',
  '429': 'Too many sign-ins from this address have failed',
  '503': 'The database does not answer just now',
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
        "Schedules and jobs of an application's own SQL database. Instants are RFC 3339 in UTC; spans in the fields that end with Ms are milliseconds. Unknown fields are refused. Every error is a problem (RFC 9457) that names the field and says what to do.",
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
  return {
    operationId: one.id,
    tags: [one.tag],
    summary: one.summary,
    ...(one.description !== undefined && { description: one.description }),
    'x-permission': one.permission ?? 'anyone',
    ...(one.permission === null && { security: [] }),
    parameters: [
      ...(one.params === null ? [] : parameters(one.params, 'path')),
      ...parameters(one.query, 'query'),
    ],
    ...(one.body !== null && {
      requestBody: {
        required: !one.bodyOptional,
        content: { 'application/json': { schema: reference(one.body) } },
      },
    }),
    responses: { ...answersOf(one.answers), ...problemsOf(one) },
  }
}

function answersOf(answers: Answers): Json {
  return Object.fromEntries(
    Object.entries(answers)
      .filter(([status]) => Number(status) < 400)
      .map(([status, { says, schema, type }]) => [
        status,
        {
          description: says,
          ...(schema !== undefined && { content: { 'application/json': { schema: reference(schema) } } }),
          ...(type !== undefined && { content: { [type]: { schema: { type: 'string' } } } }),
        },
      ]),
  )
}

function problemsOf(one: Operation): Json {
  const own = Object.entries(one.answers).filter(([status]) => Number(status) >= 400)
  const all = { ...PROBLEMS, ...Object.fromEntries(own.map(([status, { says }]) => [status, says])) }
  const fits = (status: string) =>
    one.permission === null
      ? status === '503'
      : ((status !== '413' && status !== '415') || one.body !== null) &&
        (status !== '404' || one.params !== null) &&
        (status !== '409' || one.method !== 'GET')
  return Object.fromEntries(
    Object.entries(all)
      .filter(([status]) => fits(status))
      .map(([status, description]) => [
        status,
        {
          description,
          content: {
            'application/problem+json': { schema: { $ref: pathOf('ProblemDetails') } },
          },
        },
      ]),
  )
}

function parameters(schema: z.ZodObject, place: 'path' | 'query'): Json[] {
  return Object.entries(schema.shape).map(([name, field]) => {
    const isRequired = place === 'path' || !(field instanceof z.ZodOptional)
    const { description, ...rest } = jsonSchema(field)
    return {
      name,
      in: place,
      required: isRequired,
      ...(description !== undefined && { description }),
      schema: rest,
    }
  })
}

function reference(schema: z.ZodType): Json {
  const found = Object.entries(NAMED).find(([, one]) => one === schema)
  return found === undefined ? jsonSchema(schema) : { $ref: pathOf(found[0]) }
}

function jsonSchema(schema: z.core.$ZodType): Json {
  // Numbers of a query are made of text; what is documented is the number.
  return withoutIdentity({
    ...z.toJSONSchema(schema, {
      io: schema instanceof z.ZodOptional && isCoerced(schema) ? 'output' : 'input',
      unrepresentable: 'any',
    }),
  })
}

function isCoerced(schema: z.ZodOptional): boolean {
  return schema.unwrap() instanceof z.ZodNumber
}

/** The ids are those of the document. */
function withoutIdentity(schema: Json): Json {
  return Object.fromEntries(
    Object.entries(schema).filter(([key]) => key !== '$schema' && key !== '$id' && key !== 'id'),
  )
}
