/** Names and values that are shown and not changed. */
import { el, replace, type Child } from './element.js'
import { link, pathTo } from './route.js'
import {
  labelOf,
  recordNamed,
  shownLabel,
  type FieldInfo,
  type RecordInfo,
  type Row,
} from './schema.js'
import { isSame } from './stored.js'
import { knownTitle, lookUp } from './titles.js'
import { asText, toText } from './words.js'

export type Fact = readonly [name: string, value: Child]

export const facts = (entries: readonly Fact[]): HTMLElement => {
  const list = el('dl', { class: 'facts' })
  replace(list, ...entries.flatMap(([name, value]) => [el('dt', {}, name), el('dd', {}, value)]))
  return list
}

/** @param hasTies the rows that are tied to it, too */
export function factsOf(
  record: RecordInfo,
  fields: readonly FieldInfo[],
  row: Row,
  hasTies: boolean,
): HTMLElement {
  const ties = (record.relations ?? []).flatMap((relation): Fact[] => {
    const target = recordNamed(relation.to)
    const keys = relation.ids === undefined ? undefined : row[relation.ids]
    if (!hasTies || target === undefined || !Array.isArray(keys)) return []
    return [[labelOf(relation), toText(keys.map((key) => knownTitle(target, key)))]]
  })
  return facts([
    ...fields.map((field): Fact => [shownLabel(record, field), valueOf(record, field, row)]),
    ...ties,
  ])
}

function valueOf(record: RecordInfo, field: FieldInfo, row: Row): Child {
  const value = row[field.name]
  const relation = record.relations?.find(({ name }) => name === field.by)
  const target = relation && recordNamed(relation.to)
  if (target === undefined || value === null || value === undefined)
    return toText(value, field.kind)
  const anchor = link(pathTo(target.path, asText(value)), {}, knownTitle(target, value))
  lookUp(target, [value])
    .then(() => {
      anchor.textContent = knownTitle(target, value)
    })
    .catch(() => undefined)
  return anchor
}

/** What others have made of a row. */
export const changesOf = (record: RecordInfo, was: Row, theirs: Row): HTMLElement =>
  facts(
    record.fields
      .filter(({ name }) => !isSame(was[name], theirs[name]))
      .map((field) => [
        shownLabel(record, field),
        `${toText(was[field.name], field.kind)} → ${toText(theirs[field.name], field.kind)}`,
      ]),
  )
