/** A measured program that runs in its own process on plain Node.js. */
import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { z } from 'zod'

const messageSchema = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('ready'), value: z.unknown().optional() }),
  z.object({ kind: z.literal('news'), value: z.unknown() }),
  z.object({ kind: z.literal('result'), value: z.unknown().optional() }),
  z.object({ kind: z.literal('error'), value: z.string() }),
])
type Message = z.infer<typeof messageSchema>

export interface ChildOptions {
  readonly onNews?: (value: unknown) => void
  /** The path of the Node.js that runs the program; by default, the benchmark's own. */
  readonly node?: string | undefined
}

const alive = new Set<Child>()
let over = false

/** Ends the benchmark: kills running programs and prevents new ones from starting. */
export async function killAll(): Promise<void> {
  over = true
  await Promise.all([...alive].map((child) => child.kill()))
}

export class Child {
  readonly #process: ChildProcess
  readonly #name: string
  readonly #onNews: (value: unknown) => void
  readonly #messages: Message[] = []
  #arrived: () => void = () => {}
  #output = ''
  #ended = false
  readonly #exit: Promise<unknown>

  /** @param name  for example `programs/burst` */
  constructor(
    name: string,
    params: unknown,
    { onNews = () => {}, node = process.execPath }: ChildOptions = {},
  ) {
    if (over) throw new Error(`The benchmark is over: ${name} was not started`)
    this.#name = name
    this.#onNews = onNews
    this.#process = fork(join(import.meta.dirname, 'dist', `${name}.js`), [JSON.stringify(params)], {
      execPath: node,
      // Run the programs without our TypeScript loader.
      execArgv: [],
      env: plainEnvironment(),
      stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
    })
    for (const stream of [this.#process.stdout, this.#process.stderr])
      stream?.setEncoding('utf8').on('data', (text: string) => {
        this.#output = (this.#output + text).slice(-4000)
      })
    this.#process.on('message', (message) => this.#take(messageSchema.parse(message)))
    alive.add(this)
    this.#exit = once(this.#process, 'close').finally(() => {
      alive.delete(this)
      this.#ended = true
      this.#arrived()
    })
    this.#exit.catch(() => undefined)
  }

  /** Waits until the program is ready or has finished a measurement. */
  async ready(): Promise<unknown> {
    const message = await this.#next()
    if (message.kind !== 'ready') throw new Error(`${this.#name} ended before it was ready`)
    return message.value
  }

  /** Lets a waiting program continue. */
  go(): void {
    this.#process.send('go')
  }

  /** Waits for the final result. */
  async result<Value>(schema: z.ZodType<Value>): Promise<Value> {
    const message = await this.#next()
    if (message.kind !== 'result')
      throw new Error(`${this.#name} sent '${message.kind}' instead of its result`)
    await this.#exit
    return schema.parse(message.value)
  }

  /** For callers that wait for a message from the program: rejects when it ends, with the error it sent, if any. */
  async endsEarly(): Promise<never> {
    await this.#exit
    const last = this.#messages.at(-1)
    const error = last?.kind === 'error' ? last.value : ''
    throw new Error(`${this.#name} ended early: ${error}\n${this.#output}`)
  }

  /** Kills the program. */
  async kill(): Promise<void> {
    if (this.#ended) return
    this.#process.kill('SIGKILL')
    await this.#exit
  }

  #take(message: Message): void {
    if (message.kind === 'news') return this.#onNews(message.value)
    this.#messages.push(message)
    this.#arrived()
  }

  async #next(): Promise<Message> {
    while (this.#messages.length === 0 && !this.#ended)
      await new Promise<void>((resolve) => {
        this.#arrived = resolve
      })
    const message = this.#messages.shift()
    if (message === undefined) throw new Error(`${this.#name} ended without a message:\n${this.#output}`)
    if (message.kind === 'error') throw new Error(`${this.#name} failed: ${message.value}\n${this.#output}`)
    return message
  }
}

/** Runs a program to completion. */
export async function runProgram<Value>(
  name: string,
  params: unknown,
  schema: z.ZodType<Value>,
  options: ChildOptions = {},
): Promise<Value> {
  const child = new Child(name, params, options)
  try {
    return await child.result(schema)
  } finally {
    await child.kill()
  }
}

/** The environment without NODE_OPTIONS, which must not affect the programs. */
function plainEnvironment(): NodeJS.ProcessEnv {
  const environment = { ...process.env }
  delete environment['NODE_OPTIONS']
  return environment
}
