/** The frame around every view: header, navigation and content area. */
import { el, listen, put, replace, type Child } from './element.js'
import { icon } from './icon.js'
import { clearNotices } from './notices.js'
import { base } from './requests.js'
import { link, pathTo, takeReturnPosition } from './navigation.js'
import { makeMenu } from './menu.js'
import { branding, brandNode } from './branding.js'
import { schema, type RecordInfo } from './schema.js'
import { translate } from './translate.js'

export interface PageView {
  /** Aborted when the view closes, which cancels its requests. */
  readonly signal: AbortSignal
  readonly isOpen: () => boolean
  readonly show: (...children: Child[]) => void
  /** Sets the heading and the document title. */
  readonly name: (title: string) => void
  /** Focuses the heading, after the focused element has gone. */
  readonly focus: () => void
  /** The area for buttons next to the heading. */
  readonly tools: HTMLElement
  /** The area for a text beside the heading. */
  readonly aside: HTMLElement
  /** Restores the position that the user had left, once the view shows its content. */
  readonly settle: () => void
}

let current = new AbortController()
let isFirst = true

/** Closes the current view and its dialogs. */
export function closeView(): void {
  current.abort()
  for (const dialog of document.querySelectorAll('dialog')) dialog.remove()
}

const signOut = { run: (): Promise<void> => Promise.resolve() }
export const onSignOut = (run: () => Promise<void>): void => {
  signOut.run = run
}

const jump = { run: (): Promise<void> => Promise.resolve() }
export const onJump = (run: () => Promise<void>): void => {
  jump.run = run
}

/** @param record undefined for the start page */
export function openView(record: RecordInfo | undefined, title: string, crumb = true): PageView {
  closeView()
  const controller = (current = new AbortController())
  const main = shell()
  clearNotices()
  for (const anchor of document.querySelectorAll('nav a')) {
    const path = record === undefined ? location.pathname : pathTo(record.path)
    const isHere = anchor.getAttribute('href') === path
    if (!isHere) {
      anchor.removeAttribute('aria-current')
      continue
    }
    anchor.setAttribute('aria-current', crumb ? 'true' : 'page')
    anchor.closest('details')?.setAttribute('open', '')
  }
  closeMenu()
  const heading = el('h1', { tabindex: '-1', dir: 'auto' })
  const tools = el('div', { class: 'tools' })
  const aside = el('div', { class: 'aside' })
  const position = takeReturnPosition()
  const content = el('div', { class: 'content' })
  const name = (text: string): void => {
    heading.textContent = text
    const parts = [text, ...(crumb && record !== undefined ? [record.label] : []), branding.title]
    document.title = [...new Set(parts)].join(' · ')
  }
  replace(
    main,
    el(
      'div',
      { class: 'head' },
      el(
        'div',
        {},
        crumb &&
          record !== undefined &&
          el('p', { class: 'crumb' }, link(pathTo(record.path), {}, icon('left'), record.label)),
        el('div', { class: 'title-line' }, heading, aside),
        !crumb && record?.help !== undefined && el('p', { class: 'lead' }, record.help),
      ),
      tools,
    ),
    el('div', { class: 'notices' }),
    content,
  )
  name(title)
  // After the page load, focus stays at the top.
  if (!isFirst) heading.focus()
  isFirst = false
  scrollTo(0, 0)
  return {
    signal: controller.signal,
    isOpen: () => !controller.signal.aborted,
    show: (...children) => {
      replace(content, ...children)
    },
    name,
    focus: () => {
      heading.focus()
    },
    tools,
    aside,
    settle: () => {
      if (position === undefined || controller.signal.aborted) return
      scrollTo(0, position.y)
      const links = content.querySelectorAll<HTMLElement>('a[href]')
      const left = [...links].find((anchor) => anchor.getAttribute('href') === position.href)
      left?.focus({ preventScroll: true })
    },
  }
}

function callerName(): string {
  const { name, sub = '' } = schema()?.caller ?? {}
  return name ?? sub
}

let menu: HTMLButtonElement | undefined

function closeMenu(): void {
  menu?.setAttribute('aria-expanded', 'false')
}

/** @returns the element that contains the view */
function shell(): HTMLElement {
  const existing = document.querySelector<HTMLElement>('main#main')
  if (existing !== null) return existing
  const main = el('main', { id: 'main', tabindex: '-1' })
  const nav = makeMenu()
  const button = el('button', {
    type: 'button',
    class: 'menu',
    'aria-expanded': 'false',
    'aria-controls': nav.id,
    onclick: () => {
      const isOpen = button.getAttribute('aria-expanded') === 'true'
      button.setAttribute('aria-expanded', String(!isOpen))
      if (!isOpen) nav.querySelector<HTMLElement>('input, summary, a')?.focus()
    },
  })
  put(button, icon('menu'), translate('menu'))
  menu = button
  listen(nav, 'keydown', (event) => {
    if (
      (event as KeyboardEvent).key !== 'Escape' ||
      button.getAttribute('aria-expanded') !== 'true'
    )
      return
    closeMenu()
    button.focus()
  })
  document.body.className = ''
  replace(
    document.body,
    el('a', { class: 'skip', href: '#main' }, translate('skip')),
    el(
      'header',
      {},
      button,
      link(base, { class: 'brand' }, ...brandNode()),
      el(
        'button',
        {
          type: 'button',
          class: 'quiet jump-button',
          'aria-keyshortcuts': 'Control+K Meta+K',
          title: 'Ctrl+K',
          onclick: () => jump.run(),
        },
        icon('search'),
        translate('jump'),
      ),
      el('span', { class: 'who' }, callerName()),
      el(
        'button',
        { type: 'button', class: 'quiet', onclick: () => signOut.run() },
        translate('signOut'),
      ),
    ),
    nav,
    main,
    el('div', { id: 'status', role: 'status' }),
  )
  return main
}
