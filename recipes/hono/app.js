import { serve } from '@hono/node-server'
import { Hono } from 'hono'
import { Kalends, task } from 'kalends'
import { http } from 'kalends/http'

const kalends = await Kalends.open('sqlite:./app.db')
const greet = task('greet')
kalends.handle(greet, ({ args }) => `Hello ${args.name}`)
await kalends.start({ signals: true })

const handler = http(kalends, { basePath: '/kalends', authorize: () => ({ role: 'admin' }) })
const app = new Hono()
app.all('/kalends/*', (context) => handler(context.req.raw))
app.post('/greet/:name', async (context) => {
  const id = await kalends.jobs.submit(greet, { name: context.req.param('name') })
  return context.json(await kalends.jobs.wait(id))
})
serve({ fetch: app.fetch, port: 0, hostname: '127.0.0.1' }, ({ port }) => console.log(port))
