/** Declares what we use of the packages that are installed only for measurements. */
declare module 'sidequest' {
  export class Job {
    run(...args: readonly never[]): unknown
  }
  type Counts = Readonly<Partial<Record<'waiting' | 'claimed' | 'running', number>>>
  export const Sidequest: {
    readonly configure: (config: object) => Promise<unknown>
    readonly start: (config: object) => Promise<void>
    readonly stop: () => Promise<void>
    readonly build: (job: typeof Job) => {
      readonly enqueue: (...args: readonly unknown[]) => Promise<unknown>
    }
    readonly job: { readonly count: () => Promise<Counts> }
  }
}

declare module 'pg-boss' {
  interface Fetched {
    readonly id: string
    readonly data: { readonly number: number }
  }
  interface Settled {
    readonly id: string
    readonly status: 'completed'
    readonly output: object
  }
  export class PgBoss {
    constructor(options: { readonly connectionString: string })
    on(event: 'error', listener: (error: Error) => void): this
    start(): Promise<unknown>
    stop(): Promise<void>
    createQueue(name: string): Promise<void>
    deleteQueue(name: string): Promise<void>
    insert(name: string, jobs: readonly { readonly data: object }[]): Promise<unknown>
    work(
      name: string,
      options: object,
      handler: (jobs: readonly Fetched[]) => Promise<Settled[]>,
    ): Promise<string>
    offWork(name: string): Promise<void>
    getDb(): { readonly executeSql: (sql: string) => Promise<{ readonly rows: readonly unknown[] }> }
  }
}
