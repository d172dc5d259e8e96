/** Navigation between the page's URLs, such as `/admin/tickets/7`, and the warning before unsaved changes are lost. */
import { confirmInDialog } from './dialog.js'
import { el, type Child } from './element.js'
import { showError } from './notices.js'
import { base } from './requests.js'
import { translate } from './translate.js'

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

let drawView: () => void = () => undefined

/** @param handler draws the view of the current URL */
export const onRoute = (handler: () => void): void => {
  drawView = handler
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
interface ViewPosition {
  readonly y: number
  /** The link that was followed. */
  readonly href: string
}

// The views load their rows first, so the browser cannot restore the position.
history.scrollRestoration = 'manual'

let returnPosition: ViewPosition | undefined

/** The position to return to, after Back or Forward. It is returned once. */
export function takeReturnPosition(): ViewPosition | undefined {
  const position = returnPosition
  returnPosition = undefined
  return position
}

/** Opens another view without asking about unsaved changes. */
export function go(path: string): void {
  const position: ViewPosition = { y: scrollY, href: path }
  replacePath(current.path, { ...(history.state as object | null), position })
  returnPosition = undefined
  pushPath(path)
  drawView()
}

export const pathTo = (...parts: readonly string[]): string =>
  [base, ...parts.map(encodeURIComponent)].join('/')

/** A link within the page. */
export const link = (
  path: string,
  attributes: Readonly<Record<string, string | boolean | undefined>>,
  ...children: Child[]
): HTMLAnchorElement => el('a', { href: path, ...attributes }, ...children)

/** Opens links to the page's own URLs without loading a new document, and draws the view after Back and Forward. */
export function followLinks(): void {
  openLinksInPage()
  drawAfterBack()
}

/** Whether a click opens a link here, and not in another tab or window. */
export const isPlainClick = ({ button, metaKey, ctrlKey, shiftKey }: MouseEvent): boolean =>
  button === 0 && !metaKey && !ctrlKey && !shiftKey

function openLinksInPage(): void {
  document.addEventListener('click', (event) => {
    const anchor = event.target instanceof Element ? event.target.closest('a') : null
    if (
      anchor === null ||
      !isPlainClick(event) ||
      event.defaultPrevented ||
      anchor.hasAttribute('download')
    )
      return
    const isAdminPage =
      anchor.origin === location.origin && `${anchor.pathname}/`.startsWith(`${base}/`)
    if (!isAdminPage || anchor.hash !== '' || anchor.pathname.startsWith(`${base}/api/`)) return
    event.preventDefault()
    confirmLeave()
      .then((isConfirmed) => {
        if (isConfirmed) go(anchor.pathname + anchor.search)
      })
      .catch(showError)
  })
}

function drawAfterBack(): void {
  let isLeaving = false
  let isConfirming = false
  addEventListener('popstate', () => {
    if (isLeaving || !isAnyChanged()) {
      isLeaving = false
      returnPosition = (history.state as { position?: ViewPosition } | null)?.position
      current = { path: location.pathname + location.search, state: history.state as object | null }
      drawView()
      return
    }
    // The browser has already changed the URL. Restore it until the user confirms.
    history.pushState(current.state, '', current.path)
    if (isConfirming) return
    isConfirming = true
    confirmLeave()
      .then((isConfirmed) => {
        isConfirming = false
        isLeaving = isConfirmed
        if (isConfirmed) history.back()
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

/** Asks before unsaved changes are discarded. @returns whether the user wants to leave */
export function confirmLeave(): Promise<boolean> {
  if (!isAnyChanged()) return Promise.resolve(true)
  confirmation ??= confirmInDialog({
    title: translate('leaveQuestion'),
    content: [el('p', {}, translate('notSaved'))],
    confirmLabel: translate('leave'),
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
      .then((isConfirmed) => {
        if (isConfirmed) dialog.close()
      })
      .catch(showError)
  },
  { capture: true },
)

// The browser itself asks before the window is closed or reloaded.
addEventListener('beforeunload', (event) => {
  if (isAnyChanged()) event.preventDefault()
})
