/** The page's own addresses: `/admin/tickets/7`. */
import { confirm } from './dialog.js'
import { el, refuse, type Child } from './element.js'
import { base } from './requests.js'

export interface Place {
  /** Below the page's path. */
  readonly parts: readonly string[]
  readonly query: URLSearchParams
}

export function here(): Place {
  const parts = location.pathname
    .slice(base.length)
    .split('/')
    .filter((part) => part !== '')
    .map(decodeURIComponent)
  return { parts, query: new URLSearchParams(location.search) }
}

let draw: () => void = () => undefined

export const onRoute = (given: () => void): void => {
  draw = given
}

/** What is shown, and what the browser's history keeps with it. */
let shown = { path: location.pathname + location.search, state: history.state as object | null }

/** A new address for what is shown. */
export function push(path: string, state: object | null = null): void {
  history.pushState(state, '', path)
  shown = { path, state }
}

/** The address changes, and what is shown stays. */
export function rename(path: string, state: object | null = null): void {
  history.replaceState(state, '', path)
  shown = { path, state }
}

/** Shows another place, whatever stands here. */
export function go(path: string): void {
  push(path)
  draw()
}

export const pathTo = (...parts: readonly string[]): string =>
  [base, ...parts.map(encodeURIComponent)].join('/')

/** A link within the page. */
export const link = (
  path: string,
  attributes: Readonly<Record<string, string | boolean | undefined>>,
  ...children: Child[]
): HTMLAnchorElement => el('a', { href: path, ...attributes }, ...children)

/** Clicks that stay within the page need no new one. */
export function followLinks(): void {
  document.addEventListener('click', (event) => {
    const anchor = event.target instanceof Element ? event.target.closest('a') : null
    const isPlain = event.button === 0 && !event.metaKey && !event.ctrlKey && !event.shiftKey
    if (anchor === null || !isPlain || event.defaultPrevented || anchor.hasAttribute('download'))
      return
    const isOurs = anchor.origin === location.origin && `${anchor.pathname}/`.startsWith(`${base}/`)
    if (!isOurs || anchor.hash !== '' || anchor.pathname.startsWith(`${base}/api/`)) return
    event.preventDefault()
    mayLeave()
      .then((may) => {
        if (may) go(anchor.pathname + anchor.search)
      })
      .catch(refuse)
  })
  let isLeaving = false
  let isAsking = false
  addEventListener('popstate', () => {
    if (isLeaving || !isAnyChanged()) {
      isLeaving = false
      shown = { path: location.pathname + location.search, state: history.state as object | null }
      draw()
      return
    }
    // The browser is there already: back to the form, which stays until somebody says so.
    history.pushState(shown.state, '', shown.path)
    if (isAsking) return
    isAsking = true
    mayLeave()
      .then((may) => {
        isAsking = false
        isLeaving = may
        if (may) history.back()
      })
      .catch(refuse)
  })
}

const watched = new WeakMap<HTMLFormElement, () => boolean>()

/** Watches a form for as long as it is on the page. */
export const watch = (form: HTMLFormElement, isChanged: () => boolean): void => {
  watched.set(form, isChanged)
}

const isChanged = (form: HTMLFormElement): boolean => watched.get(form)?.() === true

const isAnyChanged = (): boolean => [...document.forms].some(isChanged)

let asked: Promise<boolean> | undefined

/** Asks whether what was typed may be given up, where there is any. */
export function mayLeave(): Promise<boolean> {
  if (!isAnyChanged()) return Promise.resolve(true)
  asked ??= confirm({
    title: 'Leave without saving?',
    words: [el('p', {}, 'What you changed in this form is not saved yet.')],
    yes: 'Leave',
    isGrave: true,
  }).finally(() => {
    asked = undefined
  })
  return asked
}

// Escape closes a dialog, with the form that may be in it.
document.addEventListener(
  'cancel',
  (event) => {
    const dialog = event.target
    if (
      !(dialog instanceof HTMLDialogElement) ||
      ![...dialog.querySelectorAll('form')].some(isChanged)
    )
      return
    event.preventDefault()
    mayLeave()
      .then((isSure) => {
        if (isSure) dialog.close()
      })
      .catch(refuse)
  },
  { capture: true },
)

// Closing the window and loading the page anew are asked about by the browser itself.
addEventListener('beforeunload', (event) => {
  if (isAnyChanged()) event.preventDefault()
})
