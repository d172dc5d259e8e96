/** The saved views above a list: its filter, search, order and columns under a name. The server stores them for the account. */
import { buttonRow, cancelButton, confirmInDialog, openDialog } from './dialog.js'
import { el, newId, replace } from './element.js'
import { showStatus } from './notices.js'
import { link, pathTo } from './navigation.js'
import { api, request } from './requests.js'
import type { RecordInfo } from './schema.js'
import { translate } from './translate.js'

interface NamedView {
  readonly id: string
  readonly name: string
  readonly query: string
}

export interface ViewsBar {
  readonly node: HTMLElement
  readonly load: () => Promise<void>
  /** Marks the view that the list shows. */
  readonly update: () => void
  /** Asks for a name, and saves the state of the list. */
  readonly save: () => void
}

export interface ViewsBarOptions {
  /** The state of the list as a query. */
  readonly query: () => string
  /** Shows the state in the address. */
  readonly open: (query: string) => Promise<void>
  readonly signal: AbortSignal
}

export function makeViewsBar(
  record: RecordInfo,
  { query, open, signal }: ViewsBarOptions,
): ViewsBar {
  const path = api(`views/${record.path}`)
  let views: readonly NamedView[] = []
  const list = el('ul', { 'aria-label': translate('savedViews') })
  const buttons = el('div', { class: 'tools', hidden: true })
  const node = el('div', { class: 'views', hidden: true }, list, buttons)
  const current = (): NamedView | undefined => views.find((view) => view.query === query())

  const update = (): void => {
    const shown = current()
    node.hidden = views.length === 0
    buttons.hidden = shown === undefined
    for (const anchor of list.querySelectorAll('a'))
      if (anchor.dataset.id === shown?.id) anchor.setAttribute('aria-current', 'true')
      else anchor.removeAttribute('aria-current')
  }
  const load = async (): Promise<void> => {
    const { data } = await request<NamedView[]>('GET', path, { signal })
    views = data
    const links = views.map(({ id, name, query: state }) =>
      link(`${pathTo(record.path)}?${state}`, { 'data-id': id, dir: 'auto' }, name),
    )
    replace(list, ...links.map((anchor) => el('li', {}, anchor)))
    update()
  }
  const askName = (title: string, name: string, send: (name: string) => Promise<void>): void => {
    openDialog(title, ({ close }) => [nameForm(name, send, close)])
  }
  const save = (): void => {
    askName(translate('saveView'), current()?.name ?? '', async (name) => {
      const state = query()
      await request('POST', path, { body: { name, query: state } })
      await open(state)
      await load()
      showStatus(translate('viewSaved', { name }))
    })
  }
  const rename = (): void => {
    const view = current()
    if (view === undefined) return
    askName(translate('renameView'), view.name, async (name) => {
      await request('PATCH', `${path}/${view.id}`, { body: { name } })
      await load()
    })
  }
  const remove = async (): Promise<void> => {
    const view = current()
    if (view === undefined) return
    const isConfirmed = await confirmInDialog({
      title: translate('deleteQuestion', { title: view.name }),
      content: [el('p', {}, translate('viewDeleteHelp'))],
      confirmLabel: translate('delete'),
      isDangerous: true,
    })
    if (!isConfirmed) return
    await request('DELETE', `${path}/${view.id}`)
    await load()
    showStatus(translate('viewDeleted', { name: view.name }))
  }
  replace(
    buttons,
    el('button', { type: 'button', class: 'quiet', onclick: rename }, translate('renameView')),
    el('button', { type: 'button', class: 'quiet', onclick: remove }, translate('deleteView')),
  )
  return { node, load, update, save }
}

/** The form of a dialog that asks for the name of a view. */
function nameForm(
  name: string,
  send: (name: string) => Promise<void>,
  close: () => void,
): HTMLFormElement {
  const id = newId()
  const box = el('input', {
    type: 'text',
    id,
    maxlength: 60,
    required: true,
    value: name,
    dir: 'auto',
    autocomplete: 'off',
  })
  const onsubmit = async (event: Event): Promise<void> => {
    event.preventDefault()
    const text = box.value.trim()
    if (text === '') return
    await send(text)
    close()
  }
  return el(
    'form',
    { onsubmit },
    el('div', { class: 'field' }, el('label', { for: id }, translate('name')), box),
    buttonRow(
      el('button', { type: 'submit', class: 'main' }, translate('save')),
      cancelButton(close),
    ),
  )
}
