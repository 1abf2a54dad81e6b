/**
 * `kalends/http`: the REST API as a fetch handler.
 *
 * @module
 */
export { type Access, type Authorize, bearer, type RequestContext, type Role } from './access.ts'
export type { ChangesOptions } from './changes.ts'
export { http, type HttpHandler } from './http.ts'
export { node } from './node.ts'
export type { HttpOptions, MetricsRegistry, Permit, WriteRequest } from './options.ts'
