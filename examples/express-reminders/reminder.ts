/** The task that the web process and the worker process share: a plain value without I/O. */
import { task } from 'kalends'
import { z } from 'zod'

export const remind = task('remind', {
  args: z.object({ text: z.string() }),
  timeout: '1min',
  retryDelay: '30s',
})
