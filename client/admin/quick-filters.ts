/**
 * The commonest filters of a list as links: choices, yes and no, periods, rows of small records, and whether there is a value. They
 * stand beside the list on a wide screen, and are folded above it on others.
 */
import { choicesOf } from './control-types.js'
import { el, put } from './element.js'
import { showError } from './notices.js'
import { icon } from './icon.js'
import type { Condition, ListLocation } from './list-location.js'
import { isPlainClick, link } from './navigation.js'
import { hasPeriods, periods } from './periods.js'
import { displayLabel, keyPartsOf, targetOf, type FieldInfo, type RecordInfo } from './schema.js'
import { findRows, maxChoices } from './titles.js'
import { translate } from './translate.js'

export interface QuickFilters {
  readonly node: HTMLElement
  /** Marks the links that apply. */
  readonly update: () => void
}

interface QuickFilter {
  readonly text: string
  readonly conditions: readonly Condition[]
}

/** Fields beyond these have their filters in the form only. */
const maxFields = 8

const wideScreen = matchMedia('(min-width: 90rem)')

export interface QuickFilterOptions {
  readonly apply: (filter: readonly Condition[]) => Promise<void>
  readonly signal: AbortSignal
}

/** @param rows the rows of the list, which the filters stand beside */
export function makeQuickFilters(
  query: ListLocation,
  rows: HTMLElement,
  options: QuickFilterOptions,
): QuickFilters {
  const { record } = query
  const groups = el('div', { class: 'groups' })
  const details = el(
    'details',
    { class: 'quick-filters', hidden: true },
    el('summary', {}, icon('filter'), translate('quickFilters')),
    groups,
  )
  const node = el('div', { class: 'listing' })
  const place = (): void => {
    details.open = wideScreen.matches
    node.replaceChildren(...(wideScreen.matches ? [rows, details] : [details, rows]))
  }
  place()
  wideScreen.addEventListener('change', place, { signal: options.signal })
  const links: FilterLink[] = []
  const addGroup = (
    field: FieldInfo,
    group: HTMLElement,
    filters: readonly QuickFilter[],
  ): void => {
    if (filters.length === 0) {
      group.remove()
      return
    }
    details.hidden = false
    const label = displayLabel(record, field)
    const added = filters.map((filter) => new FilterLink(query, field, filter, options.apply))
    links.push(...added)
    put(group, el('h2', {}, label), el('ul', {}, ...added.map((one) => el('li', {}, one.node))))
    for (const one of added) one.update()
  }
  for (const field of fieldsOf(record)) {
    const group = el('div', {})
    groups.append(group)
    const target = targetOf(record, field)
    if (target === undefined) addGroup(field, group, [...valuesOf(field), ...emptyOf(field)])
    else
      findRows(target, '', options.signal)
        .then((found) => {
          const filters = found.map(({ key, title }) => ({
            text: title,
            conditions: [[field.name, String(Object.values(keyPartsOf(target, key))[0])] as const],
          }))
          addGroup(field, group, [...(found.length < maxChoices ? filters : []), ...emptyOf(field)])
        })
        .catch(showError)
  }
  return {
    node,
    update: () => {
      for (const one of links) one.update()
    },
  }
}

class FilterLink {
  readonly node: HTMLAnchorElement
  readonly #mark = icon('cross')

  constructor(
    readonly query: ListLocation,
    readonly field: FieldInfo,
    readonly filter: QuickFilter,
    apply: QuickFilterOptions['apply'],
  ) {
    // Outside its group, the link alone must say what it filters.
    const label = translate('describeIs', { label: displayLabel(query.record, field), value: '' })
    this.node = link(
      '',
      {},
      el('span', { class: 'unseen' }, label),
      el('span', { dir: 'auto' }, filter.text),
      this.#mark,
    )
    this.node.addEventListener('click', (event) => {
      if (!isPlainClick(event)) return
      event.preventDefault()
      apply(this.#next())
        .then(() => {
          this.node.focus({ preventScroll: true })
        })
        .catch(showError)
    })
  }

  /** The link sets its condition of the field, or removes it if it applies. */
  #next(): readonly Condition[] {
    const { conditions } = this.filter
    return this.query.withField(this.field.name, this.#isCurrent() ? [] : conditions)
  }

  #isCurrent(): boolean {
    return String(this.query.conditionsOf(this.field.name)) === String(this.filter.conditions)
  }

  update(): void {
    const isCurrent = this.#isCurrent()
    this.node.href = this.query.pathWith(this.#next())
    if (isCurrent) this.node.setAttribute('aria-current', 'true')
    else this.node.removeAttribute('aria-current')
    this.#mark.toggleAttribute('hidden', !isCurrent)
  }
}

/** The fields with quick filters, the columns of the list first. */
function fieldsOf(record: RecordInfo): FieldInfo[] {
  const rank = ({ name, by }: FieldInfo): number => {
    const index = record.list.findIndex((column) => column === name || column === by)
    return index === -1 ? record.list.length : index
  }
  return record.fields
    .filter((field) => {
      if (field.list === true || field.fields !== undefined || field.kind.filter === 'none')
        return false
      const isColumn = rank(field) < record.list.length
      if (targetOf(record, field) !== undefined) return isColumn
      return valuesOf(field).length > 0 || (isColumn && field.nullable === true)
    })
    .sort((one, other) => rank(one) - rank(other))
    .slice(0, maxFields)
}

function valuesOf(field: FieldInfo): QuickFilter[] {
  const { name } = field
  const choices = choicesOf(field) ?? []
  if (choices.length <= maxChoices)
    return hasPeriods(field)
      ? [...periods].map(([period, { label }]) => ({
          text: label,
          conditions: [[`${name}.period`, period]],
        }))
      : choices.map(([value, text]) => ({ text, conditions: [[name, value]] }))
  return []
}

const emptyOf = ({ name, nullable }: FieldInfo): QuickFilter[] =>
  nullable === true
    ? [
        { text: translate('empty'), conditions: [[`${name}.isNull`, 'true']] },
        { text: translate('notEmpty'), conditions: [[`${name}.isNull`, 'false']] },
      ]
    : []
