/** The section of rows that refer to a row: a table of the first rows, their number, and links to all of them and to a new row. */
import { request, rowsOf } from './requests.js'
import { el, put, replace } from './element.js'
import { icon } from './icon.js'
import { link, pathTo } from './navigation.js'
import {
  backConditions,
  labelOf,
  may,
  recordNamed,
  type RecordInfo,
  type RelationInfo,
  type PageRow,
} from './schema.js'
import { readTotal, toTotal } from './row-total.js'
import { RowTable } from './table.js'
import { withCount } from './format.js'
import { translate } from './translate.js'

const maxRows = 10

/**
 * @param record the record of the row with this key
 * @returns the section, and a function that loads its rows. Undefined if the page does not have the other record
 */
export function makeRelated(
  record: RecordInfo,
  relation: RelationInfo,
  key: string,
): { node: HTMLElement; load: () => Promise<void> } | undefined {
  const target = recordNamed(relation.to)
  if (target === undefined || relation.by === undefined) return undefined
  const conditions = backConditions(record, relation, key)
  const [keyField = ''] = Object.keys(conditions)
  const label = labelOf(relation)
  const table = new RowTable(target, { isSelectable: false, omittedField: keyField })
  const query = `?${String(new URLSearchParams(conditions))}`
  const heading = el('h2', {}, label)
  const count = el('span', { class: 'total' }, translate('loading'))
  const empty = el(
    'p',
    { class: 'quiet-words', hidden: true },
    translate('noRelated', { many: label }),
  )
  const bar = el('div', { class: 'related-bar' }, heading, count)
  const field = target.fields.find(({ name }) => name === keyField)
  if (may(target, 'create') && field?.readOnly !== true) {
    const text = translate('addRelated', { one: target.one, parent: record.one })
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
    const params = { ...conditions, fields: table.fields, limit: maxRows }
    const { data, headers } = await request<PageRow[]>('GET', rowsOf(target), { params })
    await table.loadTitles(data)
    table.draw(data)
    empty.hidden = data.length > 0
    const total = readTotal(headers) ?? { count: data.length, isEstimate: false }
    replace(
      count,
      total.count > data.length
        ? link(
            pathTo(target.path) + query,
            {},
            translate('allRelated', { count: toTotal(total), many: target.label }),
          )
        : withCount(total.count, target),
    )
  }
  return { node, load }
}
