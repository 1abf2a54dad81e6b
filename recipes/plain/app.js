// Code as a new user would write it: no types and no build.
import { Kalends, task } from 'kalends'

const kalends = await Kalends.open('sqlite:./app.db')
const greet = task('greet')
const greeted = new Promise((resolve) => kalends.handle(greet, ({ args }) => resolve(`Hello ${args.name}`)))
kalends.declare('greetings', [{ task: greet, timer: '*:*:*', args: { name: 'world' } }])
await kalends.start()
const text = await greeted
await kalends.stop()
if (text !== 'Hello world') throw new Error(text)
