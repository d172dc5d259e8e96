/** Describes records, fields and actions to the page, as far as the caller may use them. See docs/maintainers/admin.md, Schema. */
import {
  describeFields,
  describeRecord,
  type FieldDescription,
  type Presentation,
  type RecordDescription,
  type RecordRights,
  type Class,
  type VisibleRecords,
} from '../../index.js'
import { AdminAction, readAdmin } from './declare.js'
import { isToOne } from './options.js'
import { hasKey } from './page-records.js'

export type SchemaPart = Record<string, unknown>

/** Number of columns if `@Admin` does not name them. */
const defaultColumns = 6
const defaultTitles = ['title', 'name', 'subject', 'label']
const maxDepth = 3

interface PageView {
  /** The records of the page. */
  readonly types: ReadonlySet<Class>
  /** The actions that the caller may run, by method. */
  readonly actions: ReadonlyMap<string, unknown>
  readonly visible: VisibleRecords
  /** Whether `delete` only marks rows of the record. */
  readonly hasBin: boolean
  /** How fields are presented. Fields refer to it by index. */
  readonly kinds: SharedList
}

export function describeForPage(rights: RecordRights, view: PageView): SchemaPart {
  const { types: pageTypes, actions, visible, kinds } = view
  const { type, plural, key, version, fields, relations, may, search } = rights
  const { group, help, history, fields: components, ...names } = readAdmin(type)
  const visibleRelations = relations.filter(({ target }) => pageTypes.has(target))
  const pickers = new Map(visibleRelations.filter(isToOne).map(({ by, name }) => [by, name]))
  return withoutEmpty({
    name: type.name,
    path: plural,
    label: names.plural ?? toLabel(plural),
    one: names.label ?? toLabel(type.name),
    group,
    help: visible.textOf(type, help),
    ...(hasKey(rights) && {
      key: key.name,
      keyKind: keyKinds[key.kind],
      keyFields: key.parts,
    }),
    title: titleOf(rights),
    list: columnsOf(rights, pageTypes),
    can: (may.create ? 'c' : '') + (may.update ? 'u' : '') + (may.delete ? 'd' : ''),
    version,
    search: search.length > 0,
    history: history === true,
    bin: view.hasBin && may.delete,
    fields: fields.map((field) =>
      withoutEmpty({
        ...describeField(field, kinds),
        ...components?.[field.name],
        help: visible.textOf(type, helpOf(field)),
        by: pickers.get(field.name),
        order: field.ordered,
      }),
    ),
    relations: visibleRelations.map(({ name, kind, target, by, ids, linkable, owned }) => {
      const field = fields.find((one) => one.name === by)
      return withoutEmpty({
        name,
        label: kind === 'belongsTo' ? field?.rules.label : undefined,
        kind: relationKinds[kind],
        to: target.name,
        by,
        ids,
        linkable,
        required: kind === 'belongsTo' && field?.required === true,
        nested: owned,
      })
    }),
    actions: [...AdminAction.read(type)]
      .filter(([name]) => actions.has(name))
      .map(([name, [{ label, bulk, body, danger }]]) =>
        withoutEmpty({
          name,
          label,
          bulk: bulk === true,
          danger: danger === true,
          fields:
            body &&
            describeFields(body).map((field) => withoutEmpty(describeField(field, kinds, 1))),
        }),
      ),
  })
}

/** A list without duplicates, whose values are sent once and named by their index. */
export class SharedList {
  readonly values: object[] = []
  readonly #indexes = new Map<string, number>()

  indexOf(value: object): number {
    const text = JSON.stringify(value)
    const index = this.#indexes.get(text) ?? this.values.push(value) - 1
    this.#indexes.set(text, index)
    return index
  }
}

/**
 * Deduplicates field descriptions: records refer to a shared list by index. Most records have the same key, timestamp and name
 * fields, so the schema of sixty records stays small.
 */
export function shareFields(records: readonly SchemaPart[]): {
  fields: readonly object[]
  records: SchemaPart[]
} {
  const shared = new SharedList()
  const compact = records.map((record) => {
    const fields = record.fields as SchemaPart[]
    return { ...record, fields: fields.map(({ name, ...field }) => [name, shared.indexOf(field)]) }
  })
  return { fields: shared.values, records: compact }
}

/** The field that names a row. Of a record without a key it may be the first field, or empty without fields. */
export function titleOf(record: RecordDescription): string {
  const { type, key, fields } = record
  const { title } = readAdmin(type)
  const names = fields.filter(({ list }) => !list).map(({ name }) => name)
  const other = hasKey(record) ? key.name : (names[0] ?? '')
  if (title !== undefined) return names.includes(title) ? title : other
  return defaultTitles.find((name) => names.includes(name)) ?? other
}

function columnsOf(rights: RecordRights, pageTypes: ReadonlySet<Class>): string[] {
  const { type, fields, relations, key } = rights
  const { list } = readAdmin(type)
  const fieldNames = fields.map(({ name }) => name)
  const toOneRelations = relations.filter((one) => isToOne(one) && pageTypes.has(one.target))
  if (list !== undefined)
    return list.filter(
      (name) => fieldNames.includes(name) || toOneRelations.some((one) => one.name === name),
    )
  const by = new Map(toOneRelations.map((one) => [one.by, one.name]))
  const title = titleOf(rights)
  const otherColumns = fields
    .filter(({ presentation, name }) => {
      const isLong = longControls.has(presentation.control)
      return !isLong && name !== title && name !== key.name
    })
    .map(({ name }) => by.get(name) ?? name)
  return [title, ...otherColumns].slice(0, defaultColumns)
}

/** Controls whose values are too long for a column. */
const longControls: ReadonlySet<Presentation['control']> = new Set(['lines', 'json', 'file'])

const keyKinds = { integer: 'int', uuid: 'uuid', text: 'text' } as const

const relationKinds = { belongsTo: 'one', hasMany: 'many', manyToMany: 'links' } as const

function describeField(field: FieldDescription, kinds: SharedList, depth = 0): SchemaPart {
  const { name, presentation, list, required, nullable, rules, nested } = field
  const { oneOf, labels, min, max, minLength, maxLength, pattern, label } = rules
  const { default: defaultValue } = rules
  return {
    name,
    label,
    kind: kinds.indexOf(presentation),
    list,
    required,
    nullable,
    readOnly: !field.writable,
    immutable: field.immutable,
    oneOf,
    labels,
    min,
    max,
    minLength,
    maxLength,
    pattern: pattern instanceof RegExp ? pattern.source : pattern,
    default: typeof defaultValue === 'function' ? undefined : defaultValue,
    fields:
      nested === undefined || depth >= maxDepth
        ? undefined
        : describeFields(nested).map((one) => withoutEmpty(describeField(one, kinds, depth + 1))),
    help: helpOf(field),
    messages: Object.keys(field.messages).length === 0 ? undefined : field.messages,
  }
}

function helpOf({ rules: { help, description } }: FieldDescription): string | undefined {
  return help ?? description
}

const mayBeZero: ReadonlySet<string> = new Set(['kind', 'default', 'min', 'max'])

/** Leaves out values that are false, undefined, empty or an empty list. */
function withoutEmpty(json: SchemaPart): SchemaPart {
  const entries = Object.entries(json).filter(([name, value]) => {
    if (mayBeZero.has(name)) return value !== undefined
    if (Array.isArray(value)) return value.length > 0
    return value !== undefined && value !== false && value !== 0 && value !== ''
  })
  return Object.fromEntries(entries)
}

/** The labels of the fields and of the many-to-many relations, by the name of their property in a write. */
export function labelsByName({ fields, relations }: RecordDescription): Map<string, string> {
  const labels = new Map<string, string>()
  for (const { name, rules } of fields) {
    const relation = relations.find((one) => isToOne(one) && one.by === name)
    labels.set(name, rules.label ?? toLabel(relation?.name ?? name))
  }
  for (const { name, ids, target } of relations) {
    if (ids === undefined) continue
    labels.set(ids, toLabel(name))
    // A file has a column for each field of a key.
    for (const part of describeRecord(target)?.key.parts ?? [])
      labels.set(`${ids}.${part}`, `${toLabel(name)}: ${toLabel(part)}`)
  }
  return labels
}

/** `createdAt` → `Created at` */
export function toLabel(name: string): string {
  const label = name
    .replace(/([a-z0-9])([A-Z])/g, '$1 $2')
    .replace(/_/g, ' ')
    .toLowerCase()
  return label.charAt(0).toUpperCase() + label.slice(1)
}
