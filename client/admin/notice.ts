/** Says what was done (`status`) and what was refused (`alert`). */
import { faultText } from './faults.js'

let timer: ReturnType<typeof setTimeout> | undefined

/** Where alerts stand: the dialog that is open, else the top of the view. */
const place = (): Element | null =>
  [...document.querySelectorAll('dialog[open] .notices')].at(-1) ??
  document.querySelector('main .notices, .gate .notices')

/** Said politely, and shown until the next thing is said. */
export function say(words: string): void {
  hush()
  const status = document.querySelector('#status')
  if (status === null) return
  status.textContent = words
  clearTimeout(timer)
  timer = setTimeout(() => {
    status.textContent = ''
  }, 8000)
}

/** @param reason words, or an error whose words the server chose */
export function refuse(reason: unknown): void {
  const words = typeof reason === 'string' ? reason : faultText(reason)
  if (words === '') return
  hush()
  const alert = document.createElement('p')
  alert.setAttribute('role', 'alert')
  alert.className = 'alert'
  alert.textContent = words
  place()?.replaceChildren(alert)
  alert.scrollIntoView({ block: 'nearest' })
}

/** Takes away what was refused before. */
export function clearAlerts(): void {
  for (const alert of document.querySelectorAll('[role=alert]')) alert.remove()
}

/** Takes away what was said and refused before. */
export function hush(): void {
  clearAlerts()
  const status = document.querySelector('#status')
  if (status !== null) status.textContent = ''
}
