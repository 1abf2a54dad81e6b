/** Writes the types of the web page, and of the client in the tests, from the OpenAPI document. */
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import openapiTS, { astToString } from 'openapi-typescript'
import { openApiDocument } from '../src/http/document.ts'
import { operations } from '../src/http/operations.ts'

const folder = join(import.meta.dirname, '../src/ui/generated')
const types = await openapiTS(JSON.stringify(openApiDocument(operations, '/')), {
  rootTypes: true,
  rootTypesNoSchemaPrefix: true,
})
mkdirSync(folder, { recursive: true })
writeFileSync(join(folder, 'api.ts'), `/** Written by scripts/generate-api.ts. */\n${astToString(types)}`)
