/**
 * The part of Standard Schema v1 (standardschema.dev) that Kalends uses. zod, valibot, arktype and others implement it,
 * so applications can describe the args of a task with any of them.
 */
export interface StandardSchema<Input = unknown, Output = Input> {
  readonly '~standard': {
    readonly version: 1
    readonly vendor: string
    readonly validate: (value: unknown) => Validation<Output> | Promise<Validation<Output>>
    readonly types?: { readonly input: Input; readonly output: Output } | undefined
  }
}

export type Validation<Output> =
  | { readonly value: Output; readonly issues?: undefined }
  | { readonly issues: readonly Issue[] }

export interface Issue {
  readonly message: string
  readonly path?: readonly (PropertyKey | { readonly key: PropertyKey })[] | undefined
}

/** The issues as one line: `days: expected number; to.0: required`. */
export function issuesText(issues: readonly Issue[]): string {
  return issues
    .map(({ message, path }) => {
      const steps = (path ?? []).map((step) => String(typeof step === 'object' ? step.key : step))
      return steps.length === 0 ? message : `${steps.join('.')}: ${message}`
    })
    .join('; ')
}
