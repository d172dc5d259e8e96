/** The rows that refer to a row: the first of them, and the way to all. */
import { ask, rowsOf } from './ask.js'
import { el, icon, replace } from './element.js'
import { refuse } from './notice.js'
import { link, pathTo } from './route.js'
import { keyOf, labelOf, recordNamed, titleOf, type RelationInfo, type Row } from './schema.js'
import { lower } from './words.js'

const most = 10

export function listRelated(relation: RelationInfo, key: string): HTMLElement | null {
  const target = recordNamed(relation.to)
  const { by } = relation
  if (target === undefined || by === undefined) return null
  const list = el('ul', { class: 'related' })
  const label = labelOf(relation)
  const fields = [...new Set([target.key, target.title])].join(',')
  const params = { [by]: key, fields, limit: most + 1, count: 'none' }
  ask<Row[]>('GET', rowsOf(target), { params })
    .then(({ data }) => {
      const items = data
        .slice(0, most)
        .map((row) =>
          el('li', {}, link(pathTo(target.path, keyOf(target, row)), {}, titleOf(target, row))),
        )
      const all = `${pathTo(target.path)}?${by}=${encodeURIComponent(key)}`
      replace(
        list,
        ...items,
        items.length === 0 && el('li', { class: 'quiet-words' }, `No ${lower(label)}.`),
        data.length > most && el('li', {}, link(all, {}, `All ${lower(label)}`, icon('right'))),
      )
    })
    .catch(refuse)
  return el('section', { class: 'card', 'aria-label': label }, el('h2', {}, label), list)
}
