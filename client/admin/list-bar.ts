/** The bar above a list: the search, and the panels for filter and columns. */
import { el, newId, listen, put, replace } from './element.js'
import { icon } from './icon.js'

export interface BarOptions {
  readonly searchBox: HTMLInputElement
  /** Called 300 ms after the last keystroke, and immediately for Enter. */
  readonly search: () => Promise<void>
  /** The panels that the buttons open. */
  readonly panels: readonly {
    readonly name: string
    readonly icon: 'filter' | 'columns'
    readonly make: () => HTMLElement
  }[]
  /** What stands after the buttons of the panels. */
  readonly more: readonly HTMLElement[]
}

export interface ListBar {
  readonly node: HTMLElement
  /** The container of the open panel. */
  readonly panel: HTMLElement
  /** Closes the open panel and focuses its button. */
  readonly close: () => void
}

export function makeBar({ searchBox, search, panels, more }: BarOptions): ListBar {
  const panel = el('div', {})
  let timer: ReturnType<typeof setTimeout> | undefined
  listen(searchBox, 'input', () => {
    clearTimeout(timer)
    // The view may have been closed in the meantime.
    timer = setTimeout(() => searchBox.isConnected && searchBox.form?.requestSubmit(), 300)
  })
  const onsubmit = async (event: Event): Promise<void> => {
    event.preventDefault()
    clearTimeout(timer)
    await search()
  }
  const node = el(
    'div',
    { class: 'bar' },
    el('form', { role: 'search', class: 'search', onsubmit }, icon('search'), searchBox),
  )
  const openButton = (): HTMLElement | null => node.querySelector('[aria-expanded=true]')
  const toggle = (button: HTMLElement, make: () => HTMLElement): void => {
    const before = openButton()
    before?.setAttribute('aria-expanded', 'false')
    replace(panel)
    if (before === button) return
    button.setAttribute('aria-expanded', 'true')
    const panelContent = make()
    panelContent.id = button.getAttribute('aria-controls') ?? ''
    panelContent.classList.add('card')
    listen(panelContent, 'keydown', (event) => {
      if ((event as KeyboardEvent).key === 'Escape') close()
    })
    replace(panel, panelContent)
    panelContent.querySelector<HTMLElement>('input:not([disabled]), select')?.focus()
  }
  const close = (): void => {
    const button = openButton()
    button?.click()
    button?.focus()
  }
  for (const { name, icon: iconName, make } of panels) {
    const button = el('button', {
      type: 'button',
      'aria-expanded': 'false',
      'aria-controls': newId(),
      onclick: () => {
        toggle(button, make)
      },
    })
    put(button, icon(iconName), name)
    put(node, button)
  }
  put(node, ...more)
  return { node, panel, close }
}
