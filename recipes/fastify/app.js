import fastify from 'fastify'
import { Kalends, task } from 'kalends'
import { http, node } from 'kalends/http'

const kalends = await Kalends.open('sqlite:./app.db')
const greet = task('greet')
kalends.handle(greet, ({ args }) => `Hello ${args.name}`)
await kalends.start({ signals: true })

const listener = node(http(kalends, { basePath: '/kalends', authorize: () => ({ role: 'admin' }) }))
const app = fastify()
// Fastify parses bodies before handlers run, so Kalends gets its own scope without parsers.
await app.register((scope, _options, done) => {
  scope.removeAllContentTypeParsers()
  scope.addContentTypeParser('*', (_request, _payload, parsed) => parsed(null))
  scope.all('/kalends/*', (request, reply) => {
    reply.hijack()
    return listener(request.raw, reply.raw)
  })
  done()
})
app.post('/greet/:name', async (request) => {
  const id = await kalends.jobs.submit(greet, { name: request.params.name })
  return await kalends.jobs.wait(id)
})
await app.listen({ port: 0, host: '127.0.0.1' })
console.log(app.server.address().port)
