/** Who changed what: in a row, and in all rows of a record. */
import { api, request } from './requests.js'
import { el, listen, newId, replace, type Child } from './element.js'
import { icon } from './icon.js'
import { link, pathTo, replacePath } from './navigation.js'
import { fieldOf, labelOf, displayLabel, type RecordInfo, targetOf } from './schema.js'
import { isTitleCached, cachedTitle, lookUp } from './titles.js'
import { openView } from './view.js'
import { lower, toDateTime, toText } from './format.js'

interface HistoryEntry {
  readonly id: number
  readonly row: string
  readonly at: string
  readonly by: string
  /** The title of the person's row, if the page has a record of people. */
  readonly person?: string
  readonly kind: 'create' | 'update' | 'delete' | 'action'
  readonly action?: string
  readonly changes: readonly {
    readonly field: string
    readonly from: unknown
    readonly to: unknown
  }[]
}

interface HistoryPage {
  readonly rows: readonly HistoryEntry[]
  readonly next?: number
}

const kinds = { create: 'Created', update: 'Changed', delete: 'Deleted', action: 'Action' } as const

/** @param anchor the history is inserted after this element */
export function historyButton(record: RecordInfo, key: string, anchor: Element): HTMLElement {
  const id = newId()
  const region = el('section', {
    class: 'card',
    id,
    'aria-label': 'History',
    hidden: true,
    tabindex: '-1',
  })
  const button = el('button', {
    type: 'button',
    'aria-expanded': 'false',
    'aria-controls': id,
    onclick: async () => {
      const isOpen = button.getAttribute('aria-expanded') === 'true'
      button.setAttribute('aria-expanded', String(!isOpen))
      region.hidden = isOpen
      if (isOpen) return
      anchor.after(region)
      await draw(record, { key }, region)
      region.focus()
      region.scrollIntoView({ block: 'nearest' })
    },
  })
  button.append(icon('clock'), 'History')
  return button
}

/** The view of the changes of all rows, including deleted rows. */
export async function showHistory(record: RecordInfo, query: URLSearchParams): Promise<void> {
  const view = openView(record, `History of ${lower(record.label)}`)
  const region = el('section', { class: 'card', 'aria-label': 'History' })
  const deleted = el('input', { type: 'checkbox', checked: query.get('kind') === 'delete' })
  const redraw = (): Promise<void> =>
    draw(record, deleted.checked ? { kind: 'delete' } : {}, region)
  listen(deleted, 'change', async () => {
    replacePath(pathTo(record.path, 'history') + (deleted.checked ? '?kind=delete' : ''))
    await redraw()
  })
  view.show(el('label', { class: 'choice' }, deleted, 'Only what was deleted'), region)
  await redraw()
}

interface HistoryFilter {
  /** The key of a row. Default: all rows. */
  readonly key?: string
  readonly kind?: HistoryEntry['kind']
}

async function draw(
  record: RecordInfo,
  { key, kind }: HistoryFilter,
  region: HTMLElement,
): Promise<void> {
  const body = el('tbody')
  const more = el('div', { class: 'buttons' })
  const load = async (after?: number): Promise<void> => {
    const row = key === undefined ? '' : `/${encodeURIComponent(key)}`
    const path = api(`history/${record.path}${row}`)
    const { data } = await request<HistoryPage>('GET', path, { params: { after, kind } })
    await lookUpAll(record, data.rows)
    if (key === undefined)
      await lookUp(
        record,
        data.rows.map((entry) => entry.row),
      )
    body.append(...data.rows.flatMap((entry) => rowsOf(record, entry, key === undefined)))
    const { next } = data
    replace(
      more,
      next !== undefined && el('button', { type: 'button', onclick: () => load(next) }, 'Earlier'),
    )
  }
  await load()
  const heads = ['When', 'Who', 'Field', 'From', 'To'].map((name) =>
    el('th', { scope: 'col' }, name),
  )
  replace(
    region,
    el('h2', {}, 'History'),
    body.children.length === 0
      ? el('p', { class: 'quiet-words' }, 'Nothing was changed yet.')
      : el(
          'div',
          { class: 'scroll changes', tabindex: '0', role: 'group', 'aria-label': 'Changes' },
          el('table', {}, el('thead', {}, el('tr', {}, ...heads)), body),
        ),
    more,
  )
}

/** @param isNamed whether each change names its row */
function rowsOf(record: RecordInfo, entry: HistoryEntry, isNamed: boolean): HTMLElement[] {
  const { at, by, person = by, kind, action, changes } = entry
  let isFirst = true
  const row = (name: Child, ...values: Child[]): HTMLElement => {
    // Screen readers read the time and person in each row. They are visible in the first row only.
    const unseen = isFirst ? undefined : 'unseen'
    const element = el(
      'tr',
      { class: isFirst ? 'first' : undefined },
      el('td', {}, el('time', { datetime: at, class: unseen }, toDateTime(at))),
      el('td', {}, el('span', { class: unseen, title: person === by ? undefined : by }, person)),
      el('td', { colspan: values.length === 0 ? '3' : undefined }, name),
      ...values.map((value) => el('td', {}, value)),
    )
    isFirst = false
    return element
  }
  const title = kind === 'action' ? (action ?? kinds.action) : kinds[kind]
  const name = isNamed && [' ', nameRow(record, entry)]
  const head =
    kind === 'update' && !isNamed
      ? []
      : [row(el('span', {}, el('em', {}, title), ...(name === false ? [] : name)))]
  return [
    ...head,
    ...changes.map(({ field, from, to }) => {
      const recordField = fieldOf(record, field)
      const label =
        recordField === undefined ? labelOf({ name: field }) : displayLabel(record, recordField)
      const target = targetOf(record, recordField)
      const show = (value: unknown): string =>
        target === undefined || value === null
          ? toText(value, recordField?.kind.format)
          : cachedTitle(target, value)
      return row(label, show(from), show(to))
    }),
  ]
}

/** A link to the row. A deleted row is named by its last title. */
function nameRow(record: RecordInfo, { row, changes }: HistoryEntry): Child {
  if (isTitleCached(record, row))
    return link(pathTo(record.path, row), {}, cachedTitle(record, row))
  const title = changes.find(({ field }) => field === record.title)
  return title === undefined ? cachedTitle(record, row) : toText(title.from ?? title.to)
}

/** Looks up the titles of the rows whose keys the changes contain. */
async function lookUpAll(record: RecordInfo, entries: readonly HistoryEntry[]): Promise<void> {
  const changes = entries.flatMap((entry) => entry.changes)
  for (const field of record.fields) {
    const target = targetOf(record, field)
    if (target === undefined) continue
    const fieldChanges = changes.filter((change) => change.field === field.name)
    await lookUp(
      target,
      fieldChanges.flatMap(({ from, to }) => [from, to]),
    )
  }
}
