/** The start page: the records by group, with their numbers of rows. */
import { el } from './element.js'
import { link, pathTo } from './navigation.js'
import { recordGroups } from './menu.js'
import { request, rowsOf, statusOf } from './requests.js'
import { readTotal, withTotal } from './row-total.js'
import type { RecordInfo } from './schema.js'
import { translate } from './translate.js'
import { openView, type PageView } from './view.js'

/** Requests for numbers that run at the same time. */
const parallelCounts = 4

export function showStart(): void {
  const view = openView(undefined, translate('records'))
  const groups = recordGroups()
  const counts: [RecordInfo, HTMLElement][] = []
  const toCard = (record: RecordInfo): HTMLElement => {
    const count = el('p', { class: 'total' })
    counts.push([record, count])
    return el(
      'li',
      {},
      link(pathTo(record.path), {}, record.label),
      count,
      record.help !== undefined && el('p', {}, record.help),
    )
  }
  const sections = groups.map(([name, records]) =>
    el(
      'section',
      { class: 'start', 'aria-label': name === '' ? translate('records') : name },
      name !== '' && el('h2', {}, name),
      el('ul', { class: 'cards' }, ...records.map(toCard)),
    ),
  )
  view.show(...(sections.length === 0 ? [el('p', {}, translate('noRecords'))] : sections))
  for (let runner = 0; runner < parallelCounts; runner++) void showCounts(view, counts)
}

/** Takes the records one by one. A record that cannot be counted has no number. */
async function showCounts(view: PageView, counts: [RecordInfo, HTMLElement][]): Promise<void> {
  for (let next = counts.shift(); next !== undefined; next = counts.shift()) {
    const [record, node] = next
    try {
      const options = { params: { limit: 0 }, signal: view.signal }
      const { headers } = await request('GET', rowsOf(record), options)
      const total = readTotal(headers)
      if (total !== undefined) node.textContent = withTotal(total, record)
    } catch (error) {
      if (statusOf(error) === 0) return
    }
  }
}
