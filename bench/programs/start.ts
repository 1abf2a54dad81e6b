/** Opens and starts Kalends on a new SQLite file, including creating the tables, and reports when it has started. */
import { Kalends, task } from 'kalends'
import { z } from 'zod'
import { program } from './program.ts'

await program(z.object({ url: z.string() }), async ({ url }, line) => {
  await using kalends = await Kalends.open(url)
  kalends.handle(task('noop'), () => null)
  await kalends.start()
  await line.ready()
})
