/** The bar above a list: the search, and the panels for filter and columns. */
import { el, newId, type Child, icon, listen, put, replace } from './element.js'
import { makePicker } from './picker.js'
import {
  labelOf,
  dateKinds,
  numberKinds,
  recordNamed,
  relationOf,
  type FieldInfo,
  type RecordInfo,
} from './schema.js'
import { escapeLike, cachedTitle, lookUp } from './titles.js'
import { toLocal, toDateTime } from './format.js'

export interface BarOptions {
  readonly searchBox: HTMLInputElement
  /** Called 300 ms after the last keystroke, and immediately for Enter. */
  readonly search: () => Promise<void>
  /** The panels that the buttons open. */
  readonly panels: readonly {
    readonly name: string
    readonly drawn: 'filter' | 'columns'
    readonly make: () => HTMLElement
  }[]
}

export interface Bar {
  readonly node: HTMLElement
  /** The container of the open panel. */
  readonly panel: HTMLElement
  /** Closes the open panel and focuses its button. */
  readonly close: () => void
}

export function makeBar({ searchBox, search, panels }: BarOptions): Bar {
  const panel = el('div', {})
  let timer: ReturnType<typeof setTimeout> | undefined
  listen(searchBox, 'input', () => {
    clearTimeout(timer)
    // The view may have been closed in the meantime.
    timer = setTimeout(() => searchBox.isConnected && searchBox.form?.requestSubmit(), 300)
  })
  const onsubmit = async (event: Event): Promise<void> => {
    event.preventDefault()
    clearTimeout(timer)
    await search()
  }
  const node = el(
    'div',
    { class: 'bar' },
    el('form', { role: 'search', class: 'search', onsubmit }, icon('search'), searchBox),
  )
  const openButton = (): HTMLElement | null => node.querySelector('[aria-expanded=true]')
  const toggle = (button: HTMLElement, make: () => HTMLElement): void => {
    const before = openButton()
    before?.setAttribute('aria-expanded', 'false')
    replace(panel)
    if (before === button) return
    button.setAttribute('aria-expanded', 'true')
    const panelContent = make()
    panelContent.id = button.getAttribute('aria-controls') ?? ''
    panelContent.classList.add('card')
    listen(panelContent, 'keydown', (event) => {
      if ((event as KeyboardEvent).key === 'Escape') close()
    })
    replace(panel, panelContent)
    panelContent.querySelector<HTMLElement>('input:not([disabled]), select')?.focus()
  }
  const close = (): void => {
    const button = openButton()
    button?.click()
    button?.focus()
  }
  for (const { name, drawn, make } of panels) {
    const button = el('button', {
      ...{ type: 'button', 'aria-expanded': 'false', 'aria-controls': newId() },
      onclick: () => {
        toggle(button, make)
      },
    })
    put(button, icon(drawn), name)
    put(node, button)
  }
  return { node, panel, close }
}

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
  const parts = record.fields.flatMap((field) => makePart(record, field, query) ?? [])
  return el(
    'form',
    {
      ...{ class: 'card filter', 'aria-label': 'Filter', id: newId() },
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

function makePart(record: RecordInfo, field: FieldInfo, query: URLSearchParams): Part | undefined {
  const { name, kind, list, oneOf } = field
  const relation = field.by === undefined ? undefined : relationOf(record, field.by)
  const target = relation && recordNamed(relation.to)
  if (relation !== undefined && target !== undefined) {
    let value = query.get(name) ?? ''
    const picker = makePicker({
      ...{ label: labelOf(relation), record: target },
      onPick: (choice) => {
        value = choice === null ? '' : String(choice.key)
      },
    })
    if (value !== '') picker.show(value)
    picker.input.id = newId()
    const label = el('label', { for: picker.input.id }, labelOf(relation))
    return { node: el('div', { class: 'field' }, label, picker.node), read: () => [[name, value]] }
  }
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
): Promise<Child> {
  const [property = '', operator = ''] = name.split('.')
  const field = record.fields.find((one) => one.name === property)
  if (field === undefined) return `${name}: ${value}`
  const relation = field.by === undefined ? undefined : relationOf(record, field.by)
  const target = relation && recordNamed(relation.to)
  if (relation !== undefined && target !== undefined && operator === '') {
    await lookUp(target, [value])
    return `${labelOf(relation)}: ${cachedTitle(target, value)}`
  }
  const valueText = field.kind === 'datetime' ? toDateTime(value) : value
  const operatorText =
    { gte: ' from ', lte: ' to ', ilike: ' has ', has: ' has ' }[operator] ?? ': '
  const plain =
    operator === 'ilike' ? value.replace(/^%|%$/g, '').replace(/\\([\\%_])/g, '$1') : valueText
  const isYesNo = field.kind === 'boolean'
  return `${labelOf(field)}${operatorText}${isYesNo ? (value === 'true' ? 'Yes' : 'No') : plain}`
}
