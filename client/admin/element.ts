/** Creates elements, and shows notices. Strings become text nodes, never HTML. */
import { errorText } from './requests.js'

export type Child = Node | string | false | null | undefined
type Handler = (event: Event) => unknown
export type ElementAttributes = Readonly<
  Record<string, string | number | boolean | Handler | undefined>
>

/** Creates an element: `el('button', { type: 'button', onclick: save }, 'Save')`. Ignores attributes that are false or undefined. */
export function el<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  attributes: ElementAttributes = {},
  ...children: Child[]
): HTMLElementTagNameMap[K] {
  return fill(document.createElement(tag), attributes, children)
}

export function svg<K extends keyof SVGElementTagNameMap>(
  tag: K,
  attributes: ElementAttributes = {},
  ...children: Child[]
): SVGElementTagNameMap[K] {
  return fill(document.createElementNS('http://www.w3.org/2000/svg', tag), attributes, children)
}

function fill<T extends Element>(element: T, attributes: ElementAttributes, children: Child[]): T {
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === 'function') listen(element, name.slice(2), value)
    else if (value !== false && value !== undefined)
      element.setAttribute(name, value === true ? '' : String(value))
  }
  put(element, ...children)
  return element
}

/** Adds a listener. Errors of the listener are shown to the user. */
export function listen(target: EventTarget, type: string, handler: Handler): void {
  target.addEventListener(type, (event) => {
    const run = async (): Promise<void> => {
      await handler(event)
    }
    run().catch(showError)
  })
}

export function put(element: Element, ...children: Child[]): void {
  for (const child of children)
    if (child !== false && child !== null && child !== undefined) element.append(child)
}

export function replace(element: Element, ...children: Child[]): void {
  element.replaceChildren()
  put(element, ...children)
}

let count = 0
export const newId = (): string => `a${++count}`

const iconPaths = {
  up: 'M4 10l4-4 4 4',
  down: 'M4 6l4 4 4-4',
  both: 'M5 6.5l3-3 3 3M5 9.5l3 3 3-3',
  left: 'M10 4L6 8l4 4',
  right: 'M6 4l4 4-4 4',
  plus: 'M8 3v10M3 8h10',
  cross: 'M4 4l8 8M12 4l-8 8',
  menu: 'M2 4h12M2 8h12M2 12h12',
  search: 'M7 12A5 5 0 1 0 7 2a5 5 0 0 0 0 10zM14 14l-3.4-3.4',
  filter: 'M2 3.5h12M4.5 8h7M7 12.5h2',
  columns: 'M2.5 3h11v10h-11zM6.2 3v10M9.8 3v10',
  chart: 'M3 13V8M8 13V3M13 13V6',
  out: 'M8 2v8M5 7l3 3 3-3M3 13h10',
  in: 'M8 10V2M5 5l3-3 3 3M3 13h10',
  clock: 'M8 14A6 6 0 1 0 8 2a6 6 0 0 0 0 12zM8 5v3l2 1.5',
} as const

/** A decorative icon. It must have text next to it. */
export const icon = (name: keyof typeof iconPaths): SVGSVGElement =>
  svg(
    'svg',
    { class: 'icon', viewBox: '0 0 16 16', 'aria-hidden': 'true', focusable: 'false' },
    svg('path', { d: iconPaths[name] }),
  )

let timer: ReturnType<typeof setTimeout> | undefined

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
  clearTimeout(timer)
  timer = setTimeout(() => {
    status.textContent = ''
  }, 8000)
}

/** Shows an alert. @param reason a text or an error */
export function showError(reason: unknown): void {
  const message = typeof reason === 'string' ? reason : errorText(reason)
  if (message === '') return
  clearNotices()
  const alert = document.createElement('p')
  alert.setAttribute('role', 'alert')
  alert.className = 'alert'
  alert.textContent = message
  alertArea()?.replaceChildren(alert)
  alert.scrollIntoView({ block: 'nearest' })
}

/** Takes away what was refused before. */
export function clearAlerts(): void {
  for (const alert of document.querySelectorAll('.notices [role=alert]')) alert.remove()
}

/** Takes away what was said and refused before. */
export function clearNotices(): void {
  clearAlerts()
  const status = document.querySelector('#status')
  if (status !== null) status.textContent = ''
}
