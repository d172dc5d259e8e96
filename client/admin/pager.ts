/** The bar below a list: previous and next page, a page to jump to, and the number of rows per page. */
import { el, listen, newId } from './element.js'
import { icon } from './icon.js'
import { base } from './requests.js'
import { toCount, translate } from './translate.js'

export interface PagerOptions {
  readonly previous: () => Promise<void>
  readonly next: () => Promise<void>
  /** @param page counted from 1 */
  readonly jump: (page: number) => Promise<void>
  /** Called after the page size has changed. */
  readonly resize: () => Promise<void>
}

export interface PagerState {
  /** Undefined for a bookmarked page, whose number is not known. */
  readonly page: number | undefined
  /** Undefined if the number of rows is not known. */
  readonly pageCount: number | undefined
  readonly isEstimate: boolean
  readonly hasPrevious: boolean
  readonly hasNext: boolean
}

export interface Pager {
  readonly node: HTMLElement
  readonly show: (state: PagerState) => void
}

const sizes = [25, 50, 100, 200] as const
const storageKey = `filigree ${base} rows per page`

/** The number of rows per page, which the browser remembers. */
export function pageSize(): number {
  try {
    const stored = Number(localStorage.getItem(storageKey))
    return sizes.find((size) => size === stored) ?? sizes[0]
  } catch {
    return sizes[0]
  }
}

export function makePager({ previous, next, jump, resize }: PagerOptions): Pager {
  const back = el(
    'button',
    { type: 'button', onclick: previous },
    icon('left'),
    translate('previousPage'),
  )
  const forward = el(
    'button',
    { type: 'button', onclick: next },
    translate('nextPage'),
    icon('right'),
  )
  const box = el('input', {
    type: 'text',
    inputmode: 'numeric',
    size: 4,
    class: 'page',
    autocomplete: 'off',
    'aria-label': translate('page'),
  })
  const count = el('span', {})
  let lastPage = 1
  const jumper = el(
    'form',
    {
      class: 'jump',
      onsubmit: async (event) => {
        event.preventDefault()
        const page = Number(box.value.replace(/\D/g, ''))
        if (page >= 1) await jump(Math.min(page, lastPage))
      },
    },
    el('span', { 'aria-hidden': 'true' }, translate('page')),
    box,
    count,
  )
  const id = newId()
  const size = el(
    'select',
    { id },
    ...sizes.map((one) => el('option', { value: one }, String(one))),
  )
  size.value = String(pageSize())
  listen(size, 'change', async () => {
    try {
      localStorage.setItem(storageKey, size.value)
    } catch {
      // Without storage, the page size cannot change.
    }
    await resize()
  })
  const rows = el(
    'span',
    { class: 'size' },
    el('label', { for: id }, translate('rowsPerPage')),
    size,
  )
  return {
    node: el('div', { class: 'pager' }, rows, jumper, back, forward),
    show: ({ page, pageCount, isEstimate, hasPrevious, hasNext }) => {
      back.disabled = !hasPrevious
      forward.disabled = !hasNext
      box.value = page === undefined ? '' : String(page)
      jumper.hidden = pageCount === undefined || pageCount < 2
      lastPage = pageCount ?? 1
      count.textContent = translate('ofPages', {
        count: isEstimate ? translate('about', { count: lastPage }) : toCount(lastPage),
      })
    },
  }
}
