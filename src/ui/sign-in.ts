/** The token lasts as long as the tab. A sign-in link has it after the #: browsers never send that part to a server. */
import { signal } from '@preact/signals'
import { load, save } from './storage.ts'

const TOKEN = 'kalends.token'

export const signInNeeded = signal(false)

let token = load(TOKEN, 'sessionStorage')
// This runs before the router reads the address.
signInByLink()

export function accessToken(): string | null {
  return token
}

export function signIn(value: string): void {
  token = value
  save(TOKEN, value, 'sessionStorage')
  signInNeeded.value = false
}

/** If a sign-in link is opened in a tab that already shows the page, only the part after # changes. */
export function startSignInLinks(): void {
  addEventListener('hashchange', () => {
    if (signInByLink()) location.reload()
  })
}

/** Signs in with a token in the address, and removes it there and from the history, so that it is not shared. */
function signInByLink(): boolean {
  const [, value] = /^#token=([!-~]+)$/.exec(location.hash) ?? []
  if (value === undefined) return false
  history.replaceState(history.state, '', location.pathname + location.search)
  signIn(value)
  return true
}
