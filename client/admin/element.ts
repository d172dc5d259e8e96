/** Creates elements. Strings become text nodes, never HTML. */
import { showError } from './notices.js'

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

let idCount = 0
export const newId = (): string => `a${++idCount}`
