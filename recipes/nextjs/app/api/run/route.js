import { Kalends, task } from 'kalends'
import { http } from 'kalends/http'

export const dynamic = 'force-dynamic'

export async function GET() {
  const kalends = await Kalends.open('sqlite::memory:')
  const greet = task('greet')
  kalends.handle(greet, ({ args }) => `Hello ${args.name}`)
  await kalends.start()
  const { result } = await kalends.jobs.wait(await kalends.jobs.submit(greet, { name: 'world' }))
  const request = new Request('http://localhost/', { headers: { accept: 'text/html' } })
  const page = await http(kalends, { authorize: () => null })(request)
  const html = await page.text()
  await kalends.stop()
  return Response.json({ result, title: /<title>(\w+)/.exec(html)?.[1] })
}
