import { setImmediate as turn } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import { Emitter } from '../src/events.ts'
import { task } from '../src/index.ts'
import { open } from '../src/testing/index.ts'

interface Events {
  rang: number
  other: string
}

describe('events', () => {
  it('reach every listener for their name, in the order of subscription', () => {
    const emitter = new Emitter<Events>(() => {})
    const heard: string[] = []
    emitter.on('rang', (payload) => void heard.push(`first ${payload}`))
    emitter.on('rang', (payload) => void heard.push(`second ${payload}`))
    emitter.on('other', (payload) => void heard.push(payload))
    emitter.emit('rang', () => 1)
    expect(heard).toEqual(['first 1', 'second 1'])
  })

  it('have no effect without a listener', () => {
    expect(() => new Emitter<Events>(() => {}).emit('rang', () => 1)).not.toThrow()
  })

  it('no longer reach a listener whose subscription has ended', () => {
    const emitter = new Emitter<Events>(() => {})
    const heard: number[] = []
    const forget = emitter.on('rang', (payload) => void heard.push(payload))
    emitter.emit('rang', () => 1)
    forget()
    forget()
    emitter.emit('rang', () => 2)
    expect(heard).toEqual([1])
  })

  it('reach the other listeners if one throws', () => {
    const errors: unknown[] = []
    const emitter = new Emitter<Events>((error) => errors.push(error))
    const heard: number[] = []
    const problem = new Error('a listener')
    emitter.on('rang', () => {
      throw problem
    })
    emitter.on('rang', (payload) => void heard.push(payload))
    emitter.emit('rang', () => 1)
    expect(heard).toEqual([1])
    expect(errors).toEqual([problem])
  })

  it('do not end the process if an async listener rejects', async () => {
    const errors: unknown[] = []
    const emitter = new Emitter<Events>((error) => errors.push(error))
    const problem = new Error('an async listener')
    // oxlint-disable-next-line typescript/no-misused-promises -- users do this
    emitter.on('rang', async () => {
      await turn()
      throw problem
    })
    emitter.emit('rang', () => 1)
    await turn()
    await turn()
    expect(errors).toEqual([problem])
  })

  it('let a listener end its own subscription during the call', () => {
    const emitter = new Emitter<Events>(() => {})
    const heard: string[] = []
    const forget = emitter.on('rang', () => {
      forget()
      heard.push('once')
    })
    emitter.on('rang', () => void heard.push('always'))
    emitter.emit('rang', () => 1)
    emitter.emit('rang', () => 2)
    expect(heard).toEqual(['once', 'always', 'always'])
  })

  it('no longer reach a listener that has ended its subscription, even if it emits the same event', () => {
    const emitter = new Emitter<Events>(() => {})
    const heard: number[] = []
    const end = emitter.on('rang', (payload) => {
      end()
      heard.push(payload)
      emitter.emit('rang', () => payload + 1)
    })
    emitter.emit('rang', () => 1)
    expect(heard).toEqual([1])
  })

  it('do not reach a listener whose signal was aborted before or after it subscribed', () => {
    const emitter = new Emitter<Events>(() => {})
    const heard: number[] = []
    const controller = new AbortController()
    const listener = (payload: number) => void heard.push(payload)
    emitter.on('rang', listener, { signal: controller.signal })
    emitter.emit('rang', () => 1)
    controller.abort()
    emitter.emit('rang', () => 2)
    emitter.on('rang', listener, { signal: controller.signal })
    emitter.emit('rang', () => 3)
    expect(heard).toEqual([1])
  })

  it('have a payload that is computed only if there is a listener', () => {
    const emitter = new Emitter<Events>(() => {})
    emitter.on('rang', () => undefined)()
    emitter.emit('rang', () => {
      throw new Error('a payload without a listener')
    })
  })

  it('reach a listener only once if it was added with `once`', async () => {
    const work = task('work')
    await using app = await open((kalends) => kalends.handle(work, () => undefined))
    const heard: string[] = []
    app.kalends.once('settled', ({ jobId }) => void heard.push(jobId))
    const first = await app.kalends.jobs.submit(work)
    await app.drain()
    await app.kalends.jobs.submit(work)
    await app.drain()
    expect(heard).toEqual([first])
  })
})
