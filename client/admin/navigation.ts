/** Navigation between the page's URLs, such as `/admin/tickets/7`, and the warning before unsaved changes are lost. */
import { confirm } from './dialog.js'
import { el, showError, type Child } from './element.js'
import { base } from './requests.js'

export interface PageLocation {
  /** The path segments after the page's path. */
  readonly parts: readonly string[]
  readonly query: URLSearchParams
}

export function currentLocation(): PageLocation {
  const parts = location.pathname
    .slice(base.length)
    .split('/')
    .filter((part) => part !== '')
    .map(decodeURIComponent)
  return { parts, query: new URLSearchParams(location.search) }
}

let draw: () => void = () => undefined

export const onRoute = (handler: () => void): void => {
  draw = handler
}

/** The path that is visible, and its state in the browser's history. */
let current = { path: location.pathname + location.search, state: history.state as object | null }

/** Adds a history entry without drawing. */
export function pushPath(path: string, state: object | null = null): void {
  history.pushState(state, '', path)
  current = { path, state }
}

/** Replaces the history entry without drawing. */
export function replacePath(path: string, state: object | null = null): void {
  history.replaceState(state, '', path)
  current = { path, state }
}

/** Where the user was when a view was left. */
interface Place {
  readonly y: number
  /** The link that was followed. */
  readonly href: string
}

// The views load their rows first, so the browser cannot restore the place.
history.scrollRestoration = 'manual'

let returnPlace: Place | undefined

/** The place to return to, after Back or Forward. It is returned once. */
export function takePlace(): Place | undefined {
  const place = returnPlace
  returnPlace = undefined
  return place
}

/** Opens another view without asking about unsaved changes. */
export function go(path: string): void {
  const place: Place = { y: scrollY, href: path }
  replacePath(current.path, { ...(history.state as object | null), place })
  returnPlace = undefined
  pushPath(path)
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

/** Opens links to the page's own URLs without loading a new document. */
export function followLinks(): void {
  document.addEventListener('click', (event) => {
    const anchor = event.target instanceof Element ? event.target.closest('a') : null
    const isPlain = event.button === 0 && !event.metaKey && !event.ctrlKey && !event.shiftKey
    if (anchor === null || !isPlain || event.defaultPrevented || anchor.hasAttribute('download'))
      return
    const isAdminPage =
      anchor.origin === location.origin && `${anchor.pathname}/`.startsWith(`${base}/`)
    if (!isAdminPage || anchor.hash !== '' || anchor.pathname.startsWith(`${base}/api/`)) return
    event.preventDefault()
    confirmLeave()
      .then((may) => {
        if (may) go(anchor.pathname + anchor.search)
      })
      .catch(showError)
  })
  let isLeaving = false
  let isConfirming = false
  addEventListener('popstate', () => {
    if (isLeaving || !isAnyChanged()) {
      isLeaving = false
      returnPlace = (history.state as { place?: Place } | null)?.place
      current = { path: location.pathname + location.search, state: history.state as object | null }
      draw()
      return
    }
    // The browser has already changed the URL. Restore it until the user confirms.
    history.pushState(current.state, '', current.path)
    if (isConfirming) return
    isConfirming = true
    confirmLeave()
      .then((may) => {
        isConfirming = false
        isLeaving = may
        if (may) history.back()
      })
      .catch(showError)
  })
}

const formChecks = new WeakMap<HTMLFormElement, () => boolean>()

/** Warns before the form is left while `isChanged` returns true. */
export const watchForm = (form: HTMLFormElement, isChanged: () => boolean): void => {
  formChecks.set(form, isChanged)
}

const isChanged = (form: HTMLFormElement): boolean => formChecks.get(form)?.() === true

const isAnyChanged = (): boolean => [...document.forms].some(isChanged)

let confirmation: Promise<boolean> | undefined

/** Asks before unsaved changes are discarded. @returns whether the user may leave */
export function confirmLeave(): Promise<boolean> {
  if (!isAnyChanged()) return Promise.resolve(true)
  confirmation ??= confirm({
    title: 'Leave without saving?',
    content: [el('p', {}, 'What you changed in this form is not saved yet.')],
    confirmLabel: 'Leave',
    isDangerous: true,
  }).finally(() => {
    confirmation = undefined
  })
  return confirmation
}

// Escape would close a dialog with a changed form.
document.addEventListener(
  'cancel',
  (event) => {
    const dialog = event.target
    if (
      !(dialog instanceof HTMLDialogElement) ||
      dialog.querySelector('[aria-busy]') !== null ||
      ![...dialog.querySelectorAll('form')].some(isChanged)
    )
      return
    event.preventDefault()
    confirmLeave()
      .then((isSure) => {
        if (isSure) dialog.close()
      })
      .catch(showError)
  },
  { capture: true },
)

// The browser itself asks before the window is closed or reloaded.
addEventListener('beforeunload', (event) => {
  if (isAnyChanged()) event.preventDefault()
})
