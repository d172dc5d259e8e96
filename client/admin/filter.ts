/** The form that filters a list, and the texts of its conditions. */
import { el, listen, newId } from './element.js'
import { makeLinksControl } from './record-controls.js'
import { makePicker } from './picker.js'
import {
  displayLabel,
  labelOf,
  dateKinds,
  numberKinds,
  recordNamed,
  relationOf,
  type FieldInfo,
  type RecordInfo,
  type RelationInfo,
} from './schema.js'
import { escapeLike, cachedTitle, lookUp } from './titles.js'
import { toLocal, toDateTime, toText } from './format.js'

interface Part {
  readonly node: HTMLElement
  /** Query parameters for the URL. */
  readonly read: () => readonly (readonly [name: string, value: string])[]
}

/** Query parameters that are not filters. */
const notFilters: ReadonlySet<string> = new Set([
  'search',
  'orderBy',
  'after',
  'offset',
  'limit',
  'fields',
  'count',
])

export const filterNames = (query: URLSearchParams): string[] =>
  [...new Set(query.keys())].filter((name) => !notFilters.has(name))

export function makeFilter(
  record: RecordInfo,
  query: URLSearchParams,
  apply: (filter: readonly (readonly [string, string])[]) => Promise<void>,
): HTMLFormElement {
  const parts = record.fields.flatMap((field) => makeConditions(record, field, query) ?? [])
  return el(
    'form',
    {
      class: 'card filter',
      'aria-label': 'Filter',
      id: newId(),
      onsubmit: async (event) => {
        event.preventDefault()
        await apply(parts.flatMap(({ read }) => read()).filter(([, value]) => value !== ''))
      },
    },
    el('div', { class: 'fields' }, ...parts.map(({ node }) => node)),
    el(
      'div',
      { class: 'buttons' },
      el('button', { type: 'submit', class: 'main' }, 'Apply'),
      el('button', { type: 'button', onclick: () => apply([]) }, 'Clear'),
    ),
  )
}

function labelled(label: string, box: HTMLElement): HTMLElement {
  box.id = newId()
  return el('div', { class: 'field' }, el('label', { for: box.id }, label), box)
}

type Condition = 'ne' | 'in' | 'empty' | 'filled'

/** The condition of a field in the query. Empty for the usual one. */
function conditionOf({ name }: FieldInfo, query: URLSearchParams): Condition | '' {
  if (query.has(`${name}.ne`)) return 'ne'
  if (query.has(`${name}.in`)) return 'in'
  const isNull = query.get(`${name}.isNull`)
  return isNull === 'true' ? 'empty' : isNull === 'false' ? 'filled' : ''
}

/** The text of the usual condition of a field. */
function usualCondition({ kind, list, by, oneOf }: FieldInfo): string {
  if (by !== undefined || oneOf !== undefined || kind === 'boolean' || kind === 'uuid') return 'is'
  if (list === true) return 'has'
  return numberKinds.has(kind) || dateKinds.has(kind) ? 'is from … to …' : 'has'
}

/** The conditions of a field, except the usual one. */
function otherConditions({ kind, list, nullable }: FieldInfo): [Condition, string][] {
  const hasValues = list !== true && !['boolean', 'datetime', 'time', 'text'].includes(kind)
  return [
    ...(hasValues
      ? ([
          ['ne', 'is not'],
          ['in', 'is one of'],
        ] as [Condition, string][])
      : []),
    ...(nullable === true
      ? ([
          ['empty', 'is empty'],
          ['filled', 'is not empty'],
        ] as [Condition, string][])
      : []),
  ]
}

/** The control of a field, with a choice of other conditions below it. */
function makeConditions(
  record: RecordInfo,
  field: FieldInfo,
  query: URLSearchParams,
): Part | undefined {
  const usual = makePart(record, field, query)
  const moreConditions = otherConditions(field)
  if (usual === undefined || moreConditions.length === 0) return usual
  const parts: Record<string, Part> = {
    '': usual,
    empty: { node: el('div', {}), read: () => [[`${field.name}.isNull`, 'true']] },
    filled: { node: el('div', {}), read: () => [[`${field.name}.isNull`, 'false']] },
  }
  const id = newId()
  const select = el(
    'select',
    { 'aria-label': 'Condition', 'aria-describedby': id, class: 'condition' },
    el('option', { value: '' }, 'usual'),
    ...moreConditions.map(([value, label]) => el('option', { value }, label)),
  )
  const [first] = select.options
  if (first !== undefined) first.textContent = usualCondition(field)
  const area = el('div', {})
  const heading = el('p', { class: 'condition-of', id }, displayLabel(record, field))
  const partOf = (condition: string): Part =>
    (parts[condition] ??=
      condition === 'in' ? makeListPart(record, field, query) : makeNotPart(record, field, query))
  const show = (): void => {
    area.replaceChildren(partOf(select.value).node)
    heading.hidden = select.value !== 'empty' && select.value !== 'filled'
  }
  select.value = conditionOf(field, query)
  listen(select, 'change', () => {
    show()
    area.querySelector<HTMLElement>('input, select')?.focus()
  })
  show()
  return {
    node: el('div', { class: 'conditions' }, heading, area, select),
    read: () => partOf(select.value).read(),
  }
}

/** The control for "is not". */
function makeNotPart(record: RecordInfo, field: FieldInfo, query: URLSearchParams): Part {
  const name = `${field.name}.ne`
  const [relation, target] = relatedTo(record, field)
  if (relation !== undefined && target !== undefined)
    return makeRelationPart(relation, target, name, query)
  const box =
    field.oneOf === undefined
      ? el('input', { type: field.kind === 'date' ? 'date' : 'text' })
      : el('select', {}, ...field.oneOf.map((value) => el('option', {}, String(value))))
  const value = query.get(name)
  if (value !== null) box.value = value
  return {
    node: labelled(`${labelOf(field)} is not`, box),
    read: () => [[name, box.value.trim()]],
  }
}

/** The control for "is one of". */
function makeListPart(record: RecordInfo, field: FieldInfo, query: URLSearchParams): Part {
  const name = `${field.name}.in`
  const values = query.getAll(name).flatMap((value) => value.split(','))
  const [relation, target] = relatedTo(record, field)
  if (relation !== undefined && target !== undefined) {
    const control = makeLinksControl(relation, target, { isNew: false })
    control.write(values.map((value) => (target.keyKind === 'int' ? Number(value) : value)))
    return {
      node: control.node,
      read: () => ((control.read() ?? []) as unknown[]).map((key) => [name, String(key)]),
    }
  }
  const label = `${labelOf(field)} is one of`
  if (field.oneOf !== undefined) {
    const boxes = field.oneOf.map((value) => {
      const text = String(value)
      return el('input', { type: 'checkbox', value: text, checked: values.includes(text) })
    })
    const node = el(
      'fieldset',
      {},
      el('legend', {}, label),
      ...boxes.map((box) => el('label', { class: 'choice' }, box, box.value)),
    )
    return {
      node,
      read: () =>
        boxes.flatMap((box): [string, string][] => (box.checked ? [[name, box.value]] : [])),
    }
  }
  const box = el('input', { type: 'text', value: values.join(', '), placeholder: 'a, b, c' })
  const read = (): [string, string][] =>
    box.value
      .split(',')
      .map((value): [string, string] => [name, value.trim()])
      .filter(([, value]) => value !== '')
  return { node: labelled(label, box), read }
}

/** @param name the parameter that holds the key */
function makeRelationPart(
  relation: RelationInfo,
  target: RecordInfo,
  name: string,
  query: URLSearchParams,
): Part {
  const label = name.endsWith('.ne') ? `${labelOf(relation)} is not` : labelOf(relation)
  let value = query.get(name) ?? ''
  const picker = makePicker({
    label,
    record: target,
    onPick: (choice) => {
      value = choice === null ? '' : String(choice.key)
    },
  })
  if (value !== '') picker.show(value)
  picker.input.id = newId()
  return {
    node: el('div', { class: 'field' }, el('label', { for: picker.input.id }, label), picker.node),
    read: () => [[name, value]],
  }
}

function relatedTo(
  record: RecordInfo,
  { by }: FieldInfo,
): [relation: RelationInfo | undefined, target: RecordInfo | undefined] {
  const relation = by === undefined ? undefined : relationOf(record, by)
  return [relation, relation && recordNamed(relation.to)]
}

function makePart(record: RecordInfo, field: FieldInfo, query: URLSearchParams): Part | undefined {
  const { name, kind, list, oneOf } = field
  const [relation, target] = relatedTo(record, field)
  if (relation !== undefined && target !== undefined)
    return makeRelationPart(relation, target, name, query)
  if (kind === 'json' || kind === 'blob' || kind === 'file' || field.fields !== undefined)
    return undefined
  const label = labelOf(field)
  if (list === true) {
    const box = el('input', { type: 'text', value: query.get(`${name}.has`) ?? '' })
    return { node: labelled(label, box), read: () => [[`${name}.has`, box.value.trim()]] }
  }
  if (oneOf !== undefined || kind === 'boolean') {
    const values = kind === 'boolean' ? ['true', 'false'] : (oneOf ?? []).map(String)
    const labels = kind === 'boolean' ? ['Yes', 'No'] : values
    const box = el(
      'select',
      {},
      el('option', { value: '' }, 'Any'),
      ...values.map((value, at) => el('option', { value }, labels[at])),
    )
    box.value = query.get(name) ?? ''
    return { node: labelled(label, box), read: () => [[name, box.value]] }
  }
  if (numberKinds.has(kind) || dateKinds.has(kind)) return makeRange(field, label, query)
  if (kind === 'uuid') {
    const box = el('input', { type: 'text', value: query.get(name) ?? '' })
    return { node: labelled(label, box), read: () => [[name, box.value.trim()]] }
  }
  const pattern = query.get(`${name}.ilike`) ?? ''
  const text = pattern.replace(/^%|%$/g, '').replace(/\\([\\%_])/g, '$1')
  const box = el('input', { type: 'text', value: text })
  const read = (): readonly (readonly [string, string])[] => {
    const filterText = box.value.trim()
    return filterText === '' ? [] : [[`${name}.ilike`, `%${escapeLike(filterText)}%`]]
  }
  return { node: labelled(label, box), read }
}

function makeRange({ name, kind }: FieldInfo, label: string, query: URLSearchParams): Part {
  const type = { date: 'date', datetime: 'datetime-local', time: 'time' }[kind] ?? 'text'
  const make = (operator: 'gte' | 'lte'): HTMLInputElement => {
    const box = el('input', {
      type,
      inputmode: type === 'text' ? 'decimal' : undefined,
      step: type.startsWith('d') && type !== 'date' ? 1 : undefined,
    })
    const value = query.get(`${name}.${operator}`) ?? ''
    box.value = kind === 'datetime' ? toLocal(value) : value
    return box
  }
  const [from, to] = [make('gte'), make('lte')]
  const valueOf = ({ value }: HTMLInputElement): string =>
    kind === 'datetime' && value !== '' ? new Date(value).toISOString() : value.trim()
  return {
    node: el(
      'div',
      { class: kind === 'datetime' ? 'range long' : 'range' },
      labelled(`${label} from`, from),
      labelled(`${label} to`, to),
    ),
    read: () => [
      [`${name}.gte`, valueOf(from)],
      [`${name}.lte`, valueOf(to)],
    ],
  }
}

/** Describes one condition: `Status: open`. */
export async function describeCondition(
  record: RecordInfo,
  name: string,
  value: string,
): Promise<string> {
  const [property = '', operator = ''] = name.split('.')
  const field = record.fields.find((one) => one.name === property)
  if (field === undefined) return `${name}: ${value}`
  const label = displayLabel(record, field)
  if (operator === 'isNull') return `${label} is ${value === 'true' ? '' : 'not '}empty`
  const [, target] = relatedTo(record, field)
  const operatorText = operatorTexts[operator] ?? ': '
  if (target !== undefined && ['', 'ne', 'in'].includes(operator)) {
    const keys = operator === 'in' ? value.split(',') : [value]
    await lookUp(target, keys)
    return label + operatorText + keys.map((key) => cachedTitle(target, key)).join(', ')
  }
  if (operator === 'in') return label + operatorText + value.split(',').join(', ')
  if (operator === 'ilike')
    return label + operatorText + value.replace(/^%|%$/g, '').replace(/\\([\\%_])/g, '$1')
  if (field.kind === 'boolean') return label + operatorText + toText(value === 'true')
  return label + operatorText + (field.kind === 'datetime' ? toDateTime(value) : value)
}

/** The text between a field and a value. */
const operatorTexts: Readonly<Record<string, string>> = {
  gte: ' from ',
  lte: ' to ',
  ilike: ' has ',
  has: ' has ',
  ne: ' is not ',
  in: ' is one of ',
}
