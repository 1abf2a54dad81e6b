/** Measures the REST API requests of the web page's views: several calls of each, after a warm-up call. */
import { Kalends } from 'kalends'
import { http } from 'kalends/http'
import { z } from 'zod'
import { program } from './program.ts'

const params = z.object({ url: z.string(), paths: z.array(z.string()), calls: z.number() })

await program(params, async ({ url, paths, calls }) => {
  await using kalends = await Kalends.open(url, { retention: false })
  const answer = http(kalends, { open: 'read' })
  const taken: { path: string; ms: number[] }[] = []
  for (const path of paths) {
    const ms: number[] = []
    for (let call = 0; call <= calls; call += 1) {
      const began = performance.now()
      const response = await answer(new Request(`http://localhost${path}`))
      const body = await response.text()
      if (call > 0) ms.push(performance.now() - began)
      if (!response.ok) throw new Error(`${path} returned ${response.status}: ${body.slice(0, 500)}`)
    }
    taken.push({ path, ms })
  }
  return taken
})
