import { render } from 'preact'
import { startLive } from './api/live.ts'
import { App } from './app.tsx'
import { startKeyboard } from './keyboard.ts'
import { startRouter } from './router.ts'
import { startSession } from './session.ts'
import { startSignInLinks } from './sign-in.ts'
import { startClock } from './time/clock.ts'
import { startTimes } from './time/Time.tsx'

startSignInLinks()
startRouter()
startKeyboard()
startClock()
startTimes()
startSession()
startLive()

const root = document.querySelector('#app')
if (root !== null) render(<App />, root)
