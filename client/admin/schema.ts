/** The schema of the records for the signed-in caller. See docs/maintainers/admin.md, Schema. */
import { asText, toLabel, type ValueFormat } from './format.js'

export type PageRow = Record<string, unknown>

/** How the page edits, filters, shows and charts values. The server documents the members as `Presentation`. */
export interface KindInfo {
  readonly control:
    | 'line'
    | 'lines'
    | 'json'
    | 'integer'
    | 'decimal'
    | 'checkbox'
    | 'date'
    | 'time'
    | 'datetime'
    | 'file'
  readonly type: 'text' | 'integer' | 'number' | 'boolean' | 'timestamp' | 'json'
  readonly isFreeText: boolean
  readonly label: string
  readonly pattern?: string | undefined
  readonly comparison: 'text' | 'number' | 'time'
  readonly measure: 'characters' | 'bytes'
  readonly filter: 'contains' | 'equals' | 'range' | 'choice' | 'none'
  readonly format: ValueFormat
  readonly chart: 'groups' | 'periods' | 'numbers' | 'none'
}

export interface FieldInfo {
  readonly name: string
  readonly label?: string
  readonly kind: KindInfo
  readonly list?: true
  readonly required?: true
  readonly nullable?: true
  readonly readOnly?: true
  /** A new row sets it, and no update changes it. */
  readonly immutable?: true
  readonly oneOf?: readonly (string | number | boolean)[]
  /** What people read in place of the values of `oneOf`, by value. */
  readonly labels?: Readonly<Record<string, string>>
  readonly min?: number | string
  readonly max?: number | string
  readonly minLength?: number
  readonly maxLength?: number
  readonly pattern?: string
  readonly default?: unknown
  /** The name of the relation whose key this field holds. */
  readonly by?: string
  readonly fields?: readonly FieldInfo[]
  readonly help?: string
  /** The application's own words for the rules, by rule. */
  readonly messages?: Readonly<Partial<Record<string, string>>>
  readonly order?: true
  /** The paths of the application's components. */
  readonly cell?: string
  readonly input?: string
}

export interface RelationInfo {
  readonly name: string
  readonly label?: string
  readonly kind: 'one' | 'many' | 'links'
  /** The other record's name. */
  readonly to: string
  /** The field that holds the key of the one row: here, or in the other record for `many`. */
  readonly by?: string
  /** For `links` (many-to-many): the property with the keys of the linked rows. */
  readonly ids?: string
  /** The caller may change the links of a relation with `ids`. */
  readonly linkable?: true
  readonly required?: true
  readonly nested?: true
}

export interface ActionInfo {
  readonly name: string
  readonly label: string
  readonly bulk?: true
  readonly danger?: true
  readonly fields?: readonly FieldInfo[]
}

export interface RecordInfo {
  readonly name: string
  readonly path: string
  readonly label: string
  readonly one: string
  readonly group?: string
  readonly help?: string
  /** The field that is the key, or the fields between commas: `orderId,line`. Missing where rows have no key. */
  readonly key?: string
  /** `text`: of several fields, as the JSON list of their values. */
  readonly keyKind?: 'int' | 'uuid' | 'text'
  /** The fields of a key of several fields. */
  readonly keyFields?: readonly string[]
  readonly title: string
  readonly list: readonly string[]
  /** The operations that the caller may do, by their first letters: `cud`. */
  readonly can?: string
  readonly version?: string
  readonly search?: true
  readonly history?: true
  /** Deleted rows can be restored, and the caller may do so. */
  readonly bin?: true
  readonly fields: readonly FieldInfo[]
  readonly relations?: readonly RelationInfo[]
  readonly actions?: readonly ActionInfo[]
}

/** A page of the application beside the records. */
export interface OwnPage {
  readonly path: string
  readonly title: string
  readonly script: string
}

export interface PageSchema {
  readonly caller: {
    readonly sub: string
    /** The title of the caller's row in the record of people. */
    readonly name?: string
  }
  readonly live?: true
  readonly pages?: readonly OwnPage[]
  readonly records: readonly RecordInfo[]
}

/** The schema as the server sends it. Records refer to shared lists of fields and kinds by index. */
export interface CompactSchema extends Omit<PageSchema, 'records'> {
  readonly kinds: readonly KindInfo[]
  readonly fields: readonly Omit<CompactField, 'name'>[]
  readonly records: readonly (Omit<RecordInfo, 'fields' | 'actions'> & {
    readonly fields: readonly (readonly [name: string, index: number])[]
    readonly actions?: readonly (Omit<ActionInfo, 'fields'> & {
      readonly fields?: readonly CompactField[]
    })[]
  })[]
}

interface CompactField extends Omit<FieldInfo, 'kind' | 'fields'> {
  readonly kind: number
  readonly fields?: readonly CompactField[]
}

export function expandSchema({ kinds, fields, records, ...sent }: CompactSchema): PageSchema {
  const expand = ({ kind, fields: inner, ...field }: CompactField): FieldInfo => ({
    ...field,
    kind: kinds[kind] as KindInfo,
    ...(inner !== undefined && { fields: inner.map(expand) }),
  })
  return {
    ...sent,
    records: records.map(({ actions, ...record }) => ({
      ...record,
      fields: record.fields.map(([name, index]) =>
        expand({ ...(fields[index] as CompactField), name }),
      ),
      ...(actions !== undefined && {
        actions: actions.map(({ fields: inner, ...action }) => ({
          ...action,
          ...(inner !== undefined && { fields: inner.map(expand) }),
        })),
      }),
    })),
  }
}

let currentSchema: PageSchema | undefined

export const schema = (): PageSchema | undefined => currentSchema
export const setSchema = (value: PageSchema | undefined): void => {
  currentSchema = value
}

export const recordAt = (path: string): RecordInfo | undefined =>
  currentSchema?.records.find((record) => record.path === path)

export const recordNamed = (name: string): RecordInfo | undefined =>
  currentSchema?.records.find((record) => record.name === name)

export const fieldOf = (record: RecordInfo, name: string): FieldInfo | undefined =>
  record.fields.find((field) => field.name === name)

export const relationOf = (record: RecordInfo, name: string): RelationInfo | undefined =>
  record.relations?.find((relation) => relation.name === name)

/** The record whose row a field names, if the page has it. */
export function targetOf(record: RecordInfo, field: FieldInfo | undefined): RecordInfo | undefined {
  const relation = field?.by === undefined ? undefined : relationOf(record, field.by)
  return relation && recordNamed(relation.to)
}

export const may = (record: RecordInfo, operation: 'create' | 'update' | 'delete'): boolean =>
  record.can?.includes(operation.charAt(0)) === true

/** Whether the form of a row has the rows of a relation: they belong to the row, and the caller may change something about them. */
export function isEditedInForm({ kind, nested, to }: RelationInfo): boolean {
  return kind === 'many' && nested === true && Boolean(recordNamed(to)?.can)
}

export const labelOf = ({ label, name }: { label?: string; name: string }): string =>
  label ?? toLabel(name)

/** The label of a field. A field that holds a key has the label of its relation. */
export function displayLabel(record: RecordInfo, field: FieldInfo): string {
  const relation = field.by === undefined ? undefined : relationOf(record, field.by)
  return labelOf(relation ?? field)
}

/** The label of a property in a write: a field, the keys of linked rows, or nested rows. */
export function labelAt(record: RecordInfo, name: string): string {
  const field = fieldOf(record, name)
  if (field !== undefined) return displayLabel(record, field)
  const [property] = name.split('.')
  const relation = record.relations?.find((one) => one.ids === property || one.name === name)
  return relation === undefined ? name : labelOf(relation)
}

/** Puts the label in the place of the property, where a message of the server begins with it. */
export const withLabel = (message: string, path: string, label: string): string =>
  path !== '' && message.startsWith(`${path} `) ? label + message.slice(path.length) : message

/** Whether rows have a key. Others are listed only: they have no page of their own. */
export const hasKey = ({ key }: RecordInfo): boolean => key !== undefined

/** The key of a row as one value: of several fields, the JSON list of their values. */
export function keyValueOf({ key = '', keyFields }: RecordInfo, row: PageRow): string | number {
  if (keyFields === undefined) return row[key] as string | number
  return JSON.stringify(keyFields.map((name) => row[name]))
}

export const keyOf = (record: RecordInfo, row: PageRow): string => String(keyValueOf(record, row))

/** The fields of a key. */
export const keyFieldsOf = ({ key, keyFields }: RecordInfo): readonly string[] =>
  keyFields ?? (key === undefined ? [] : [key])

/** The values of a key by field. */
export function keyPartsOf({ key = '', keyFields }: RecordInfo, value: unknown): PageRow {
  if (keyFields === undefined) return { [key]: value }
  const parts = JSON.parse(String(value)) as unknown[]
  return Object.fromEntries(keyFields.map((name, index) => [name, parts[index]]))
}

/** A key in the form of a write: of several fields, an object of them. */
export const keyInput = (record: RecordInfo, value: unknown): unknown =>
  record.keyFields === undefined ? value : keyPartsOf(record, value)

/** A key for people: `7`, or `DE, 2`. */
export const keyText = (record: RecordInfo, value: unknown): string =>
  record.keyFields === undefined
    ? String(value)
    : Object.values(keyPartsOf(record, value)).map(String).join(', ')

/** A key in a path: the parts of several fields are between commas. */
export const keyPath = (record: RecordInfo, value: string): string =>
  record.keyFields === undefined
    ? encodeURIComponent(value)
    : Object.values(keyPartsOf(record, value))
        .map((part) => encodeURIComponent(String(part)))
        .join()

/** The fields that hold the key of the row that a relation leads to. */
export const foreignFieldsOf = ({ by = '' }: RelationInfo): readonly string[] => by.split(',')

/** The key of the row that a relation leads to, from the fields that hold it. Null if one of them is missing. */
export function foreignKeyOf(
  relation: RelationInfo,
  target: RecordInfo,
  row: Readonly<PageRow>,
): unknown {
  const values = foreignFieldsOf(relation).map((name) => row[name] ?? null)
  if (values.includes(null)) return null
  return target.keyFields === undefined ? values[0] : JSON.stringify(values)
}

/** The key of the row that a field alone refers to. */
export const referredKey = ({ keyFields }: RecordInfo, value: unknown): unknown =>
  keyFields === undefined || value === null || value === undefined ? value : JSON.stringify([value])

/** The values of the fields that hold a key. @param record of the row with this key */
export function foreignValuesOf(relation: RelationInfo, record: RecordInfo, key: unknown): PageRow {
  const parts = Object.values(keyPartsOf(record, key))
  return Object.fromEntries(foreignFieldsOf(relation).map((name, index) => [name, parts[index]]))
}

/** The conditions for the rows that refer to a row, by field. */
export function backConditions(
  record: RecordInfo,
  relation: RelationInfo,
  key: string,
): Record<string, string> {
  const values = Object.entries(foreignValuesOf(relation, record, key))
  return Object.fromEntries(values.map(([name, value]) => [name, String(value)]))
}

/** The text that names a row. */
export function titleOf(record: RecordInfo, row: PageRow): string {
  const value = row[record.title]
  const text = value === null || value === undefined ? '' : asText(value).trim()
  if (text !== '' && record.title !== record.key) return text
  return `${record.one} ${keyText(record, keyValueOf(record, row))}`
}
