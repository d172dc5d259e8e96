/** The history of a row, and of all rows of a record: who changed what. */
import { api, request } from './requests.js'
import { el, listen, newId, replace, type Child } from './element.js'
import { icon } from './icon.js'
import { link, pathTo, replacePath } from './navigation.js'
import { fieldOf, labelOf, displayLabel, referredKey, type RecordInfo, targetOf } from './schema.js'
import { isTitleCached, cachedTitle, loadTitles } from './titles.js'
import { openView } from './view.js'
import { toFieldText } from './field-values.js'
import { toDateTime, toText } from './format.js'
import { translate } from './translate.js'

interface HistoryEntry {
  readonly id: number
  /** The key of the changed row. */
  readonly row: string
  readonly at: string
  /** The `sub` of the person. */
  readonly by: string
  /** The title of the person's row, if the page has a record of people. */
  readonly person?: string
  readonly kind: 'create' | 'update' | 'delete' | 'restore' | 'action'
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

const kindLabels = {
  create: translate('created'),
  update: translate('changed'),
  delete: translate('deleted'),
  restore: translate('restoredKind'),
  action: translate('action'),
} as const

/** @param anchor the history is inserted after this element */
export function makeHistoryButton(record: RecordInfo, key: string, anchor: Element): HTMLElement {
  const id = newId()
  const region = el('section', {
    class: 'card',
    id,
    'aria-label': translate('history'),
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
      await showChanges(record, { key }, region)
      region.focus()
      region.scrollIntoView({ block: 'nearest' })
    },
  })
  button.append(icon('clock'), translate('history'))
  return button
}

/** The view of the changes of all rows, including deleted rows. */
export async function showHistory(record: RecordInfo, query: URLSearchParams): Promise<void> {
  const view = openView(record, translate('historyOf', { many: record.label }))
  const region = el('section', { class: 'card', 'aria-label': translate('history') })
  const deleted = el('input', { type: 'checkbox', checked: query.get('kind') === 'delete' })
  const redraw = (): Promise<void> =>
    showChanges(record, deleted.checked ? { kind: 'delete' } : {}, region)
  listen(deleted, 'change', async () => {
    replacePath(pathTo(record.path, 'history') + (deleted.checked ? '?kind=delete' : ''))
    await redraw()
  })
  view.show(el('label', { class: 'choice' }, deleted, translate('onlyDeleted')), region)
  await redraw()
}

interface HistoryFilter {
  /** The key of a row. Default: all rows. */
  readonly key?: string
  readonly kind?: HistoryEntry['kind']
}

/** Loads the changes into the region, with a button for earlier changes. */
async function showChanges(
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
    const { rows: entries, next } = data
    await loadLinkedTitles(record, entries)
    const isOfAllRows = key === undefined
    const keys = isOfAllRows ? entries.map((entry) => entry.row) : []
    await loadTitles(record, keys)
    body.append(...entries.flatMap((entry) => toTableRows(record, entry, isOfAllRows)))
    replace(
      more,
      next !== undefined &&
        el('button', { type: 'button', onclick: () => load(next) }, translate('earlier')),
    )
  }
  await load()
  const heads = (['when', 'who', 'field', 'from', 'to'] as const).map((name) =>
    el('th', { scope: 'col' }, translate(name)),
  )
  replace(
    region,
    el('h2', {}, translate('history')),
    body.children.length === 0
      ? el('p', { class: 'quiet-words' }, translate('noChanges'))
      : el(
          'div',
          {
            class: 'scroll changes',
            tabindex: '0',
            role: 'group',
            'aria-label': translate('changes'),
          },
          el('table', {}, el('thead', {}, el('tr', {}, ...heads)), body),
        ),
    more,
  )
}

/** The lines of an entry: what happened, and each change of a field. @param namesRow whether to say which row was changed */
function toTableRows(record: RecordInfo, entry: HistoryEntry, namesRow: boolean): HTMLElement[] {
  const { kind, action, changes } = entry
  const lines: Child[][] = changes.map((change) => describeChange(record, change))
  if (kind !== 'update' || namesRow) {
    const title = kind === 'action' ? (action ?? kindLabels.action) : kindLabels[kind]
    const rowName = namesRow ? [' ', rowLink(record, entry)] : []
    lines.unshift([el('span', {}, el('em', {}, title), ...rowName)])
  }
  return lines.map((cells, index) => toTableRow(entry, cells, index === 0))
}

/** The label of the field, its previous value, and its new value. */
function describeChange(
  record: RecordInfo,
  { field: name, from, to }: HistoryEntry['changes'][number],
): Child[] {
  const field = fieldOf(record, name)
  const label = field === undefined ? labelOf({ name }) : displayLabel(record, field)
  const target = targetOf(record, field)
  const show = (value: unknown): string =>
    target === undefined || value === null
      ? toFieldText(field, value)
      : cachedTitle(target, referredKey(target, value))
  return [label, show(from), show(to)]
}

/** Screen readers read the time and the person in each line. They are visible in the first line only. */
function toTableRow(
  { at, by, person = by }: HistoryEntry,
  cells: readonly Child[],
  isFirst: boolean,
): HTMLElement {
  const unseen = isFirst ? undefined : 'unseen'
  const colspan = cells.length === 1 ? '3' : undefined
  return el(
    'tr',
    { class: isFirst ? 'first' : undefined },
    el('td', {}, el('time', { datetime: at, class: unseen }, toDateTime(at))),
    el('td', {}, el('span', { class: unseen, title: person === by ? undefined : by }, person)),
    ...cells.map((cell) => el('td', { colspan }, cell)),
  )
}

/** A link to the row. A deleted row is named by its last title. */
function rowLink(record: RecordInfo, { row, changes }: HistoryEntry): Child {
  if (isTitleCached(record, row))
    return link(pathTo(record.path, row), { dir: 'auto' }, cachedTitle(record, row))
  const title = changes.find(({ field }) => field === record.title)
  return title === undefined ? cachedTitle(record, row) : toText(title.from ?? title.to)
}

/** Loads the titles of the rows whose keys are the values of changed fields. */
async function loadLinkedTitles(
  record: RecordInfo,
  entries: readonly HistoryEntry[],
): Promise<void> {
  const changes = entries.flatMap((entry) => entry.changes)
  for (const field of record.fields) {
    const target = targetOf(record, field)
    if (target === undefined) continue
    const fieldChanges = changes.filter((change) => change.field === field.name)
    await loadTitles(
      target,
      fieldChanges.flatMap(({ from, to }) => [from, to]).map((key) => referredKey(target, key)),
    )
  }
}
