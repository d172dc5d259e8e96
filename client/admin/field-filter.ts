/**
 * The filters of fields. Each offers a main condition, such as "has" or "is from … to …", and many also offer "is not" and
 * "is one of".
 */
import { choicesOf, controlTypes } from './control-types.js'
import { el, newId } from './element.js'
import { parseInput, parseText, toInputText } from './field-values.js'
import { toText } from './format.js'
import { containsPattern, textOfPattern } from './like-pattern.js'
import { makePicker } from './picker.js'
import { makeLinksControl } from './record-controls.js'
import { keyText, type KeyValue, type References } from './references.js'
import {
  displayLabel,
  foreignFieldsOf,
  foreignValuesOf,
  labelOf,
  referredKey,
  relationOf,
  targetOf,
  type FieldInfo,
  type KindInfo,
  type RecordInfo,
  type RelationInfo,
} from './schema.js'
import { cachedTitle, loadTitles } from './titles.js'
import { translate, withPoint } from './translate.js'

export interface FilterControl {
  readonly node: HTMLElement
  /** Query parameters for the URL. */
  readonly read: () => readonly (readonly [name: string, value: string])[]
}

export abstract class FieldFilter {
  /** The text of the main condition. */
  readonly mainText: string = translate('is')

  constructor(
    readonly record: RecordInfo,
    readonly field: FieldInfo,
  ) {}

  get label(): string {
    return displayLabel(this.record, this.field)
  }

  /** Whether the conditions "is not" and "is one of" are offered. */
  get comparesValues(): boolean {
    return controlTypes[this.field.kind.control].comparesValues === true
  }

  /** The control of the main condition, with its value in the query. Undefined if the field has no filter. */
  abstract makeMain(query: URLSearchParams): FilterControl | undefined

  /** The control of "is not". */
  makeNot(query: URLSearchParams): FilterControl {
    const { input } = controlTypes[this.field.kind.control]
    return boxControl(
      translate('fieldIsNot', { label: this.label }),
      el('input', input),
      `${this.field.name}.ne`,
      query,
    )
  }

  /** The control of "is one of". */
  makeOneOf(query: URLSearchParams): FilterControl {
    const name = `${this.field.name}.in`
    const value = listedValues(query, name).join(', ')
    const box = el('input', { type: 'text', value, placeholder: 'a, b, c' })
    const values = (): string[] => box.value.split(',').map((text) => text.trim())
    return {
      node: labelled(translate('fieldIsOneOf', { label: this.label }), box),
      read: () => values().flatMap((text) => (text === '' ? [] : [[name, text] as const])),
    }
  }

  /**
   * The text of a value in a condition of the URL.
   *
   * @param operator `ne` of `status.ne=open`, and empty for `status=open`
   */
  describe(operator: string, value: string): string | Promise<string> {
    if (operator === 'in') return value.split(',').join(', ')
    return operator === 'ilike' ? textOfPattern(value) : value
  }
}

class ContainsFilter extends FieldFilter {
  override readonly mainText = translate('has')

  override makeMain(query: URLSearchParams): FilterControl {
    const name = `${this.field.name}.ilike`
    const box = el('input', { type: 'text', value: textOfPattern(query.get(name) ?? '') })
    const read = (): [string, string][] => {
      const text = box.value.trim()
      return text === '' ? [] : [[name, containsPattern(text)]]
    }
    return { node: labelled(this.label, box), read }
  }
}

class EqualsFilter extends FieldFilter {
  override makeMain(query: URLSearchParams): FilterControl {
    return boxControl(this.label, el('input', { type: 'text' }), this.field.name, query)
  }
}

class RangeFilter extends FieldFilter {
  override readonly mainText = translate('isFromTo')

  override makeMain(query: URLSearchParams): FilterControl {
    const { name, kind } = this.field
    const { input, rangeClass = 'range' } = controlTypes[kind.control]
    const bounds = [
      ['fieldFrom', `${name}.gte`],
      ['fieldTo', `${name}.lte`],
    ] as const
    const boxes = bounds.map(([word, parameter]) => {
      const box = el('input', input)
      const value = query.get(parameter)
      if (value !== null) box.value = toInputText(this.field, value)
      return { box, parameter, node: labelled(translate(word, { label: this.label }), box) }
    })
    return {
      node: el('div', { class: rangeClass }, ...boxes.map(({ node }) => node)),
      read: () => boxes.map(({ box, parameter }) => [parameter, this.#toParameter(box.value)]),
    }
  }

  /** Numbers get a point as their decimal sign, and times are converted to UTC. */
  #toParameter(raw: string): string {
    const text = raw.trim()
    const value = text === '' ? text : parseText(this.field, text)
    return typeof value === 'string' ? value : withPoint(text)
  }

  override describe(operator: string, value: string): string | Promise<string> {
    const isBound = operator === 'gte' || operator === 'lte'
    return isBound ? toText(value, this.field.kind.format) : super.describe(operator, value)
  }
}

/** A filter of a field with a few values: yes and no, or the values of `oneOf`. */
class ChoiceFilter extends FieldFilter {
  readonly #choices = choicesOf(this.field) ?? []

  override makeMain(query: URLSearchParams): FilterControl {
    const box = this.#makeSelect(el('option', { value: '' }, translate('any')))
    return boxControl(this.label, box, this.field.name, query)
  }

  override makeNot(query: URLSearchParams): FilterControl {
    return boxControl(
      translate('fieldIsNot', { label: this.label }),
      this.#makeSelect(),
      `${this.field.name}.ne`,
      query,
    )
  }

  #makeSelect(first?: HTMLOptionElement): HTMLSelectElement {
    return el(
      'select',
      {},
      first,
      ...this.#choices.map(([value, label]) => el('option', { value }, label)),
    )
  }

  override makeOneOf(query: URLSearchParams): FilterControl {
    const name = `${this.field.name}.in`
    const checked = listedValues(query, name)
    const choices = this.#choices.map(([value, label]) => ({
      box: el('input', { type: 'checkbox', value, checked: checked.includes(value) }),
      label,
    }))
    return {
      node: el(
        'fieldset',
        {},
        el('legend', {}, translate('fieldIsOneOf', { label: this.label })),
        ...choices.map(({ box, label }) => el('label', { class: 'choice' }, box, label)),
      ),
      read: () => choices.flatMap(({ box }) => (box.checked ? [[name, box.value] as const] : [])),
    }
  }

  override describe(operator: string, value: string): string | Promise<string> {
    const label = this.#choices.find(([choice]) => choice === value)?.[1]
    return label ?? super.describe(operator, value)
  }
}

/** A filter of a list. Its condition is that the list has an item. */
class ListFilter extends FieldFilter {
  override readonly mainText = translate('has')

  override get comparesValues(): boolean {
    return false
  }

  override makeMain(query: URLSearchParams): FilterControl {
    return boxControl(this.label, el('input', { type: 'text' }), `${this.field.name}.has`, query)
  }
}

/** A filter of the fields that hold the key of another row. The user picks rows by their titles. */
class RelationFilter extends FieldFilter {
  /** @param references have the picker of the main condition */
  constructor(
    record: RecordInfo,
    field: FieldInfo,
    readonly relation: RelationInfo,
    readonly target: RecordInfo,
    readonly references?: References,
  ) {
    super(record, field)
  }

  override get label(): string {
    return labelOf(this.relation)
  }

  /** A key of several fields has no condition of its own in the URL, but one for each field. */
  override get comparesValues(): boolean {
    return foreignFieldsOf(this.relation).length === 1
  }

  override makeMain(query: URLSearchParams): FilterControl | undefined {
    const { references } = this
    const picker = references?.pickerOf(this.field)
    if (references === undefined || picker === undefined) return undefined
    for (const field of picker.own) {
      const text = query.get(field.name)
      if (text !== null) references.load(field, parseInput(field, text, true))
    }
    return {
      node: picker.controlOf(this.field).node,
      read: () =>
        picker.own.map(({ name }) => [name, keyText(references.values[name] as KeyValue)]),
    }
  }

  override makeNot(query: URLSearchParams): FilterControl {
    const { field, relation, target } = this
    const name = `${field.name}.ne`
    const label = translate('fieldIsNot', { label: this.label })
    let value = query.get(name) ?? ''
    const picker = makePicker({
      label,
      record: target,
      onPick: (choice) => {
        value =
          choice === null ? '' : String(foreignValuesOf(relation, target, choice.key)[field.name])
      },
    })
    if (value !== '') picker.show(this.#keyOf(value) as string | number)
    const { input, node } = picker
    input.id = newId()
    return {
      node: el('div', { class: 'field' }, el('label', { for: input.id }, label), node),
      read: () => [[name, value]],
    }
  }

  override makeOneOf(query: URLSearchParams): FilterControl {
    const name = `${this.field.name}.in`
    const { field, relation, target } = this
    const control = makeLinksControl(relation, target, { isNew: false })
    control.write(listedValues(query, name).map((value) => this.#keyOf(value)))
    const toText = (key: unknown): string =>
      String(foreignValuesOf(relation, target, key)[field.name])
    return {
      node: control.node,
      read: () => ((control.read() ?? []) as unknown[]).map((key) => [name, toText(key)]),
    }
  }

  /** The key that a text of the URL names. */
  #keyOf(text: string): unknown {
    return referredKey(this.target, parseInput(this.field, text, true))
  }

  override async describe(operator: string, value: string): Promise<string> {
    if (!['', 'ne', 'in'].includes(operator)) return super.describe(operator, value)
    const keys = value.split(',').map((text) => this.#keyOf(text))
    await loadTitles(this.target, keys)
    return keys.map((key) => cachedTitle(this.target, key)).join(', ')
  }
}

/** A field that lists cannot be filtered by. Its values can still be described. */
class NoFilter extends FieldFilter {
  override makeMain(): undefined {
    return undefined
  }
}

type FilterClass = new (record: RecordInfo, field: FieldInfo) => FieldFilter

const classesByKind: Readonly<Record<KindInfo['filter'], FilterClass>> = {
  contains: ContainsFilter,
  equals: EqualsFilter,
  range: RangeFilter,
  choice: ChoiceFilter,
  none: NoFilter,
}

/** @param references of the form that filters. Without them, conditions can only be described */
export function filterOf(
  record: RecordInfo,
  field: FieldInfo,
  references?: References,
): FieldFilter {
  const picker = references?.pickerOf(field)
  if (picker !== undefined)
    return new RelationFilter(record, field, picker.relation, picker.target, references)
  const relation = field.by === undefined ? undefined : relationOf(record, field.by)
  const target = targetOf(record, field)
  if (relation !== undefined && target !== undefined)
    return new RelationFilter(record, field, relation, target)
  const FilterOfField = classOf(field)
  return new FilterOfField(record, field)
}

function classOf(field: FieldInfo): FilterClass {
  if (field.kind.filter === 'none' || field.fields !== undefined) return NoFilter
  if (field.list === true) return ListFilter
  return choicesOf(field) === undefined ? classesByKind[field.kind.filter] : ChoiceFilter
}

function labelled(label: string, box: HTMLElement): HTMLElement {
  box.id = newId()
  return el('div', { class: 'field' }, el('label', { for: box.id }, label), box)
}

/** @param name the parameter that holds the value */
function boxControl(
  label: string,
  box: HTMLInputElement | HTMLSelectElement,
  name: string,
  query: URLSearchParams,
): FilterControl {
  const value = query.get(name)
  if (value !== null) box.value = value
  return { node: labelled(label, box), read: () => [[name, box.value.trim()]] }
}

/** The values of a parameter with a list: `status.in=open,closed`. */
const listedValues = (query: URLSearchParams, name: string): string[] =>
  query.getAll(name).flatMap((value) => value.split(','))
