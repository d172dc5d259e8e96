/** Notices to the user: an alert for an error, and a status line for what has happened. */
import { errorText } from './requests.js'

let statusTimer: ReturnType<typeof setTimeout> | undefined

/** The container for alerts: in the open dialog, or at the top of the view. */
const alertArea = (): Element | null =>
  [...document.querySelectorAll('dialog[open] .notices')].at(-1) ??
  document.querySelector('main .notices, .gate .notices')

/** Shows a message in the status line for 8 seconds. */
export function showStatus(message: string): void {
  clearNotices()
  const status = document.querySelector('#status')
  if (status === null) return
  status.textContent = message
  clearTimeout(statusTimer)
  statusTimer = setTimeout(() => {
    status.textContent = ''
  }, 8000)
}

/** Shows an error, or a text about one, as an alert. */
export function showError(error: unknown): void {
  const message = typeof error === 'string' ? error : errorText(error)
  if (message === '') return
  clearNotices()
  const alert = document.createElement('p')
  alert.setAttribute('role', 'alert')
  alert.className = 'alert'
  alert.textContent = message
  alertArea()?.replaceChildren(alert)
  alert.scrollIntoView({ block: 'nearest' })
}

/** Removes the alerts. */
export function clearAlerts(): void {
  for (const alert of document.querySelectorAll('.notices [role=alert]')) alert.remove()
}

/** Removes the alerts and the status. */
export function clearNotices(): void {
  clearAlerts()
  const status = document.querySelector('#status')
  if (status !== null) status.textContent = ''
}
