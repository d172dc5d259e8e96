/** The view "Bin" of a record whose deleted rows can be restored. */
import { el, put, replace } from './element.js'
import { toDateTime, withCount } from './format.js'
import { markBusy } from './form.js'
import { showStatus } from './notices.js'
import { api, request } from './requests.js'
import { keyOf, titleOf, type PageRow, type RecordInfo } from './schema.js'
import { translate } from './translate.js'
import { openView } from './view.js'

interface BinPage {
  readonly rows: readonly { readonly row: PageRow; readonly deletedAt: string }[]
  /** The cursor of the next page. */
  readonly next?: string
}

export async function showBin(record: RecordInfo): Promise<void> {
  const view = openView(record, translate('binOf', { many: record.label }))
  const path = api(`bin/${record.path}`)
  const body = el('tbody')
  const selected = new Set<string>()
  const table = el(
    'table',
    {},
    el('caption', { class: 'unseen' }, translate('binOf', { many: record.label })),
    el(
      'thead',
      {},
      el(
        'tr',
        {},
        el('td', { class: 'box' }),
        el('th', { scope: 'col', class: 'prose' }, record.one),
        el('th', { scope: 'col', class: 'when' }, translate('deletedAt')),
        el('td', {}),
      ),
    ),
    body,
  )
  const empty = el('div', { class: 'empty' }, translate('loading'))
  const card = el('div', { class: 'card rows' }, el('div', { class: 'scroll' }, table), empty)
  let next: string | undefined
  const earlier = el(
    'button',
    { type: 'button', hidden: true, onclick: () => load(next) },
    translate('earlier'),
  )
  const restoreSelected = el(
    'button',
    {
      type: 'button',
      onclick: () => restore([...selected], withCount(selected.size, record)),
    },
    translate('restoreSelected'),
  )
  const bulk = el('div', { class: 'bar' }, restoreSelected)

  const showCounts = (): void => {
    restoreSelected.disabled = selected.size === 0
    const isEmpty = body.children.length === 0
    replace(empty, translate('binEmpty'))
    empty.hidden = !isEmpty
    table.hidden = isEmpty
    bulk.hidden = isEmpty
  }
  const restore = async (keys: readonly string[], title: string): Promise<void> => {
    const release = markBusy(card)
    try {
      await request('POST', path, { body: { ids: keys } })
    } finally {
      release()
    }
    await load()
    showStatus(translate('restored', { name: title }))
    view.focus()
  }
  const rowNode = ({ row, deletedAt }: BinPage['rows'][number]): HTMLElement => {
    const [key, title] = [keyOf(record, row), titleOf(record, row)]
    const box = el('input', {
      type: 'checkbox',
      'aria-label': translate('selectRow', { title }),
      onchange: () => {
        if (box.checked) selected.add(key)
        else selected.delete(key)
        showCounts()
      },
    })
    return el(
      'tr',
      {},
      el('td', { class: 'box' }, box),
      el('td', { class: 'prose', 'data-label': record.one, dir: 'auto' }, title),
      el('td', { class: 'when', 'data-label': translate('deletedAt') }, toDateTime(deletedAt)),
      el(
        'td',
        {},
        el(
          'button',
          {
            type: 'button',
            'aria-label': translate('restoreRow', { title }),
            onclick: () => restore([key], title),
          },
          translate('restore'),
        ),
      ),
    )
  }
  const load = async (after?: string): Promise<void> => {
    const params = after === undefined ? {} : { after }
    const { data } = await request<BinPage>('GET', path, { params, signal: view.signal })
    if (after === undefined) {
      selected.clear()
      body.replaceChildren()
    }
    put(body, ...data.rows.map(rowNode))
    next = data.next
    earlier.hidden = next === undefined
    showCounts()
  }
  view.show(bulk, card, el('div', { class: 'pager' }, earlier))
  await load()
}
