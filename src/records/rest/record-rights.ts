/**
 * Describes a record and the rights of a caller as data: the fields and relations that the caller may read, and the
 * writes that it may do. Packages use it to make pages, tools and documents of records. Source: decisions, Records:
 * access rules.
 */
import { tokenAccess, type AccessRule } from '../../auth/access.js'
import type { Presentation } from '../../fields/kinds/kind.js'
import { presentationOf } from '../../fields/kinds/presentation.js'
import type { RuleMessages } from '../../fields/messages.js'
import type { FieldRules } from '../../fields/rules.js'
import { readShape, type ShapeField } from '../../fields/shape.js'
import { Problems } from '../../errors/problems.js'
import type { Class } from '../../metadata/class.js'
import { storedColumnsOf, type Column } from '../../engines/contract/table.js'
import { countableRelations } from '../filters/list-options.js'
import { isHidden } from '../filters/query-errors.js'
import { toPlural } from '../model/generated-names.js'
import { keyOf, readKeyText } from '../model/record-key.js'
import { readTable } from '../model/read-table.js'
import type { Relation, Table } from '../model/table.js'
import { linkNames } from '../statements/write-tree.js'
import { rulesOfRelation } from '../policy/client-view.js'
import { checkAccess, type Caller } from '../rights/caller.js'
import { methodRules, resolvedMethods } from '../rights/method-access.js'
import { isLinkable, policyOf, type WriteOperation } from '../rights/record-policy.js'

/** A field that is visible to clients. */
export interface FieldDescription {
  readonly name: string
  /** The kind: `string`, `integer`, `datetime` …; `class` for a nested class. */
  readonly kind: string
  readonly list: boolean
  /** The nested class. */
  readonly nested: Class | undefined
  readonly rules: Readonly<FieldRules>
  /** The application's own words for the rules, by the code of the violation. */
  readonly messages: RuleMessages
  /** False for keys, versions, timestamps and `readOnly` fields. */
  readonly writable: boolean
  /** True for the fields of `shardBy` and `partitionBy`: a new row sets it, and no update changes it. */
  readonly immutable: boolean
  /** True if a new row must name it. */
  readonly required: boolean
  readonly nullable: boolean
  /** True if lists may be ordered by it. */
  readonly ordered: boolean
  /** Reads one value from the text of a query. Undefined if the text is not a valid value. */
  readonly fromText: (text: string) => unknown
  /** Converts the value of a row to the form that clients receive: bytes become base64. */
  readonly toJson: (value: unknown) => unknown
  /** How pages edit, filter, show and chart the values. A nested class is edited as JSON text. */
  readonly presentation: Presentation
}

/** A relation that is visible to clients. */
export interface RelationDescription {
  readonly name: string
  readonly kind: 'belongsTo' | 'hasMany' | 'manyToMany'
  readonly target: Class
  /** The field that holds the key: of this record for `belongsTo`, of the other record for `hasMany`. */
  readonly by: string | undefined
  /** `manyToMany`: the name under which a write lists all keys, `tagIds`. */
  readonly ids: string | undefined
  /** `manyToMany`: true if the links can be changed. For one caller, only if this caller has the right. */
  readonly linkable: boolean
  /** `hasMany`: true if the other rows are deleted with this one. */
  readonly owned: boolean
}

export interface RecordDescription {
  readonly type: Class
  /** The name of a list in GraphQL and in URLs: `tickets`. */
  readonly plural: string
  readonly key: DescribedKey
  /** The field that counts writes. */
  readonly version: string | undefined
  /** The field whose values decide on the shard of a row. */
  readonly shardBy: string | undefined
  /** The fields that full-text search covers. */
  readonly search: readonly string[]
  /** The fields whose values or prefixes an index can find. */
  readonly indexed: ReadonlySet<string>
  /** True for each operation that some client may do: not the ones that `writes` sets to false. */
  readonly writes: Readonly<Record<WriteOperation, boolean>>
  /** The names of fields and relations that only some callers may read, by `@Secured` there or on the related record. */
  readonly secured: readonly string[]
  readonly fields: readonly FieldDescription[]
  readonly relations: readonly RelationDescription[]
}

/** The primary key of a record. */
export interface DescribedKey {
  /** The field, or the fields between commas: `orderId,line`. */
  readonly name: string
  /** `text`: of several fields, as the JSON list of their values. */
  readonly kind: 'integer' | 'uuid' | 'text'
  /** The fields of a key of several fields. */
  readonly parts: readonly string[] | undefined
  /** The key of a row, also of one in its JSON form, as one value: of several fields, the JSON list of their values. */
  readonly of: (row: object) => unknown
  /** The condition for the rows with these keys, each as `of` returns it. */
  readonly where: (keys: readonly unknown[]) => Record<string, unknown>
  /** The text of a key in the form that is equal for equal keys. Undefined for a text that is no key. */
  readonly read: (text: string) => string | undefined
}

/** The description for one caller: only the fields and relations that it may read. */
export interface RecordRights extends RecordDescription {
  /**
   * The names that the caller must not see, also if it may write rows without reading them: fields, relations, their
   * counts and keys, and methods with `@Resolve`.
   */
  readonly hidden: ReadonlySet<string>
  /** Without `read`, fields and relations are empty. A caller may have the right to write without `read`. */
  readonly may: Readonly<Record<'read' | WriteOperation, boolean>>
}

const cachedDescriptions = new WeakMap<Table, RecordDescription>()

/**
 * The description of a record for clients.
 *
 * @returns undefined for a class that is not a record, or whose declaration is invalid
 */
export function describeRecord(type: Class): RecordDescription | undefined {
  const problems = new Problems()
  const table = readTable(type, problems)
  return table && describeTable(table)
}

/** The fields of any class, as clients may send them. */
export function describeFields(type: Class): FieldDescription[] {
  const problems = new Problems()
  return readShape(type, problems)
    .fields.filter(({ hidden, readOnly }) => !hidden && !readOnly)
    .map((field) => ({
      ...toPlain(field),
      writable: true,
      immutable: false,
      required: !field.optional,
      ordered: false,
    }))
}

/** @param sees whether the caller may see any row */
export async function readRights(
  table: Table,
  caller: Caller,
  sees: (table: Table) => boolean,
): Promise<RecordRights> {
  const description = describeTable(table)
  const { writes, columns, columnWrites } = policyOf(table)
  const read = await mayRead(table, caller, sees)
  const fields: FieldDescription[] = []
  const relations: RelationDescription[] = []
  const hidden = new Set<string>()
  for (const field of description.fields) {
    const column = table.byProperty.get(field.name)
    if (!(await admits([column && columns.get(column)], caller))) {
      hidden.add(field.name)
      continue
    }
    const mayWrite = await admits([column && columnWrites.get(column)], caller)
    fields.push(mayWrite ? field : { ...field, writable: false, required: false })
  }
  for (const relation of description.relations) {
    const tableRelation = table.relations.get(relation.name)
    if (tableRelation === undefined || !(await mayFollow(tableRelation, caller, sees))) {
      for (const name of namesOfRelation(table, relation)) hidden.add(name)
      continue
    }
    const linkable = relation.linkable && (await mayLink(tableRelation, caller))
    relations.push({ ...relation, linkable })
  }
  for (const method of resolvedMethods(table.type))
    if (!(await admits(methodRules(table, method), caller))) hidden.add(method)
  const found = new Set(fields.map(({ name }) => name))
  const isSearched = description.search.every((name) => found.has(name))
  const mayWrite = async (operation: WriteOperation): Promise<boolean> => {
    const access = writes[operation]
    return sees(table) && access !== false && admits([access ?? tokenAccess], caller)
  }
  return {
    ...description,
    search: read && isSearched ? description.search : [],
    fields: read ? fields : [],
    relations: read ? relations : [],
    hidden,
    may: {
      read,
      create: await mayWrite('create'),
      update: await mayWrite('update'),
      delete: await mayWrite('delete'),
    },
  }
}

/** The rights of the program: all fields and relations that clients may see, and all writes. */
export function rightsOfProgram(table: Table): RecordRights {
  const may = { read: true, create: true, update: true, delete: true }
  return { ...describeTable(table), hidden: new Set(), may }
}

/** A row as clients receive it in JSON, with the relations that were read. */
export function toClientRow(
  row: object,
  { fields, relations }: Pick<RecordRights, 'fields' | 'relations'>,
): Record<string, unknown> {
  const values = row as Readonly<Record<string, unknown>>
  const json: Record<string, unknown> = {}
  for (const { name, toJson } of fields) json[name] = toJson(values[name])
  for (const { name } of relations) if (values[name] !== undefined) json[name] = values[name]
  return JSON.parse(JSON.stringify(json)) as Record<string, unknown>
}

function namesOfRelation(table: Table, { name, ids }: RelationDescription): string[] {
  const counts = countableRelations(table, true).filter(({ relation }) => relation.name === name)
  return [name, ...counts.map((count) => count.name), ...(ids === undefined ? [] : [ids])]
}

async function mayRead(
  table: Table,
  caller: Caller,
  sees: (table: Table) => boolean,
): Promise<boolean> {
  return (await admits([policyOf(table).read], caller)) && sees(table)
}

async function mayFollow(
  relation: Relation,
  caller: Caller,
  sees: (table: Table) => boolean,
): Promise<boolean> {
  const rules = policyOf(relation.table).relations.get(relation) ?? []
  return (await admits(rules, caller)) && mayRead(relation.target, caller, sees)
}

async function mayLink(relation: Relation, caller: Caller): Promise<boolean> {
  const access = policyOf(relation.table).links.get(relation)
  return access !== false && admits([access ?? tokenAccess], caller)
}

/** Whether all rules admit the caller. The result waits for guards. */
export async function admits(
  rules: readonly (AccessRule | undefined)[],
  caller: Caller,
): Promise<boolean> {
  for (const rule of rules)
    if (rule !== undefined && (await checkAccess(rule, caller)) !== 'admitted') return false
  return true
}

function describeTable(table: Table): RecordDescription {
  const cached = cachedDescriptions.get(table)
  if (cached !== undefined) return cached
  const { type, key, version, shard, search, options, columns, relations, indexes } = table
  const { writes, columns: securedColumns } = policyOf(table)
  const description: RecordDescription = Object.freeze({
    type,
    plural: options.plural ?? pluralOf(options.name ?? lowerFirst(type.name)),
    key: describeKey(key),
    version: version?.property,
    shardBy: shard?.property,
    search: (search?.columns ?? []).map(({ property }) => property),
    indexed: new Set(
      indexes
        .filter(({ form }) => form?.where === undefined && form?.like !== true)
        .flatMap(({ columns: [first] }) => (first === undefined ? [] : [first.property])),
    ),
    writes: Object.freeze({
      create: writes.create !== false,
      update: writes.update !== false,
      delete: writes.delete !== false,
    }),
    secured: [
      ...[...securedColumns.keys()].map(({ property }) => property),
      ...[...relations.values()]
        .filter((relation) => rulesOfRelation(relation).some(({ open }) => !open))
        .map(({ name }) => name),
    ],
    fields: columns.filter(({ field }) => !field.hidden).map((column) => toField(table, column)),
    relations: [...relations.values()].filter((one) => !isHidden(one)).map(toRelation),
  })
  cachedDescriptions.set(table, description)
  return description
}

function describeKey(key: Column): DescribedKey {
  const { isUuid, parts } = key
  const name = namesOf(key).join(',')
  const of = (row: object): unknown => keyOf(key, row)
  const where = (keys: readonly unknown[]): Record<string, unknown> => ({
    [key.property]: { in: keys },
  })
  if (parts !== undefined)
    return {
      ...{ name, kind: 'text', parts: parts.map(({ property }) => property), of, where },
      read: (text) => readKeyText(key, text),
    }
  const form = isUuid ? /^[\da-f-]{36}$/i : /^-?(?:0|[1-9]\d{0,15})$/
  return {
    ...{ name, kind: isUuid ? 'uuid' : 'integer', parts, of, where },
    read: (text) => (form.test(text) ? text.toLowerCase() : undefined),
  }
}

/** The fields that a key or foreign key consists of. */
function namesOf(column: Column): string[] {
  return storedColumnsOf(column).map(({ property }) => property)
}

function toField(table: Table, column: Column): FieldDescription {
  const { key, version, shard, partitions, deletedAt, updatedAt } = table
  const { field, nullable, compares } = column
  const isOwn = [key, version, deletedAt, updatedAt].includes(column)
  const writable = !isOwn && !field.readOnly
  return {
    ...toPlain(field),
    writable,
    immutable:
      column === shard || column === partitions?.time || key.parts?.includes(column) === true,
    required: writable && !field.optional && !nullable,
    ordered: compares !== 'json' && compares !== 'list',
  }
}

function toPlain(
  field: ShapeField,
): Omit<FieldDescription, 'writable' | 'immutable' | 'required' | 'ordered'> {
  return {
    name: field.name,
    kind: field.nested === undefined ? field.kind : 'class',
    list: field.list,
    nested: field.nested?.(),
    rules: field.rules,
    messages: field.messages,
    nullable: field.nullable,
    fromText: (text) => field.entry.fromText(text),
    toJson: (value) => toClientJson(field, value),
    presentation: toPresentation(field),
  }
}

function toPresentation({ nested, entry }: ShapeField): Presentation {
  const presentation = presentationOf(entry)
  return nested === undefined ? presentation : { ...presentation, format: 'text' }
}

function toClientJson(field: ShapeField, value: unknown): unknown {
  if (value === null || value === undefined) return value
  if (field.list && Array.isArray(value)) return value.map((item) => toClientItem(field, item))
  return toClientItem(field, value)
}

function toClientItem({ nested, entry }: ShapeField, value: unknown): unknown {
  if (value === null || value === undefined) return value
  if (nested === undefined) return entry.write === undefined ? value : entry.write(value)
  const row = value as Readonly<Record<string, unknown>>
  const fields = readShape(nested()).fields.filter(({ hidden }) => !hidden)
  return Object.fromEntries(
    fields.map((inner) => [inner.name, toClientJson(inner, row[inner.name])]),
  )
}

function toRelation(relation: Relation): RelationDescription {
  const { table, name, kind, target, local, foreign } = relation
  const [ids] = [...linkNames(table)].find(([, tableRelation]) => tableRelation === relation) ?? []
  const back = [...target.relations.values()].find(
    (other) => other.kind === 'belongsTo' && other.local === foreign,
  )
  const by = kind === 'belongsTo' ? local : foreign
  return {
    name,
    kind,
    target: target.type,
    by: kind === 'manyToMany' ? undefined : namesOf(by).join(','),
    ids,
    linkable: kind === 'manyToMany' && isLinkable(relation),
    owned: kind === 'hasMany' && back?.onDelete === 'cascade',
  }
}

function pluralOf(name: string): string {
  const plural = toPlural(name)
  return plural === name ? `${name}List` : plural
}

function lowerFirst(name: string): string {
  return name.charAt(0).toLowerCase() + name.slice(1)
}
