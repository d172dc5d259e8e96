/**
 * The controls of references to other records: one picker for all fields that hold a key. A field may be a part of several
 * references, such as the tenant of an organisation and of a person.
 */
import { labelledField, type Control, type ControlOptions } from './control.js'
import { addEmptyOptionIfNeeded } from './empty-option.js'
import { el, replace } from './element.js'
import { link, pathTo } from './navigation.js'
import { makePicker, type Picker } from './picker.js'
import {
  fieldOf,
  foreignFieldsOf,
  foreignKeyOf,
  foreignValuesOf,
  keyFieldsOf,
  labelOf,
  recordNamed,
  type FieldInfo,
  type PageRow,
  type RecordInfo,
  type RelationInfo,
} from './schema.js'
import { cachedTitle, loadTitles, type RowFilter } from './titles.js'
import { translate } from './translate.js'

export interface ReferencesOptions extends ControlOptions {
  /** Whether the pickers filter a list: they hold all fields of a key, and nothing is required. */
  readonly isFilter?: boolean
  /** Fields that the form does not change. Their values narrow the rows that pickers offer. */
  readonly isFixed: (field: FieldInfo) => boolean
}

/** The references of one form, and the values of the fields that hold their keys. */
export class References {
  readonly #values: PageRow = {}
  readonly #pickers: ReferencePicker[] = []
  /** Controls of fields that people also enter themselves. */
  readonly #inputs = new Map<string, Control>()

  constructor(
    readonly record: RecordInfo,
    readonly options: ReferencesOptions,
  ) {
    // A reference by one field has this field for itself.
    const relations = [...(record.relations ?? [])].sort(
      (one, other) => foreignFieldsOf(one).length - foreignFieldsOf(other).length,
    )
    const owned = new Set<FieldInfo>()
    for (const relation of relations) {
      const target = recordNamed(relation.to)
      const fields = foreignFieldsOf(relation).map((name) => fieldOf(record, name))
      if (relation.kind !== 'one' || target === undefined || !areComplete(fields)) continue
      const [first, second] = fields
      if (second === undefined && first?.by !== relation.name) continue
      const own = this.#ownFields(fields).filter((one) => !options.isFixed(one) && !owned.has(one))
      if (own.length === 0) continue
      for (const field of own) owned.add(field)
      this.#pickers.push(new ReferencePicker(this, { relation, target, fields, own }))
    }
  }

  /** If a reference may be missing, a field that is never empty has an input too. */
  #ownFields(fields: readonly FieldInfo[]): readonly FieldInfo[] {
    const { isFilter } = this.options
    const optional = fields.filter(({ nullable }) => nullable === true)
    if (isFilter === true) return [...new Set([...optional, ...fields])]
    if (fields.some(({ input }) => input !== undefined)) return []
    return optional.length === 0 ? fields : optional
  }

  get values(): Readonly<PageRow> {
    return this.#values
  }

  /** The picker that sets a field; undefined for a field with an input of its own. */
  pickerOf(field: FieldInfo): ReferencePicker | undefined {
    return this.#pickers.find(({ own }) => own.includes(field))
  }

  /** Controls without an input, which take the values of fixed fields and never send them. */
  fixedControls(): Control[] {
    const parts = new Set(this.#pickers.flatMap(({ fields }) => fields))
    return [...parts].filter(this.options.isFixed).map((field) => ({
      name: field.name,
      label: labelOf(field),
      node: el('span', { hidden: true }),
      focus: () => undefined,
      read: () => undefined,
      write: (value) => {
        this.load(field, value)
      },
      showError: () => undefined,
      findError: () => undefined,
    }))
  }

  /** Connects the input of a field with the references that the field is a part of. */
  connect(field: FieldInfo, control: Control): Control {
    if (!this.#pickers.some(({ fields }) => fields.includes(field))) return control
    this.#inputs.set(field.name, control)
    control.node.addEventListener('input', () => {
      this.change({ [field.name]: control.read() })
    })
    return {
      ...control,
      write: (value) => {
        control.write(value)
        this.load(field, value)
      },
    }
  }

  /** Takes a stored value. */
  load(field: FieldInfo, value: unknown): void {
    this.#values[field.name] = value ?? emptyOf(field)
    for (const picker of this.#pickers) if (picker.fields.includes(field)) picker.show()
  }

  /** Takes values that the user chose. Other references with a changed field lose the fields of their own. */
  change(values: PageRow, source?: ReferencePicker): void {
    const changed = Object.keys(values).filter((name) => values[name] !== this.#values[name])
    Object.assign(this.#values, values)
    for (const name of changed) {
      const input = this.#inputs.get(name)
      if (source !== undefined) input?.write(values[name])
    }
    for (const picker of this.#pickers) {
      if (picker === source || !picker.fields.some(({ name }) => changed.includes(name))) continue
      for (const field of picker.own)
        if (!(field.name in values)) this.#values[field.name] = emptyOf(field)
      picker.show()
    }
  }

  /** The conditions for the rows that a picker offers: the values of fields that it does not choose alone. */
  conditionsFor(picker: ReferencePicker): RowFilter {
    const { fields, own, target } = picker
    if (fields.length === 1) return {}
    const others = this.#pickers.filter((one) => one !== picker && one.key !== null)
    const isHeld = (field: FieldInfo): boolean =>
      !own.includes(field) || others.some((one) => one.fields.includes(field))
    const keyFields = keyFieldsOf(target)
    const conditions = fields.flatMap((field, index): [string, string][] => {
      const value = this.#values[field.name]
      const isKnown = value !== null && value !== undefined && isHeld(field)
      return isKnown ? [[keyFields[index] ?? '', keyText(value as KeyValue)]] : []
    })
    return Object.fromEntries(conditions)
  }
}

/** The value of a field that holds a part of a key. */
export type KeyValue = string | number | boolean | null | undefined

export function keyText(value: KeyValue): string {
  return value === null || value === undefined ? '' : String(value)
}

/** A reference to one row of a record. */
interface ReferenceFields {
  readonly relation: RelationInfo
  readonly target: RecordInfo
  /** The fields that hold the key, in the order of its parts. */
  readonly fields: readonly FieldInfo[]
  /** The fields that the picker alone sets. */
  readonly own: readonly FieldInfo[]
}

export class ReferencePicker {
  readonly relation: RelationInfo
  readonly target: RecordInfo
  readonly fields: readonly FieldInfo[]
  readonly own: readonly FieldInfo[]
  readonly #control: Control
  #picker: Picker | undefined
  readonly #opener = el('p', { class: 'opener', hidden: true })
  #shownKey: unknown = null

  constructor(
    readonly references: References,
    { relation, target, fields, own }: ReferenceFields,
  ) {
    this.relation = relation
    this.target = target
    this.fields = fields
    this.own = own
    const control = this.#makeControl()
    const { isNew, isBulk } = references.options
    const [first] = own as [FieldInfo]
    this.#control = isNew ? control : addEmptyOptionIfNeeded(first, control, isBulk)
  }

  /** The key of the chosen row. Null without one. */
  get key(): unknown {
    return foreignKeyOf(this.relation, this.target, this.references.values)
  }

  /** The first field has the picker, others only their values. */
  controlOf(field: FieldInfo): Control {
    if (field === this.own[0]) return this.#control
    const isEmptied = (): boolean => field.nullable === true && this.#control.read() === null
    return {
      ...this.#control,
      name: field.name,
      node: el('span', { hidden: true }),
      read: () => (isEmptied() ? null : this.references.values[field.name]),
      write: (value) => {
        this.references.load(field, value)
      },
      findError: () => undefined,
    }
  }

  #makeControl(): Control {
    const { references, relation, target, own } = this
    const { options } = references
    const label = labelOf(relation)
    const [first] = own as [FieldInfo]
    const isRequired = own.some((field) => field.required === true)
    const required = isRequired && options.isBulk !== true && options.isFilter !== true
    const { node, box, showError } = labelledField(
      { label, help: own.find(({ help }) => help !== undefined)?.help, required },
      ({ id, describedBy }) => {
        const picker = makePicker({
          label,
          record: target,
          describedBy,
          required,
          create: options.create,
          conditions: () => references.conditionsFor(this),
          onPick: (choice) => {
            references.change(choice === null ? this.#noValues() : this.#valuesOf(choice.key), this)
            this.#shownKey = choice?.key ?? null
            showError()
            this.#showLink()
            node.dispatchEvent(new Event('input', { bubbles: true }))
          },
        })
        picker.input.id = id
        this.#picker = picker
        return { content: picker.node, box: picker.input }
      },
    )
    if (options.isFilter !== true) node.append(this.#opener)
    const mustExist = required || (!options.isNew && own.some(({ nullable }) => nullable !== true))
    const isMissing = (): boolean => own.some(({ name }) => references.values[name] === undefined)
    return {
      name: first.name,
      label,
      node,
      read: () => references.values[first.name],
      write: (value) => {
        references.load(first, value)
      },
      focus: () => {
        box.focus()
      },
      showError,
      findError: () =>
        options.isBulk !== true && mustExist && isMissing()
          ? { path: '', message: translate('required') }
          : undefined,
    }
  }

  #valuesOf(key: unknown): PageRow {
    return foreignValuesOf(this.relation, this.target, key)
  }

  #noValues(): PageRow {
    return Object.fromEntries(this.own.map((field) => [field.name, emptyOf(field)]))
  }

  /** Shows the row of the current values. */
  show(): void {
    const { key } = this
    if (key === this.#shownKey) return
    this.#shownKey = key
    this.#picker?.show(key as string | number | null)
    this.#showLink()
  }

  /** A link to the row. Its name is the title, once the title is known. */
  #showLink(): void {
    const { target, key } = this
    const opener = this.#opener
    opener.hidden = key === null
    if (opener.hidden) return
    const draw = (): void => {
      const text = translate('open', { title: cachedTitle(target, key) })
      replace(opener, link(pathTo(target.path, String(key)), {}, text))
    }
    draw()
    loadTitles(target, [key])
      .then(draw)
      .catch(() => undefined)
  }
}

const areComplete = (fields: readonly (FieldInfo | undefined)[]): fields is FieldInfo[] =>
  !fields.includes(undefined)

/** The value of a field without a reference. */
const emptyOf = ({ nullable }: FieldInfo): null | undefined =>
  nullable === true ? null : undefined
