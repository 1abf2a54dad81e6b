/** Writes each action of the harness to disk as soon as it is done, so an interrupted run can be checked too. */
import { closeSync, openSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import type { Journal } from './fault.ts'

export class FileJournal implements Journal {
  readonly #file: number

  constructor(folder: string) {
    this.#file = openSync(join(folder, 'journal.jsonl'), 'a')
  }

  write(entry: Parameters<Journal['write']>[0]): void {
    writeSync(this.#file, `${JSON.stringify({ ...entry, host: Date.now(), mono: monotonicMs() })}\n`)
  }

  close(): void {
    closeSync(this.#file)
  }
}

/** CLOCK_MONOTONIC: the same in every process of the machine. No fault moves it. */
export function monotonicMs(): number {
  return Number(process.hrtime.bigint() / 1000n) / 1000
}
