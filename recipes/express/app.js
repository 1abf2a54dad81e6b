import express from 'express'
import { Kalends, task } from 'kalends'
import { http, node } from 'kalends/http'

const kalends = await Kalends.open('sqlite:./app.db')
const greet = task('greet')
kalends.handle(greet, ({ args }) => `Hello ${args.name}`)
await kalends.start({ signals: true })

const app = express()
app.use('/kalends', node(http(kalends, { authorize: () => ({ role: 'admin' }) })))
app.post('/greet/:name', async (request, response) => {
  const id = await kalends.jobs.submit(greet, { name: request.params.name })
  response.json(await kalends.jobs.wait(id))
})
const server = app.listen(0, '127.0.0.1', () => console.log(server.address().port))
