/** The columns of a list: which of them are shown, kept in the browser, and what stands in their cells. */
import { base } from './ask.js'
import { el, replace, type Child } from './element.js'
import { link, pathTo } from './route.js'
import {
  keyOf,
  labelOf,
  numbers,
  recordNamed,
  relationOf,
  titleOf,
  type FieldInfo,
  type RecordInfo,
  type Row,
} from './schema.js'
import { knownTitle } from './titles.js'
import { toText } from './words.js'

export interface Column {
  readonly name: string
  readonly label: string
  /** The property that is asked for. */
  readonly field: FieldInfo
  /** Of a relation: the record whose titles are shown. */
  readonly target: RecordInfo | undefined
  /** What a list is ordered by. */
  readonly order: string | undefined
}

/** All that may be shown, relations in place of their keys. */
function allColumns(record: RecordInfo): Column[] {
  return record.fields
    .filter(({ kind, fields }) => kind !== 'blob' && kind !== 'file' && fields === undefined)
    .map((field) => {
      const relation = field.by === undefined ? undefined : relationOf(record, field.by)
      const target = relation && recordNamed(relation.to)
      if (relation === undefined || target === undefined)
        return {
          ...{ name: field.name, label: labelOf(field), field, target: undefined },
          order: field.order === true ? field.name : undefined,
        }
      const title = target.fields.find(({ name }) => name === target.title)
      const byTitle = title?.order === true ? `${relation.name}.${title.name}` : undefined
      const order = byTitle ?? (field.order === true ? field.name : undefined)
      return { name: relation.name, label: labelOf(relation), field, target, order }
    })
}

const placeOf = (record: RecordInfo): string => `filigree ${base} columns ${record.path}`

/** @returns the title first, by which a row is found */
export function chosenColumns(record: RecordInfo): Column[] {
  const all = allColumns(record)
  let names: readonly string[] = record.list
  try {
    const kept = JSON.parse(localStorage.getItem(placeOf(record)) ?? 'null') as unknown
    if (Array.isArray(kept)) names = kept.map(String)
  } catch {
    // What cannot be read is not there.
  }
  const wanted = [record.title, ...names.filter((name) => name !== record.title)]
  return wanted.flatMap((name) => all.find((column) => column.name === name) ?? [])
}

/** Opens the choice of columns, which holds at once. */
export function columnChoice(record: RecordInfo, changed: () => Promise<void>): HTMLElement {
  const shown = new Set(chosenColumns(record).map(({ name }) => name))
  const all = allColumns(record)
  const boxes = all.map(({ name, label }) => {
    const box = el('input', {
      ...{ type: 'checkbox', checked: shown.has(name), disabled: name === record.title },
      onchange: async () => {
        const known = chosenColumns(record).map((column) => column.name)
        const names = box.checked ? [...known, name] : known.filter((one) => one !== name)
        try {
          localStorage.setItem(placeOf(record), JSON.stringify(names))
        } catch {
          // Then it holds for this view alone, if at all.
        }
        await changed()
      },
    })
    return el('label', { class: 'choice' }, box, label)
  })
  const group = el('div', { class: 'boxes', role: 'group', 'aria-label': 'Columns' })
  replace(group, ...boxes)
  return group
}

/** What stands in a cell. */
export function cellOf(record: RecordInfo, row: Row, { name, field, target }: Column): Child {
  const value = row[field.name]
  if (name === record.title)
    return link(pathTo(record.path, keyOf(record, row)), { class: 'title' }, titleOf(record, row))
  if (target !== undefined && value !== null && value !== undefined)
    return knownTitle(target, value)
  const text = toText(value, field.kind)
  if (text === '–') return el('span', { class: 'none' }, text)
  if (field.list !== true && (field.oneOf !== undefined || field.kind === 'boolean'))
    return el('span', { class: 'pill' }, text)
  return text.length > 120 ? `${text.slice(0, 119)}…` : text
}

export const isNumber = ({ field, target }: Column): boolean =>
  target === undefined && numbers.has(field.kind) && field.list !== true
