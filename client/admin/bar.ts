/** What stands above a list: the search, and the panels of its filter and its columns. */
import { el, icon, listen, newId, put, replace } from './element.js'

export interface BarOptions {
  readonly searchBox: HTMLInputElement
  /** Called a moment after the last letter, and at once for Enter. */
  readonly search: () => Promise<void>
  /** What the buttons open, by their names. */
  readonly panels: readonly {
    readonly name: string
    readonly drawn: 'filter' | 'columns'
    readonly make: () => HTMLElement
  }[]
}

export interface Bar {
  readonly node: HTMLElement
  /** Where the open panel stands. */
  readonly panel: HTMLElement
  /** Closes the open panel, and goes to its button. */
  readonly close: () => void
}

export function makeBar({ searchBox, search, panels }: BarOptions): Bar {
  const panel = el('div', {})
  let timer: ReturnType<typeof setTimeout> | undefined
  listen(searchBox, 'input', () => {
    clearTimeout(timer)
    // The form is gone from the page with its view.
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
  const opened = (): HTMLElement | null => node.querySelector('[aria-expanded=true]')
  const toggle = (button: HTMLElement, make: () => HTMLElement): void => {
    const before = opened()
    before?.setAttribute('aria-expanded', 'false')
    replace(panel)
    if (before === button) return
    button.setAttribute('aria-expanded', 'true')
    const made = make()
    made.id = button.getAttribute('aria-controls') ?? ''
    made.classList.add('card')
    listen(made, 'keydown', (event) => {
      if ((event as KeyboardEvent).key === 'Escape') close()
    })
    replace(panel, made)
    made.querySelector<HTMLElement>('input:not([disabled]), select')?.focus()
  }
  const close = (): void => {
    const button = opened()
    button?.click()
    button?.focus()
  }
  for (const { name, drawn, make } of panels) {
    const button = el('button', {
      ...{ type: 'button', 'aria-expanded': 'false', 'aria-controls': newId() },
      onclick: () => {
        toggle(button, make)
      },
    })
    put(button, icon(drawn), name)
    put(node, button)
  }
  return { node, panel, close }
}
