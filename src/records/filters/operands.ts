/** The operands of a filter: a column, and a value within the JSON of a column. */
import { normalizeText } from '../../core/text.js'
import type { Dialect } from '../../engines/contract/dialect.js'
import type { Column } from '../../engines/contract/table.js'
import { isOfKind, toJson } from '../../fields/kinds/table.js'
import { toComparable } from '../../fields/rule-code.js'
import type { ShapeField } from '../../fields/shape.js'
import type { JsonPath, JsonType } from '../../sql/condition.js'
import { operatorOf, type Operator } from '../../sql/operators.js'
import type { ColumnCodec } from '../model/codec.js'
import type { Condition } from '../model/table.js'
import type { Operand } from './comparison.js'
import { findPart, jsonTypeOf } from './json-parts.js'
import type { Slots } from './list-options.js'
import { invalid } from './query-errors.js'

const maxListLength = 10_000
/** The maximum number of names in the path of a JSON value, and the maximum length of a name. */
const maxPathLength = 20
const maxNameLength = 200
/** The maximum number of values that a JSON value is compared with. */
const maxJsonItems = 100
/**
 * The maximum number of values of the statement. The limit of SQLite is 32,766 and that of PostgreSQL 65,535. Lists that the
 * database receives as one value count once.
 */
const maxValues = 30_000

/** The filter that contains the comparison. */
export interface OperandFilter extends Slots {
  readonly dialect: Dialect
  /** For clients, hidden fields do not exist. */
  readonly isClient: boolean
  isSkipped(value: unknown, path: string): boolean
  checkItems(list: readonly unknown[], path: string): void
  /** @throws {HttpError} 400 for one more pattern than a client may send */
  countPattern(path: string): void
  /** @throws {HttpError} 400 for more values than a client may compare JSON with */
  countJsonItems(count: number, path: string): void
}

const needsPath = 'needs a path for kind "json"'

abstract class FilterOperand implements Operand<Condition> {
  abstract readonly maxItems: number
  protected readonly codec: ColumnCodec
  protected readonly filter: OperandFilter

  constructor(codec: ColumnCodec, filter: OperandFilter) {
    this.codec = codec
    this.filter = filter
  }

  get dialect(): Dialect {
    return this.filter.dialect
  }

  /** The kind of the values, for errors. */
  get kind(): string {
    return this.codec.column.field.kind
  }

  findMisfit(operator: Operator): string | undefined {
    const { column } = this.codec
    return operatorOf(operator).fits.includes(column.compares) ? undefined : misfitOf(column)
  }

  isSkipped(value: unknown, path: string): boolean {
    return this.filter.isSkipped(value, path)
  }

  checkItems(list: readonly unknown[], path: string): void {
    this.filter.checkItems(list, path)
  }

  encodeText(text: string, path: string): string {
    this.filter.countPattern(path)
    return text
  }

  every(parts: readonly Condition[]): Condition {
    return { kind: 'all', parts }
  }

  abstract encode(value: unknown, path: string, operator: Operator): unknown
  abstract compare(operator: Operator, encoded: unknown): Condition
  abstract testNull(isNull: boolean): Condition
  abstract testList(encoded: readonly unknown[], orNull: boolean, path: string): Condition
}

export class ColumnOperand extends FilterOperand {
  readonly maxItems = maxListLength

  override findMisfit(operator: Operator): string | undefined {
    if (this.codec.column.compares === 'json' && operator !== 'isNull')
      return super.findMisfit(operator) ?? needsPath
    return super.findMisfit(operator)
  }

  encode(value: unknown, path: string, operator: Operator): unknown {
    const { codec } = this
    const { entry } = codec.column.field
    const isItem = operatorOf(operator).operand === 'item'
    const isOfItsKind = value !== null && (isItem ? isOfKind(value, entry) : codec.accepts(value))
    const stored = readOperand(codec.column, value, { path, operator, isOfItsKind })
    if (!isItem) return codec.encode(stored)
    const json = JSON.stringify(toJson(stored, entry))
    return this.dialect.lists.itemOf(json, codec.column.isArray)
  }

  override encodeText(text: string, path: string): string {
    return toStoredForm(this.codec.column, super.encodeText(text, path))
  }

  compare(operator: Operator, encoded: unknown): Condition {
    const { codec, filter } = this
    const { column, index } = codec
    const isPattern = operatorOf(operator).operand !== 'value'
    const isText = column.isUuid
      ? isPattern || !codec.canStore(encoded)
      : isPattern && filter.dialect.values.needsTextForPatterns?.(column) === true
    filter.key += `${index}${operator}${isText ? 't' : ''};`
    const slot = filter.values.push(encoded) - 1
    return { kind: 'compare', column, operator, slot, ...(isText && { isText }) }
  }

  testNull(isNull: boolean): Condition {
    const { column, index } = this.codec
    this.filter.key += `${index}${isNull ? 'null' : 'some'};`
    return { kind: 'null', column, isNull }
  }

  testList(encoded: readonly unknown[], orNull: boolean, path: string): Condition {
    const { codec, filter } = this
    const { column, index } = codec
    const packed = filter.dialect.lists.encode(column, encoded)
    const values = packed === undefined ? pad(encoded) : [packed]
    if (filter.values.length + values.length > maxValues)
      throw invalid(
        path,
        'maxItems',
        `has too many values: all lists may have at most ${maxValues}`,
      )
    const slots = values.map((value) => filter.values.push(value) - 1)
    filter.key += `${index}in${packed === undefined ? slots.length : ''}${orNull ? '?' : ''};`
    return { kind: 'list', column, slots, isPacked: packed !== undefined, orNull }
  }
}

/** A value with the type by which it is compared. */
interface JsonOperandValue {
  readonly type: JsonType
  readonly value: unknown
}

/**
 * A value within JSON, at a path. A part of a nested class compares as its kind. Other values compare by the type of the
 * operand.
 */
export class JsonOperand extends FilterOperand {
  readonly maxItems = maxJsonItems
  /** The slots of the path. */
  readonly #slots: readonly number[]
  readonly #part: Column | undefined

  /** @throws {HttpError} 400 for a path that is no list of names, and for a path to a value that responses leave out */
  constructor(codec: ColumnCodec, filter: OperandFilter, names: unknown, path: string) {
    super(codec, filter)
    const checkedNames = readPath(names, path)
    const { isClient } = filter
    this.#part = findPart(codec.column.field, checkedNames, { isClient, path })
    this.#slots = filter.dialect.json.paths(checkedNames).map((one) => filter.values.push(one) - 1)
  }

  override get kind(): string {
    return this.#part?.field.kind ?? super.kind
  }

  override findMisfit(operator: Operator): string | undefined {
    const part = this.#part
    if (part === undefined) return super.findMisfit(operator)
    if (!operatorOf(operator).fits.includes(part.compares)) return misfitOf(part)
    return part.compares === 'json' && operator !== 'isNull' ? needsPath : undefined
  }

  encode(value: unknown, path: string, operator: Operator): JsonOperandValue {
    if (this.#part !== undefined) return this.#encodePart(this.#part, value, path, operator)
    const type = typeOfJson(value)
    const isEquality = operator === 'eq' || operator === 'ne' || operator === 'in'
    if (type === undefined || (type === 'boolean' && !isEquality))
      throw invalid(path, 'type', 'must be a number or a text, or true or false with eq or ne')
    return { type, value: this.filter.dialect.json.operand(value) }
  }

  #encodePart(part: Column, value: unknown, path: string, operator: Operator): JsonOperandValue {
    const { entry } = part.field
    const isOfItsKind = value !== null && isOfKind(value, entry)
    const json = toJson(readOperand(part, value, { path, operator, isOfItsKind }), entry)
    const type = jsonTypeOf(part)
    if (type === 'list') return { type, value: JSON.stringify(json) }
    return { type, value: this.filter.dialect.json.operand(json, type === 'exact') }
  }

  override encodeText(text: string, path: string): string {
    return toStoredForm(this.#part ?? this.codec.column, super.encodeText(text, path))
  }

  compare(operator: Operator, encoded: unknown): Condition {
    const { codec, filter } = this
    const { type, value } =
      typeof encoded === 'string' ? { type: 'text' as const, value: encoded } : toTyped(encoded)
    const path = this.#path(type)
    filter.key += `${codec.index}${operator}${pathKey(path)};`
    const slot = filter.values.push(value) - 1
    return { kind: 'compare', column: codec.column, operator, slot, path }
  }

  testNull(isNull: boolean): Condition {
    const { codec, filter } = this
    const path = this.#path('any')
    filter.key += `${codec.index}${isNull ? 'null' : 'some'}${pathKey(path)};`
    return { kind: 'null', column: codec.column, isNull, path }
  }

  testList(encoded: readonly unknown[], orNull: boolean, path: string): Condition {
    const { filter } = this
    filter.countJsonItems(encoded.length + (orNull ? 1 : 0), path)
    filter.key += '|['
    const parts = encoded.map((item) => this.compare('eq', item))
    if (orNull) parts.push(this.testNull(true))
    filter.key += ']'
    return { kind: 'any', parts }
  }

  #path(type: JsonType): JsonPath {
    return { type, slots: this.#slots }
  }
}

function toTyped(encoded: unknown): JsonOperandValue {
  return encoded as JsonOperandValue
}

/** Part of the key of a statement: paths of the same length and type share a statement. */
function pathKey({ type, slots }: JsonPath): string {
  return `@${type}${slots.join('+')}`
}

/** Pads lists to a power of two by repeating the last item, so that few different statements are made. */
function pad(values: readonly unknown[]): readonly unknown[] {
  if (values.length === 0) return values
  const length = 2 ** Math.ceil(Math.log2(values.length))
  return Array.from({ length }, (_, index) => values[Math.min(index, values.length - 1)])
}

/** @throws {HttpError} 400 for anything but a list of names */
function readPath(value: unknown, path: string): readonly string[] {
  if (!Array.isArray(value) || value.length === 0)
    throw invalid(path, 'type', 'must be a list of names')
  if (value.length > maxPathLength)
    throw invalid(path, 'maxItems', `has more than ${maxPathLength} names`)
  return value.map((name: unknown) => {
    const text = Number.isSafeInteger(name) ? String(name) : name
    if (
      typeof text !== 'string' ||
      text.length > maxNameLength ||
      /["\\\p{Cc}\p{Surrogate}]/u.test(text)
    )
      throw invalid(path, 'type', 'must be names without quotes and backslashes')
    return text
  })
}

function misfitOf({ field }: Column): string {
  return `cannot be used for kind "${field.kind}"`
}

/**
 * A value, or the item of a list, in the form in which it is stored.
 *
 * @param isOfItsKind whether the value is of the field's kind
 * @throws {HttpError} 400 for a value of another kind, and for a value that the field cannot have
 */
function readOperand(
  { field }: Column,
  value: unknown,
  { path, operator, isOfItsKind }: OperandReading,
): unknown {
  if (!isOfItsKind) throw invalid(path, 'type', `must be ${field.entry.label}`)
  const stored = toStoredForm({ field }, value)
  if (operatorOf(operator).isEquality === true) checkChoice(field, stored, path)
  return stored
}

interface OperandReading {
  readonly path: string
  readonly operator: Operator
  readonly isOfItsKind: boolean
}

/** @throws {HttpError} 400 for a value that the field cannot have, as for a misspelt name */
function checkChoice({ declared, entry }: ShapeField, value: unknown, path: string): void {
  const choices = declared?.oneOf
  if (choices === undefined) return
  const compared = toComparable(value, entry)
  if (choices.some((choice) => toComparable(choice, entry) === compared)) return
  throw invalid(path, 'oneOf', `must be one of ${choices.join(', ')}`)
}

/** @returns `undefined` for lists, objects and null */
function typeOfJson(value: unknown): Exclude<JsonType, 'any'> | undefined {
  if (typeof value === 'number') return Number.isFinite(value) ? 'number' : undefined
  if (typeof value === 'boolean') return 'boolean'
  return typeof value === 'string' && !/[\0\p{Surrogate}]/u.test(value) ? 'text' : undefined
}

/** Texts of a field with `normalize` are stored in one form of Unicode, and the text of a filter may have another. */
function toStoredForm<T>({ field }: Pick<Column, 'field'>, value: T): T | string {
  const form = field.declared?.normalize
  return form === undefined || typeof value !== 'string' ? value : normalizeText(value, form)
}
