/** The values of a row as text, for rows and fields that the caller may not change. */
import { toFieldText } from './field-values.js'
import { asText } from './format.js'
import { el, replace, type Child } from './element.js'
import { link, pathTo } from './navigation.js'
import {
  displayLabel,
  foreignKeyOf,
  labelOf,
  recordNamed,
  referredKey,
  type FieldInfo,
  type PageRow,
  type RecordInfo,
} from './schema.js'
import { cachedTitle, loadTitles } from './titles.js'

type NamedValue = readonly [name: string, value: Child]

export const descriptionList = (entries: readonly NamedValue[]): HTMLElement => {
  const list = el('dl', { class: 'facts' })
  replace(list, ...entries.flatMap(([name, value]) => [el('dt', {}, name), el('dd', {}, value)]))
  return list
}

/** The values of fields as a list. @param hasLinks whether to include linked rows */
export function readOnlyValues(
  record: RecordInfo,
  fields: readonly FieldInfo[],
  row: PageRow,
  hasLinks: boolean,
): HTMLElement {
  const links = (record.relations ?? []).flatMap((relation): NamedValue[] => {
    const target = recordNamed(relation.to)
    if (relation.kind === 'one' && relation.by?.includes(',') === true) {
      const key = target && foreignKeyOf(relation, target, row)
      const hasLink = target !== undefined && key !== null
      return [[labelOf(relation), hasLink ? linkTo(target, key) : '–']]
    }
    const keys = relation.ids === undefined ? undefined : row[relation.ids]
    if (!hasLinks || target === undefined || !Array.isArray(keys)) return []
    if (keys.length === 0) return [[labelOf(relation), '–']]
    const links = keys.map((one) => el('li', {}, linkTo(target, one)))
    return [[labelOf(relation), el('ul', { class: 'links' }, ...links)]]
  })
  return descriptionList([
    ...fields.map((field): NamedValue => [
      displayLabel(record, field),
      valueOf(record, field, row),
    ]),
    ...links,
  ])
}

function valueOf(record: RecordInfo, field: FieldInfo, row: PageRow): Child {
  const value = row[field.name]
  const relation = record.relations?.find(({ name }) => name === field.by)
  const target = relation && recordNamed(relation.to)
  if (target === undefined || value === null || value === undefined)
    return toFieldText(field, value)
  return linkTo(target, referredKey(target, value))
}

/** A link to a row, named by its title once the title is known. */
function linkTo(target: RecordInfo, key: unknown): HTMLElement {
  const anchor = link(pathTo(target.path, asText(key)), { dir: 'auto' }, cachedTitle(target, key))
  loadTitles(target, [key])
    .then(() => {
      anchor.textContent = cachedTitle(target, key)
    })
    .catch(() => undefined)
  return anchor
}
