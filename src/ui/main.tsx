import { render } from 'preact'
import { startSession } from './api/calls.ts'
import { startLive } from './api/live.ts'
import { App } from './app.tsx'
import { startKeyboard } from './keyboard.ts'
import { startRouter } from './router.ts'
import { startClock } from './time/clock.ts'

startRouter()
startKeyboard()
startClock()
startSession()
startLive()

const root = document.querySelector('#app')
if (root !== null) render(<App />, root)
