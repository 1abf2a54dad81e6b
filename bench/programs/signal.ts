/** A replacement for Promise.withResolvers, which Node.js 20 does not have. */
export interface Signal<Value> {
  readonly promise: Promise<Value>
  readonly give: (value: Value) => void
}

export function signal<Value = void>(): Signal<Value> {
  const resolvers: ((value: Value) => void)[] = []
  const promise = new Promise<Value>((resolve) => resolvers.push(resolve))
  return { promise, give: (value) => resolvers[0]?.(value) }
}
