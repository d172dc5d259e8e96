/** The form that filters a list, and the texts of its conditions. */
import { el, listen, newId } from './element.js'
import { filterOf, type FieldFilter, type FilterControl } from './field-filter.js'
import { hasPeriods, periods } from './periods.js'
import { parseInput } from './field-values.js'
import { References } from './references.js'
import {
  fieldOf,
  foreignFieldsOf,
  foreignKeyOf,
  labelOf,
  recordNamed,
  type PageRow,
  type RecordInfo,
  type RelationInfo,
} from './schema.js'
import { cachedTitle, loadTitles } from './titles.js'
import { translate } from './translate.js'

/** The columns of a saved view. No field has this name. */
export const columnsParameter = '.columns'

/** Query parameters that are not filters. */
const notFilters: ReadonlySet<string> = new Set([
  'search',
  'orderBy',
  columnsParameter,
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
  const references = new References(record, { isNew: true, isFilter: true, isFixed: () => false })
  const controls = record.fields.flatMap((field) => {
    const [first = field] = references.pickerOf(field)?.own ?? []
    const isShownElsewhere = field !== first
    return isShownElsewhere
      ? []
      : (makeConditions(filterOf(record, field, references), query) ?? [])
  })
  return el(
    'form',
    {
      class: 'card filter',
      'aria-label': translate('filter'),
      id: newId(),
      onsubmit: async (event) => {
        event.preventDefault()
        await apply(controls.flatMap(({ read }) => read()).filter(([, value]) => value !== ''))
      },
    },
    el('div', { class: 'fields' }, ...controls.map(({ node }) => node)),
    el(
      'div',
      { class: 'buttons' },
      el('button', { type: 'submit', class: 'main' }, translate('apply')),
      el('button', { type: 'button', onclick: () => apply([]) }, translate('clear')),
    ),
  )
}

/** The control of a field, with a choice of conditions below it. */
function makeConditions(filter: FieldFilter, query: URLSearchParams): FilterControl | undefined {
  const main = filter.makeMain(query)
  const { name, nullable } = filter.field
  const ownPeriods = hasPeriods(filter.field) ? [...periods] : []
  const hasConditions = filter.comparesValues || nullable === true || ownPeriods.length > 0
  if (main === undefined || !hasConditions) return main
  const id = newId()
  const select = el(
    'select',
    { 'aria-label': translate('condition'), 'aria-describedby': id, class: 'condition' },
    el('option', { value: '' }, filter.mainText),
    filter.comparesValues && el('option', { value: 'ne' }, translate('isNot')),
    filter.comparesValues && el('option', { value: 'in' }, translate('isOneOf')),
    nullable === true && el('option', { value: 'empty' }, translate('isEmpty')),
    nullable === true && el('option', { value: 'filled' }, translate('isNotEmpty')),
    ...ownPeriods.map(([value, { label }]) => el('option', { value }, label)),
  )
  const fixed = (operator: string, value: string): FilterControl => ({
    node: el('div', {}),
    read: () => [[`${name}.${operator}`, value]],
  })
  const makers: Readonly<Record<string, () => FilterControl>> = {
    '': () => main,
    ne: () => filter.makeNot(query),
    in: () => filter.makeOneOf(query),
    empty: () => fixed('isNull', 'true'),
    filled: () => fixed('isNull', 'false'),
    ...Object.fromEntries(ownPeriods.map(([value]) => [value, () => fixed('period', value)])),
  }
  const controls: Record<string, FilterControl | undefined> = {}
  const current = (): FilterControl => (controls[select.value] ??= makers[select.value]?.() ?? main)
  const area = el('div', {})
  const heading = el('p', { class: 'condition-of', id }, filter.label)
  const show = (): void => {
    area.replaceChildren(current().node)
    heading.hidden = ['', 'ne', 'in'].includes(select.value)
  }
  select.value = conditionIn(query, name)
  listen(select, 'change', () => {
    show()
    area.querySelector<HTMLElement>('input, select')?.focus()
  })
  show()
  return {
    node: el('div', { class: 'conditions' }, heading, area, select),
    read: () => current().read(),
  }
}

/** The condition of a field in the query. Empty for the main one. */
function conditionIn(query: URLSearchParams, name: string): string {
  if (query.has(`${name}.ne`)) return 'ne'
  if (query.has(`${name}.in`)) return 'in'
  const isNull = query.get(`${name}.isNull`)
  const period = query.get(`${name}.period`) ?? ''
  return isNull === 'true' ? 'empty' : isNull === 'false' ? 'filled' : period
}

/** A condition of a list for people. */
export interface DescribedCondition {
  /** The parameters that it consists of: several for a key of several fields. */
  readonly names: readonly string[]
  /** `Status: open` */
  readonly text: string
}

/** Describes the conditions of a query. */
export async function describeConditions(
  record: RecordInfo,
  query: URLSearchParams,
): Promise<DescribedCondition[]> {
  const names = filterNames(query)
  const references = (record.relations ?? []).filter(
    (relation) =>
      relation.kind === 'one' &&
      foreignFieldsOf(relation).length > 1 &&
      recordNamed(relation.to) !== undefined &&
      foreignFieldsOf(relation).every((name) => names.includes(name)),
  )
  const parts = references.flatMap(foreignFieldsOf)
  const isPart = (name: string): boolean =>
    parts.includes(name) && fieldOf(record, name)?.by === undefined
  return Promise.all([
    ...references.map(async (relation) => {
      const fields = foreignFieldsOf(relation)
      const own = fields.filter(
        (name) => isPart(name) && parts.filter((part) => part === name).length === 1,
      )
      const text = await describeReference(record, relation, query)
      return { names: own.length === 0 ? fields : own, text }
    }),
    ...names
      .filter((name) => !isPart(name))
      .map(async (name) => {
        const text = await describeCondition(record, name, query.getAll(name).join(','))
        return { names: [name], text }
      }),
  ])
}

async function describeReference(
  record: RecordInfo,
  relation: RelationInfo,
  query: URLSearchParams,
): Promise<string> {
  const target = recordNamed(relation.to) as RecordInfo
  const values = foreignFieldsOf(relation).map((name) => {
    const field = fieldOf(record, name)
    const text = query.get(name) ?? ''
    return [name, field === undefined ? text : parseInput(field, text, true)]
  })
  const key = foreignKeyOf(relation, target, Object.fromEntries(values) as PageRow)
  await loadTitles(target, [key])
  const value = cachedTitle(target, key)
  return translate('describeIs', { label: labelOf(relation), value })
}

async function describeCondition(record: RecordInfo, name: string, value: string): Promise<string> {
  const [property = '', operator = ''] = name.split('.')
  const field = fieldOf(record, property)
  if (field === undefined) return `${name}: ${value}`
  const filter = filterOf(record, field)
  const { label } = filter
  if (operator === 'isNull')
    return translate(value === 'true' ? 'describeIsEmpty' : 'describeIsNotEmpty', { label })
  if (operator === 'period')
    return translate('describeIs', { label, value: periods.get(value)?.label ?? value })
  const textName = operatorTexts[operator] ?? 'describeIs'
  return translate(textName, { label, value: await filter.describe(operator, value) })
}

const operatorTexts: Readonly<
  Record<
    string,
    'describeFrom' | 'describeTo' | 'describeHas' | 'describeIsNot' | 'describeIsOneOf'
  >
> = {
  gte: 'describeFrom',
  lte: 'describeTo',
  ilike: 'describeHas',
  has: 'describeHas',
  ne: 'describeIsNot',
  in: 'describeIsOneOf',
}
