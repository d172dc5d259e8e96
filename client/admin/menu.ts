/** The menu of the records: groups that fold, and a box that finds a record among many. */
import { base } from './requests.js'
import { el, listen } from './element.js'
import { link, pathTo } from './navigation.js'
import { schema, type RecordInfo } from './schema.js'
import { toCount, translate } from './translate.js'

/** With more records than this, the menu has a box to find one. */
const maxUnfiltered = 10

/** The records by group, in the order of the page. Records without a group come under a group of their own if there are groups. */
export function recordGroups(): [name: string, records: RecordInfo[]][] {
  const byGroup = new Map<string, RecordInfo[]>()
  for (const record of schema()?.records ?? []) {
    const group = record.group ?? ''
    byGroup.set(group, [...(byGroup.get(group) ?? []), record])
  }
  const hasGroups = byGroup.size > 1
  return [...byGroup].map(([name, records]) => [
    name === '' && hasGroups ? translate('otherRecords') : name,
    records,
  ])
}

const storageKey = `filigree ${base} folded`

/** The names of the groups that the user has folded. */
function foldedGroups(): Set<string> {
  try {
    const stored = JSON.parse(localStorage.getItem(storageKey) ?? '[]') as unknown
    return new Set(Array.isArray(stored) ? stored.map(String) : [])
  } catch {
    return new Set()
  }
}

function storeFolded(name: string, isFolded: boolean): void {
  const names = foldedGroups()
  if (isFolded) names.add(name)
  else names.delete(name)
  try {
    localStorage.setItem(storageKey, JSON.stringify([...names]))
  } catch {
    // Without storage, the groups are open after the next load.
  }
}

export function makeMenu(): HTMLElement {
  const folded = foldedGroups()
  const groups = recordGroups()
  const all = groups.flatMap(([, records]) => records)
  const items = new Map<RecordInfo, HTMLElement>()
  const sections = groups.map(([name, records]) => {
    const list = el('ul', {})
    for (const record of records) {
      const item = el('li', {}, link(pathTo(record.path), {}, record.label))
      items.set(record, item)
      list.append(item)
    }
    if (name === '') return { node: el('div', { class: 'group' }, list), records, name }
    const summary = el('summary', {}, el('h2', {}, name), el('span', {}, toCount(records.length)))
    const node = el('details', { class: 'group', open: !folded.has(name) }, summary, list)
    listen(summary, 'click', () => {
      // The click has not changed `open` yet.
      storeFolded(name, node.open)
    })
    return { node, records, name }
  })
  const nav = el('nav', { id: 'records', 'aria-label': translate('records') })
  if (all.length > maxUnfiltered) nav.append(makeFinder(all, items, sections))
  nav.append(...sections.map(({ node }) => node))
  const pages = (schema()?.pages ?? []).map(({ path, title }) =>
    el('li', {}, link(pathTo(path), {}, title)),
  )
  if (pages.length > 0) nav.append(el('ul', { class: 'group' }, ...pages))
  return nav
}

interface MenuSection {
  readonly node: HTMLElement
  readonly records: readonly RecordInfo[]
  readonly name: string
}

/** The box that finds a record by its name or its group. Enter opens the first one. */
function makeFinder(
  all: readonly RecordInfo[],
  items: ReadonlyMap<RecordInfo, HTMLElement>,
  sections: readonly MenuSection[],
): HTMLElement {
  const box = el('input', {
    type: 'search',
    'aria-label': translate('findRecord'),
    placeholder: translate('findRecord'),
    autocomplete: 'off',
    class: 'find',
  })
  const matches = ({ label, group = '' }: RecordInfo): boolean =>
    `${label} ${group}`.toLowerCase().includes(box.value.trim().toLowerCase())
  listen(box, 'input', () => {
    const folded = foldedGroups()
    const isEmpty = box.value.trim() === ''
    for (const [record, item] of items) item.hidden = !matches(record)
    for (const { node, records, name } of sections) {
      node.hidden = !records.some(matches)
      if (node instanceof HTMLDetailsElement) node.open = !isEmpty || !folded.has(name)
    }
  })
  listen(box, 'keydown', (event) => {
    const { key } = event as KeyboardEvent
    const first = all.find(matches)
    if (key === 'Enter' && box.value.trim() !== '' && first !== undefined)
      items.get(first)?.querySelector('a')?.click()
  })
  return box
}
