/** The frame around every view: header, navigation and content area. */
import { el, icon, listen, put, replace, type Child, clearNotices } from './element.js'
import { base } from './requests.js'
import { link, pathTo } from './navigation.js'
import { schema, type RecordInfo } from './schema.js'

export interface View {
  /** Aborted when the view closes, which cancels its requests. */
  readonly signal: AbortSignal
  readonly isOpen: () => boolean
  readonly show: (...children: Child[]) => void
  /** Sets the heading and the document title. */
  readonly name: (title: string) => void
  /** The area for buttons next to the heading. */
  readonly tools: HTMLElement
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

/** @param record undefined for the start page */
export function openView(record: RecordInfo | undefined, title: string, crumb = true): View {
  closeView()
  const controller = (current = new AbortController())
  const main = shell()
  clearNotices()
  for (const anchor of document.querySelectorAll('nav a')) {
    const isHere = record !== undefined && anchor.getAttribute('href') === pathTo(record.path)
    if (isHere) anchor.setAttribute('aria-current', crumb ? 'true' : 'page')
    else anchor.removeAttribute('aria-current')
  }
  closeMenu()
  const heading = el('h1', { tabindex: '-1' })
  const tools = el('div', { class: 'tools' })
  const content = el('div', { class: 'content' })
  const name = (text: string): void => {
    heading.textContent = text
    const parts = [text, ...(crumb && record !== undefined ? [record.label] : []), 'Admin']
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
        heading,
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
    tools,
  }
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
  const nav = el('nav', { id: 'records', 'aria-label': 'Records' }, ...groups())
  const button = el('button', {
    ...{ type: 'button', class: 'menu', 'aria-expanded': 'false', 'aria-controls': nav.id },
    onclick: () => {
      const isOpen = button.getAttribute('aria-expanded') === 'true'
      button.setAttribute('aria-expanded', String(!isOpen))
      if (!isOpen) nav.querySelector('a')?.focus()
    },
  })
  put(button, icon('menu'), 'Menu')
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
    el('a', { class: 'skip', href: '#main' }, 'Skip to the content'),
    el(
      'header',
      {},
      button,
      link(base, { class: 'brand' }, 'Admin'),
      el('span', { class: 'who' }, schema()?.caller.sub ?? ''),
      el('button', { type: 'button', class: 'quiet', onclick: () => signOut.run() }, 'Sign out'),
    ),
    nav,
    main,
    el('div', { id: 'status', role: 'status' }),
  )
  return main
}

function groups(): HTMLElement[] {
  const byGroup = new Map<string, RecordInfo[]>()
  for (const record of schema()?.records ?? []) {
    const group = record.group ?? ''
    byGroup.set(group, [...(byGroup.get(group) ?? []), record])
  }
  return [...byGroup].map(([group, records]) =>
    el(
      'div',
      { class: 'group' },
      group !== '' ? el('h2', {}, group) : byGroup.size > 1 && el('h2', {}, 'Others'),
      el('ul', {}, ...records.map((one) => el('li', {}, link(pathTo(one.path), {}, one.label)))),
    ),
  )
}

/** The start page: a list of all records. */
export function showStart(): void {
  const view = openView(undefined, 'Records')
  const all = schema()?.records ?? []
  view.show(
    all.length === 0
      ? el('p', {}, 'There is no record that you may see.')
      : el(
          'ul',
          { class: 'cards' },
          ...all.map((record) =>
            el(
              'li',
              {},
              link(pathTo(record.path), {}, record.label),
              el('p', {}, record.help ?? record.group ?? ''),
            ),
          ),
        ),
  )
}
