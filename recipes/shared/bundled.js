import { Kalends, task } from 'kalends'
import { http } from 'kalends/http'

async function main() {
  const kalends = await Kalends.open('sqlite::memory:')
  const greet = task('greet')
  kalends.handle(greet, ({ args }) => `Hello ${args.name}`)
  await kalends.start()
  const { result } = await kalends.jobs.wait(await kalends.jobs.submit(greet, { name: 'world' }))
  const page = await http(kalends, { authorize: () => null })(
    new Request('http://localhost/', { headers: { accept: 'text/html' } }),
  )
  const html = await page.text()
  await kalends.stop()
  if (result !== 'Hello world') throw new Error(`The result is ${result}`)
  if (!html.includes('<title>Kalends')) throw new Error(`The page is ${html}`)
}

main().catch((error) => {
  console.error(error)
  process.exitCode = 1
})
