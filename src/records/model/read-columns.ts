/**
 * Reads the options and fields of a record class as a table's name, columns, key and constraints, and reports problems.
 */
import type { ErrorCode } from '../../errors/error-codes.js'
import type { Problem } from '../../errors/declaration-error.js'
import { Problems } from '../../errors/problems.js'
import { type Class, resolveClass } from '../../metadata/class.js'
import type { ConstraintError } from './table.js'
import { recordOptions, type RecordOptions, readRecord, type RecordConstraint } from './record.js'
import { isUuid as isUuidText } from '../../fields/kinds/table.js'
import { readCheckedShape } from '../../fields/checked-shape.js'
import { shapeOf, type Shape, type ShapeField } from '../../fields/shape.js'
import {
  isColumnSqlName,
  isSqlName,
  toColumnName,
  toSnakeCase,
  toTableName,
} from './generated-names.js'
import { compositeColumn } from './composite-column.js'
import { relationMetadataOf } from './relations.js'
import {
  reservedColumns,
  reservedPrefixes,
  unnameableColumns,
  type Column,
  type ColumnComparison,
} from '../../engines/contract/table.js'
import { didYouMean } from '../../errors/did-you-mean.js'

export interface TableColumns {
  readonly name: string
  readonly options: Readonly<RecordOptions>
  readonly shape: Shape
  readonly key: Column
  readonly columns: readonly Column[]
}

/** @returns `undefined` if no table can be created; `problems` has the reasons */
export function readColumns(type: Class, problems: Problems): TableColumns | undefined {
  const declaredOptions = readRecord(type)
  if (declaredOptions === undefined) {
    problems.add(
      problem(
        'NOT_A_RECORD',
        `${type.name} is used as a record but has no @Record.`,
        `Add @Record to the class ${type.name}.`,
      ),
    )
    return undefined
  }
  problems.addAll(recordOptions.findProblems(declaredOptions, `@Record of ${type.name}`))
  const given = recordOptions.read(declaredOptions) as RecordOptions
  // Nobody writes rows without a key.
  const options = given.key === false ? { ...given, writes: false } : given
  const shape = readCheckedShape(type, problems)
  const tableName = options.table ?? toSnakeCase(type.name)
  checkName(`${type.name}: table`, tableName, problems)
  if (options.schema !== undefined) checkName(`${type.name}: schema`, options.schema, problems)
  const name = toTableName(options.schema, tableName)
  const columns = withPartition(
    options,
    shape.fields
      .filter(({ rules }) => rules.relation !== true)
      .map((field) => toColumn(type, field, problems)),
  )
  checkColumns(type, columns, problems)
  checkComputed(type, columns, options, problems)
  const key = readAnyKey(type, options, columns, problems)
  if (options.version === true) checkVersion(type, columns, problems)
  if (key === undefined) return undefined
  return { name, options: Object.freeze(options), shape, key, columns: Object.freeze(columns) }
}

function toColumn(type: Class, field: ShapeField, problems: Problems): Column {
  const where = `${type.name}.${field.name}`
  if (field.declared === undefined) {
    problems.add(
      problem(
        'RECORD_FIELD_UNDECLARED',
        `${where} has rules of class-validator but no @Field, so its column has no kind.`,
        `Add @Field('${field.kind}') or the kind that fits.`,
      ),
    )
  }
  checkFieldWrites(where, field, problems)
  const name = field.rules.column ?? toColumnName(field.name)
  checkColumnName(where, name, problems)
  if (logicNames.has(field.name)) {
    const fix = `Rename it and keep the column: { column: '${name}' }.`
    const message = `${where}: "${field.name}" is a word of filters and cannot be a field's name.`
    problems.add(problem('RECORD_FIELD_NAME', message, fix))
  }
  return createColumn(field, name, isUuidForeignKey(type, field.name))
}

/** Refuses roles that may write a field which no client writes. They would promise a right that nobody has. */
function checkFieldWrites(where: string, field: ShapeField, problems: Problems): void {
  const { writes } = field.rules
  const closed = writes === undefined || writes === false ? undefined : closedBy(field)
  if (closed === undefined) return
  const message = `${where}: writes never applies, because no client writes ${closed.what}.`
  problems.add(problem('FIELD_RULE_UNFIT', message, closed.fix))
}

/** The reason why no client writes a field; undefined for other fields. */
function closedBy({ kind, hidden, readOnly, rules }: ShapeField) {
  if (kind === 'id') return { what: 'a primary key', fix: 'Remove writes.' }
  if (hidden) return { what: 'a hidden field', fix: 'Remove writes, or hidden.' }
  if (!readOnly) return undefined
  const fix = rules.readOnly === true ? 'Remove writes, or readOnly.' : 'Remove writes.'
  return { what: 'a read-only field', fix }
}

function createColumn(field: ShapeField, name: string, isUuidKey: boolean): Column {
  const isKey = field.kind === 'id'
  const isJson = field.list || field.nested !== undefined
  const isUuid = !isJson && (isUuidKey || field.entry.test === isUuidText)
  return Object.freeze({
    property: field.name,
    name,
    field,
    storage: isJson ? 'json' : field.entry.storage,
    compares: comparisonOf(field),
    isBoolean: !isJson && field.kind === 'boolean',
    nullable: !isKey && (field.nullable || (field.optional && field.rules.default === undefined)),
    isKey,
    isComputed: field.rules.generated === true,
    generated: isKey ? (isUuid ? 'uuid' : 'increment') : undefined,
    isUuid,
    parts: undefined,
    type: field.rules.type,
    isArray: field.list && field.rules.type?.endsWith(']') === true,
  })
}

/** Marks the columns that decide about the partition of a row. `partitions.ts` reports invalid options. */
function withPartition({ partitionBy, key }: RecordOptions, columns: readonly Column[]): Column[] {
  const time = columns.find(({ property }) => property === partitionBy?.field)
  const isInKey = time !== undefined && key !== false && key?.includes(time.property) === true
  const column = isInKey ? time : columns.find(({ generated }) => generated === 'uuid')
  return columns.map((one) =>
    column !== undefined && time !== undefined && (one === time || one === column)
      ? Object.freeze({ ...one, partition: column.name })
      : one,
  )
}

const partColumns = new WeakMap<ShapeField, Column>()

/** A field of a nested class, described like a column. Its value is within the JSON of a column, where it may be missing. */
export function partColumn(field: ShapeField): Column {
  let column = partColumns.get(field)
  if (column === undefined) {
    const own = createColumn(field, field.name, false)
    column = Object.freeze({
      ...own,
      nullable: true,
      isKey: false,
      generated: undefined,
      isUuid: false,
      type: undefined,
      isArray: false,
    })
    partColumns.set(field, column)
  }
  return column
}

function comparisonOf({ list, nested, kind, entry }: ShapeField): ColumnComparison {
  if (nested !== undefined || kind === 'json') return 'json'
  return list ? 'list' : entry.compares
}

/** True for a field that a relation to a record uses whose key, or a part of whose key, is a UUID. */
function isUuidForeignKey(type: Class, property: string, origins: readonly Class[] = []): boolean {
  for (const [name, metadata] of relationMetadataOf(type)) {
    if (metadata.kind !== 'belongsTo') continue
    const target = resolveClass(metadata.target)
    const parts = target && keyFieldsOf(target)
    const by = metadata.options.by
    if (target === undefined || parts === undefined) {
      if ((by ?? `${name}Id`) !== property) continue
      if (target !== undefined) return shapeOf(target).key?.rules.key === 'uuid'
      continue
    }
    const fields = foreignKeyFields(name, by, parts, shapeOf(type), target === type)
    const part = parts[fields.indexOf(property)]
    if (part === undefined || origins.includes(target)) continue
    const isUuidField = shapeOf(target).byName.get(part)?.entry.test === isUuidText
    return isUuidField || isUuidForeignKey(target, part, [...origins, type])
  }
  return false
}

/** The fields of each foreign key of a record, which may be several for one key. */
export function foreignKeysOf(type: Class): readonly (readonly string[])[] {
  return [...relationMetadataOf(type)].flatMap(([name, metadata]) => {
    if (metadata.kind !== 'belongsTo') return []
    const target = resolveClass(metadata.target)
    const parts = target && keyFieldsOf(target)
    const { by } = metadata.options
    if (parts !== undefined)
      return [foreignKeyFields(name, by, parts, shapeOf(type), target === type)]
    return [typeof by === 'object' ? by : [by ?? `${name}Id`]]
  })
}

/** The fields of a key of several fields, not yet checked. */
function keyFieldsOf(type: Class): readonly string[] | undefined {
  const key: unknown = readRecord(type)?.key
  if (!Array.isArray(key)) return undefined
  return shapeOf(type).key === undefined ? (key as readonly string[]) : undefined
}

/**
 * The fields that hold a key of several fields: those of `by`, or for each field one that begins with the relation's name, or
 * that has the same name.
 *
 * @param holder the fields of the record with the foreign key
 * @param isItself whether the relation leads to the same record, whose fields of the same name are its own key
 */
export function foreignKeyFields(
  relation: string,
  by: string | readonly string[] | undefined,
  key: readonly string[],
  holder: Pick<Shape, 'byName'>,
  isItself: boolean,
): readonly string[] {
  if (by !== undefined) return typeof by === 'string' ? [by] : by
  return key.map((field) => {
    const prefixed = `${relation}${field.charAt(0).toUpperCase()}${field.slice(1)}`
    return !isItself && !holder.byName.has(prefixed) && holder.byName.has(field) ? field : prefixed
  })
}

function checkColumns(type: Class, columns: readonly Column[], problems: Problems): void {
  const names = new Map<string, Column>()
  for (const column of columns) {
    const other = names.get(column.name.toLowerCase())
    if (other === undefined) {
      names.set(column.name.toLowerCase(), column)
      continue
    }
    problems.add(
      problem(
        'RECORD_COLUMN_TWICE',
        `${type.name}: ${other.property} and ${column.property} are both stored in the column "${column.name}".`,
        `Name another: { column: '…' } on ${column.property}.`,
      ),
    )
  }
}

/** Migrations do not know the expression of a computed column, so they could not make it. */
function checkComputed(
  type: Class,
  columns: readonly Column[],
  { managed }: RecordOptions,
  problems: Problems,
): void {
  for (const { property, isKey, isComputed } of columns) {
    if (!isComputed || (managed === false && !isKey)) continue
    const message = isKey
      ? `${type.name}.${property}: generated does not apply to a primary key.`
      : `${type.name}.${property}: generated needs a table that another program makes.`
    const fix = isKey
      ? 'Remove generated: keys are always made for you.'
      : 'Write @Record({ managed: false }), or compute the value in a method with @BeforeWrite.'
    problems.add(problem('FIELD_RULE_UNFIT', message, fix))
  }
}

function readKey(type: Class, columns: readonly Column[], problems: Problems): Column | undefined {
  const keys = columns.filter(({ isKey }) => isKey)
  const [key, second] = keys
  if (key === undefined) {
    const message = `${type.name} has no primary key.`
    problems.add(
      problem('RECORD_KEY_MISSING', message, `Add @Field('id') id!: number to ${type.name}.`),
    )
  } else if (second !== undefined) {
    const message = `${type.name} has two primary keys, ${key.property} and ${second.property}.`
    problems.add(problem('RECORD_KEY_TWICE', message, `Keep one @Field('id').`))
  } else if (key.field.list || key.nullable) {
    const message = `${type.name}.${key.property}: a primary key is one value, never a list.`
    problems.add(problem('RECORD_KEY_LIST', message, 'Remove "list".'))
  }
  return key
}

function readAnyKey(
  type: Class,
  options: RecordOptions,
  columns: readonly Column[],
  problems: Problems,
): Column | undefined {
  if (options.key === undefined) return readKey(type, columns, problems)
  if (options.key !== false) return readKeyParts(type, options.key, columns, problems)
  const own = columns.find(({ isKey }) => isKey)
  const unfit = own === undefined ? withoutKeyUnfit.find((name) => isSet(options[name])) : own
  if (unfit !== undefined) {
    const message =
      typeof unfit === 'string'
        ? `@Record of ${type.name}: ${unfit} needs a key.`
        : `@Record of ${type.name}: key is false, but ${unfit.property} is of kind "id".`
    const fix =
      typeof unfit === 'string' ? `Remove ${unfit}, or key: false.` : 'Remove one of them.'
    problems.add(problem('RECORD_KEY_PARTS', message, fix))
    return undefined
  }
  return compositeColumn([], true)
}

/** Options that have no effect, or no meaning, without a key. */
const withoutKeyUnfit = ['version', 'softDelete', 'shardBy', 'partitionBy', 'search'] as const

function isSet(option: unknown): boolean {
  return option !== undefined && option !== false
}

/** @returns `undefined` if the fields cannot be a key */
function readKeyParts(
  type: Class,
  fields: readonly string[],
  columns: readonly Column[],
  problems: Problems,
): Column | undefined {
  const where = `@Record of ${type.name}: key`
  const before = problems.count
  const parts: Column[] = []
  for (const field of fields) {
    const column = columns.find(({ property }) => property === field)
    const found = column === undefined ? unknownPart(field, columns) : partProblem(column, fields)
    if (found !== undefined)
      problems.add(problem('RECORD_KEY_PARTS', `${where} ${found[0]}`, found[1]))
    else if (column !== undefined) parts.push(column)
  }
  const own = columns.find(({ isKey }) => isKey)
  if (fields.length === 0)
    problems.add(problem('RECORD_KEY_PARTS', `${where} is an empty list.`, keyExample))
  else if (own !== undefined && fields.length > 1) {
    const message = `${where} names several fields, but ${own.property} is of kind "id", which is a key of its own.`
    const fix = `Declare ${own.property} with the kind of its values, as in @Field('integer'), or leave key out.`
    problems.add(problem('RECORD_KEY_PARTS', message, fix))
  } else if (own !== undefined && !fields.includes(own.property))
    problems.add(
      problem(
        'RECORD_KEY_TWICE',
        `${type.name} has two primary keys, ${own.property} and ${fields.join()}.`,
        `Remove @Field('id') or the option key.`,
      ),
    )
  if (problems.count > before) return undefined
  return own ?? compositeColumn(parts, true)
}

const keyExample = "Write key: ['orderId', 'line'], or leave it out."

function unknownPart(
  field: unknown,
  columns: readonly Column[],
): readonly [message: string, fix: string] {
  const names = columns.map(({ property }) => property)
  const suggestion = typeof field === 'string' ? didYouMean(field, names) : ''
  return [`names "${String(field)}", which is not a field.`, suggestion || keyExample]
}

/** Why a field cannot be a part of a key; `undefined` if it can. */
function partProblem(
  { property, storage, nullable, isComputed, field }: Column,
  fields: readonly string[],
): readonly [message: string, fix: string] | undefined {
  if (fields.indexOf(property) !== fields.lastIndexOf(property))
    return [`names "${property}" twice.`, 'Name each field once.']
  if (!partStorages.has(storage))
    return [
      `names "${property}", whose values are ${field.list ? 'lists' : `of kind "${field.kind}"`}.`,
      'Name fields of whole numbers, texts, UUIDs, dates and times.',
    ]
  if (nullable || field.optional)
    return [
      `names "${property}", which may be missing.`,
      `Remove nullable and optional from ${property}.`,
    ]
  if (isComputed)
    return [`names "${property}", which the database computes.`, 'Name fields that are stored.']
  if (field.hidden)
    return [
      `names "${property}", which is hidden, but keys are in addresses and responses.`,
      `Remove hidden from ${property}.`,
    ]
  return undefined
}

/** Storage classes whose values have one text each, so that keys are equal if their texts are. */
const partStorages: ReadonlySet<string> = new Set([
  'integer',
  'wide',
  'text',
  'timestamp',
  'date',
  'time',
] satisfies Column['storage'][])

/** A class may declare the field `version` itself, to document it, but only as a read-only integer. */
function checkVersion(type: Class, columns: readonly Column[], problems: Problems): void {
  const version = columns.find(({ property }) => property === 'version')
  if (version === undefined) return
  const { kind, list, readOnly } = version.field
  if (kind === 'integer' && !list && !version.nullable && readOnly) return
  const message = `${type.name}.version: @Record({ version: true }) counts writes in it, so it must be a read-only integer that is never null.`
  const fix = `Remove @Field, or write @Field('integer', { readOnly: true, default: 1 }).`
  problems.add(problem('RECORD_VERSION', message, fix))
}

function checkName(where: string, name: string, problems: Problems): void {
  const fix = 'Use letters, digits and _, at most 63, not beginning with a digit or with'
  if (!isSqlName(name) || hasReservedPrefix(name)) addNameProblem(where, name, fix, problems)
}

function hasReservedPrefix(name: string): boolean {
  const lower = name.toLowerCase()
  return reservedPrefixes.some((prefix) => lower.startsWith(prefix))
}

function addNameProblem(where: string, name: string, fix: string, problems: Problems): void {
  const message = `${where} cannot be called "${name}".`
  problems.add(problem('RECORD_NAME', message, `${fix} ${reservedPrefixes.join(', ')}.`))
}

function checkColumnName(where: string, name: string, problems: Problems): void {
  const fix = 'Use letters, digits, _, spaces and hyphens, at most 63, not beginning with'
  if (!isColumnSqlName(name) || hasReservedPrefix(name))
    addNameProblem(`${where}: column`, name, fix, problems)
  const engine = reservedColumns.get(name.toLowerCase())
  const losingEngine = unnameableColumns.get(name.toLowerCase())
  if (engine === undefined && losingEngine === undefined) return
  const message =
    engine === undefined
      ? `${where}: ${losingEngine} cannot find a column "${name}" in every query.`
      : `${where}: every table of ${engine} already has a column "${name}".`
  problems.add(problem('RECORD_NAME', message, `Name another column: { column: '${name}_value' }.`))
}

/** Names with a special meaning in filters. */
const logicNames: ReadonlySet<string> = new Set(['and', 'or', 'not'])

function problem(code: ErrorCode, message: string, fix: string): Problem {
  return { code, message, remedy: fix }
}

interface Constrained {
  readonly type: Class
  readonly options: Readonly<RecordOptions>
  readonly columns: readonly Column[]
}

/** @returns errors by the constraint's name in the database */
export function readConstraints(
  { type, options, columns }: Constrained,
  problems: Problems,
): ReadonlyMap<string, ConstraintError> {
  const constraints = new Map<string, ConstraintError>()
  for (const [name, constraint] of Object.entries(options.constraints ?? {})) {
    const where = `@Record of ${type.name}: constraints.${name}`
    const wrong = (message: string, fix: string): void => {
      problems.add({ code: 'INVALID_OPTION', message: `${where}${message}`, remedy: fix })
    }
    if (
      typeof constraint !== 'object' ||
      (constraint as unknown) === null ||
      Array.isArray(constraint)
    ) {
      wrong(' is not an object.', "Write { status: 409, message: 'The room is taken.' }.")
      continue
    }
    for (const option of Object.keys(constraint))
      if (!constraintOptions.includes(option))
        wrong(
          `: unknown option "${option}".`,
          `${didYouMean(option, constraintOptions)} Options: ${constraintOptions.join(', ')}.`.trim(),
        )
    const { status, message, path } = constraint
    if (status !== undefined && !(Number.isInteger(status) && status >= 400 && status < 500))
      wrong(': status is not the status of a client error.', 'Write a number from 400 to 499.')
    if (message !== undefined && (typeof message !== 'string' || message === ''))
      wrong(': message is not a text.', 'Write a message for the client, or leave it out.')
    const column = columns.find(({ property }) => property === path)
    if (path !== undefined && column === undefined) {
      const names = columns.map(({ property }) => property)
      wrong(`: path "${path}" is not a field.`, didYouMean(path, names) || 'Name a field of it.')
    }
    constraints.set(name, { status, message, column })
  }
  return constraints
}

const constraintOptions: readonly string[] = [
  'message',
  'path',
  'status',
] satisfies (keyof RecordConstraint)[]
