import { afterEach, beforeEach, expect, it, onTestFinished, vi } from 'vitest'
import { stopOnSignals } from '../../src/worker/signals.ts'
import { gate } from '../kalends/scene.ts'

const logger = { debug() {}, info() {}, warn() {}, error() {} }
function mocked() {
  const kill = vi.spyOn(process, 'kill').mockReturnValue(true)
  const exit = vi.spyOn(process, 'exit').mockImplementation((code) => {
    throw new Error(`exit ${code}`)
  })
  return { kill, exit }
}
let kill: ReturnType<typeof mocked>['kill']
let exit: ReturnType<typeof mocked>['exit']

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['performance'] })
  ;({ kill, exit } = mocked())
})
afterEach(() => {
  vi.useRealTimers()
  vi.restoreAllMocks()
})

function stoppable() {
  const stopped = gate()
  let stops = 0
  const remove = stopOnSignals(
    {
      stop: () => {
        stops += 1
        return stopped.promise
      },
    },
    logger,
  )
  onTestFinished(remove)
  return { stopped, stops: () => stops, remove }
}

const turn = () => new Promise((resolve) => setImmediate(resolve))

it('the first signal stops the worker and then has its default effect', async () => {
  const { stopped, stops } = stoppable()
  process.emit('SIGTERM', 'SIGTERM')
  await turn()
  expect(stops()).toBe(1)
  expect(kill).not.toHaveBeenCalled()
  stopped.open()
  await turn()
  expect(kill.mock.calls).toEqual([[process.pid, 'SIGTERM']])
  expect(process.listenerCount('SIGTERM')).toBe(0)
  expect(exit).not.toHaveBeenCalled()
})

it('process 1, which signals do not end by default, exits by itself', async () => {
  vi.spyOn(process, 'pid', 'get').mockReturnValue(1)
  const rejected = vi.fn<(error: unknown) => void>()
  process.once('unhandledRejection', rejected)
  onTestFinished(() => void process.off('unhandledRejection', rejected))
  const { stopped } = stoppable()
  process.emit('SIGTERM', 'SIGTERM')
  stopped.open()
  await turn()
  expect(exit.mock.calls).toEqual([[143]])
  expect(kill).not.toHaveBeenCalled()
})

it('if the application has a handler, that handler decides how the process ends', async () => {
  const { stopped } = stoppable()
  const own = vi.fn<() => void>()
  process.on('SIGINT', own)
  onTestFinished(() => void process.off('SIGINT', own))
  process.emit('SIGINT', 'SIGINT')
  stopped.open()
  await turn()
  expect(own).toHaveBeenCalledTimes(1)
  expect(kill).not.toHaveBeenCalled()
})

it('a `once` handler of the application also decides how the process ends, even though it is removed before the worker has stopped', async () => {
  const { stopped } = stoppable()
  const own = vi.fn<() => void>()
  process.once('SIGTERM', own)
  process.emit('SIGTERM', 'SIGTERM')
  expect(own).toHaveBeenCalledTimes(1)
  stopped.open()
  await turn()
  expect(kill).not.toHaveBeenCalled()
})

it("the handlers of two instances do not count as the application's handlers", async () => {
  const [one, two] = [stoppable(), stoppable()]
  process.emit('SIGTERM', 'SIGTERM')
  one.stopped.open()
  await turn()
  expect(kill).not.toHaveBeenCalled()
  two.stopped.open()
  await turn()
  expect(kill).toHaveBeenCalledTimes(1)
})

it('signals within a second count as one; a later signal ends the process at once [E3]', async () => {
  const { stops } = stoppable()
  process.emit('SIGINT', 'SIGINT')
  process.emit('SIGTERM', 'SIGTERM')
  process.emit('SIGINT', 'SIGINT')
  await turn()
  expect(stops()).toBe(1)
  expect(exit).not.toHaveBeenCalled()
  vi.advanceTimersByTime(1001)
  expect(() => process.emit('SIGTERM', 'SIGTERM')).toThrow('exit 143')
})

it('once the signal handlers are removed, a signal no longer stops the worker', () => {
  const { remove, stops } = stoppable()
  remove()
  process.emit('SIGTERM', 'SIGTERM')
  expect(stops()).toBe(0)
})
