/** The section of rows that refer to a row: a table of the first ones, their number, and links to all of them and to a new one. */
import { request, rowsOf } from './requests.js'
import { el, put, replace } from './element.js'
import { icon } from './icon.js'
import { link, pathTo } from './navigation.js'
import {
  labelOf,
  may,
  recordNamed,
  type RecordInfo,
  type RelationInfo,
  type PageRow,
} from './schema.js'
import { RowTable } from './table.js'
import { lower, toCount, withCount } from './format.js'

const maxRows = 10

/**
 * @param record the record of the row with this key
 * @returns the section, and a function that loads its rows
 */
export function makeRelated(
  record: RecordInfo,
  relation: RelationInfo,
  key: string,
): { node: HTMLElement; load: () => Promise<void> } | undefined {
  const target = recordNamed(relation.to)
  const { by } = relation
  if (target === undefined || by === undefined) return undefined
  const label = labelOf(relation)
  const table = new RowTable(target, { hasBoxes: false, without: by })
  const query = `?${String(new URLSearchParams({ [by]: key }))}`
  const heading = el('h2', {}, label)
  const count = el('span', { class: 'total' }, 'Loading…')
  const empty = el('p', { class: 'quiet-words', hidden: true }, `No ${lower(label)}.`)
  const bar = el('div', { class: 'related-bar' }, heading, count)
  const field = target.fields.find(({ name }) => name === by)
  if (may(target, 'create') && field?.readOnly !== true) {
    const text = `Add ${lower(target.one)} for this ${lower(record.one)}`
    put(bar, link(pathTo(target.path, 'new') + query, { class: 'button' }, icon('plus'), text))
  }
  const node = el(
    'section',
    { class: 'card rows related', 'aria-label': label },
    bar,
    el('div', { class: 'scroll' }, table.node),
    empty,
  )
  const load = async (): Promise<void> => {
    const params = { [by]: key, fields: table.fields, limit: maxRows }
    const { data, headers } = await request<PageRow[]>('GET', rowsOf(target), { params })
    await table.lookUp(data)
    table.draw(data, '', false)
    empty.hidden = data.length > 0
    const exact = headers.get('X-Total-Count')
    const about = headers.get('X-Total-Count-Estimate')
    const total = Number(exact ?? about ?? data.length)
    const countText = `${exact === null && about !== null ? 'about ' : ''}${toCount(total)}`
    replace(
      count,
      total > data.length
        ? link(pathTo(target.path) + query, {}, `All ${countText} ${lower(target.label)}`)
        : withCount(total, target),
    )
  }
  return { node, load }
}
