import { drizzle } from 'drizzle-orm/libsql'
import { eq, sql } from 'drizzle-orm'
import { sqliteTable, text } from 'drizzle-orm/sqlite-core'
import express from 'express'
import { Kalends, task } from 'kalends'
import { tables } from 'kalends/drizzle/sqlite'
import { http, node } from 'kalends/http'

const { job } = tables()
const orders = sqliteTable('orders', { item: text('item').primaryKey(), confirmation: text('confirmation') })

const database = drizzle('file:app.db')
await database.run(sql`CREATE TABLE IF NOT EXISTS orders (item TEXT PRIMARY KEY, confirmation TEXT NOT NULL)`)
const kalends = await Kalends.open(database)
const confirm = task('confirm')
kalends.handle(confirm, ({ args }) => `Sent ${args.item}`)
await kalends.start({ signals: true })

const app = express()
app.use('/kalends', node(http(kalends, { authorize: () => ({ role: 'admin' }) })))

// The order and its confirmation are stored in one transaction: both, or neither.
app.post('/orders/:item', async (request, response) => {
  const { item } = request.params
  const confirmation = await database.transaction(async (tx) => {
    const id = await kalends.jobs.submit(confirm, { item }, { tx })
    await tx.insert(orders).values({ item, confirmation: id })
    return id
  })
  response.status(201).json(await kalends.jobs.wait(confirmation))
})

app.get('/orders', async (_request, response) => {
  response.json(
    await database
      .select({ item: orders.item, state: job.state, result: job.result })
      .from(orders)
      .innerJoin(job, eq(job.id, orders.confirmation)),
  )
})

app.use((error, _request, response, _next) => {
  response.status(500).json({ error: String(error.cause?.message ?? error) })
})

const server = app.listen(0, '127.0.0.1', () => console.log(server.address().port))
