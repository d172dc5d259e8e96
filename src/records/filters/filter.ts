/**
 * Reads a filter: resolves every name and checks every value, so that client input becomes a value of a placeholder or
 * an error 400. Returns a condition, and a key under which its statement is cached.
 */
import { readProgramQuery, invalid, isHidden, unknownName } from './query-errors.js'
import type { Table, Condition } from '../model/table.js'
import { isPlainObject } from '../../core/json.js'
import { didYouMean } from '../../errors/did-you-mean.js'
import { clip, normalizeText } from '../../core/text.js'
import { isOfKind } from '../../fields/kinds/table.js'
import { readShape, type ShapeField } from '../../fields/shape.js'
import { type ColumnCodec, type TableCodec, toJson } from '../model/codec.js'
import type { Dialect } from '../../engines/contract/dialect.js'
import type { JsonPath, JsonType } from '../../sql/table.js'
import { operatorOf, operators, readOperator, type Operator } from '../../sql/operators.js'
import { parseSearch, searchOf } from './search.js'
import { skip, skipAt, undefinedAt, undefinedOption } from '../model/skip.js'
import type { TableSearch } from '../../engines/contract/table.js'

/**
 * Reads a filter of the program, which may use hidden fields. Errors about them are not reported to clients.
 *
 * @throws {HttpError} 400 `VALIDATION`
 */
export function readProgramFilter(reader: FilterReader, table: Table, where: unknown): Condition {
  return readProgramQuery(table, () => reader.read(table, where))
}

/**
 * Marks lists of conditions that come from a URL's parameters: their errors name the parameter, not a position in the
 * list.
 */
const lists = new WeakSet<object>()

/** Makes one filter of conditions that must all hold. */
export function andParameters(
  conditions: readonly Readonly<Record<string, unknown>>[],
): Record<string, unknown> {
  if (conditions.length === 0) return {}
  lists.add(conditions)
  return { and: conditions }
}

/** True for a list that `andParameters` has marked. */
function isFromParameters(list: object): boolean {
  return lists.has(list)
}

/** The reader's context for the tables of relations. */
export interface FilterContext {
  readonly dialect: Dialect
  /** The number of matches that a client's search ranks, for records without their own `searchLimit`. */
  readonly searchLimit: number
  codecOf(table: Table): TableCodec
}

/** A filter with more conditions is refused as an attack. */
export const maxConditions = 200
const maxDepth = 12
/** The maximum number of characters of a pattern. */
export const maxPatternLength = 1000
/**
 * The maximum number of patterns in a client's filter. Patterns use no index: each is compared with every row, which
 * blocks the process on SQLite.
 */
const maxPatterns = 20
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
/** The maximum number of JSON values in all lists of a client's filter. Each is compared by itself. */
const maxClientJsonItems = 1000

export class FilterReader {
  /** The values of the slots, in order. */
  readonly values: unknown[]
  /** The same for filters that differ in values only. */
  key = ''
  readonly #context: FilterContext
  /** For clients, hidden fields do not exist. */
  readonly #isClient: boolean
  #count = 0
  #patterns = 0
  #jsonItems = 0
  /** The start of paths in the program's errors. Paths in clients' errors start with their own names. */
  #root = ''
  /** The number of enclosing `or` and `not`. Within them, `skip` would match more rows than intended. */
  #groupDepth = 0

  constructor(context: FilterContext, isClient: boolean, values: unknown[] = []) {
    this.#context = context
    this.#isClient = isClient
    this.values = values
  }

  /**
   * @throws {HttpError} 400 `VALIDATION`, with the path of the error
   * @throws {DeclarationError} for `undefined` anywhere, and for `skip` in a position that does not allow it
   */
  read(table: Table, where: unknown, path = ''): Condition {
    this.#root = path === '' ? 'where.' : ''
    if (where === undefined) throw undefinedOption('where', '{} for all rows')
    return this.#readAll(table, where, path, 1)
  }

  #readAll(table: Table, where: unknown, path: string, depth: number): Condition {
    if (where === undefined || where === skip) throw this.#invalidValue(where, path)
    if (!isPlainObject(where)) throw invalid(path, 'type', 'must be an object')
    if (depth > maxDepth) throw invalid(path, 'depth', `is nested deeper than ${maxDepth} levels`)
    const names = Object.keys(where)
    if (names.length === 0) {
      if (!isEmptyMap(where))
        throw invalid(path, 'type', 'must be an object with conditions of its own')
      // An empty object is a part of the statement too.
      if (++this.#count > maxConditions) throw tooMany(path)
    }
    const parts: Condition[] = []
    this.key += '('
    for (const name of names) {
      const value = where[name]
      if (++this.#count > maxConditions) throw tooMany(path)
      const inner = path === '' ? name : `${path}.${name}`
      const part = this.#readOne(table, { name, value, path: inner, depth })
      if (part !== undefined) parts.push(part)
    }
    this.key += ')'
    return parts.length === 1 ? (parts[0] as Condition) : { kind: 'all', parts }
  }

  /** @returns `undefined` for no condition: the value is `skip` */
  #readOne(table: Table, entry: Entry): Condition | undefined {
    const { name, value, path } = entry
    if (name === 'and' || name === 'or' || name === 'not') return this.#readGroup(table, entry)
    const codec = this.#context.codecOf(table).byProperty.get(name)
    if (codec !== undefined && !(this.#isClient && codec.column.field.hidden))
      return this.#skips(value, path) ? undefined : this.#readColumn(codec, value, path)
    const search = searchOf(table, name)
    if (search !== undefined)
      return this.#skips(value, path) ? undefined : this.#readSearch(table, search, value, path)
    const relation = table.relations.get(name)
    if (relation === undefined || (this.#isClient && isHidden(relation)))
      throw unknownName(table, name, path, this.#isClient)
    if (this.#skips(value, path)) return undefined
    this.key += `>${name}`
    const part = this.#readAll(relation.target, value, path, entry.depth + 1)
    return { kind: 'related', relation, part }
  }

  #readGroup(table: Table, { name, value, path, depth }: Entry): Condition {
    if (value === undefined || value === skip) throw this.#invalidValue(value, path)
    if (name !== 'not' && !Array.isArray(value)) throw invalid(path, 'type', 'must be a list')
    // Each item has at least one condition, or counts as one.
    if (Array.isArray(value) && value.length > maxConditions) throw tooMany(path)
    if (name !== 'and') this.#groupDepth++
    const read = (item: unknown, at: string): Condition => this.#readAll(table, item, at, depth + 1)
    let condition: Condition
    if (name === 'not') {
      this.key += '!'
      condition = { kind: 'not', part: read(value, path) }
    } else {
      this.key += name === 'and' ? '&[' : '|['
      // `Array.from` visits the holes of a list, which `map` would skip.
      const list = value as unknown[]
      const isNamed = !isFromParameters(list)
      const parts = Array.from(list, (item, index) => read(item, isNamed ? `${path}.${index}` : ''))
      this.key += ']'
      condition = { kind: name === 'and' ? 'all' : 'any', parts }
    }
    if (name !== 'and') this.#groupDepth--
    return condition
  }

  /**
   * @returns true if the condition is omitted
   * @throws {DeclarationError} for `undefined`, and for `skip` within `or` and `not`
   */
  #skips(value: unknown, path: string): boolean {
    if (value !== undefined && value !== skip) return false
    if (value === undefined || this.#groupDepth > 0) throw this.#invalidValue(value, path)
    return true
  }

  /** @throws {DeclarationError} for `undefined` and `skip` in a list, also for its holes */
  #rejectUndefinedIn(list: readonly unknown[], pathOf: (index: number) => string): void {
    for (const value of [undefined, skip]) {
      if (list.includes(value))
        throw this.#invalidValue(value, pathOf(list.findIndex((item) => item === value)))
    }
  }

  #invalidValue(value: unknown, path: string): Error {
    const at = path === '' ? 'where' : `${this.#root}${path}`
    return value === undefined ? undefinedAt(at) : skipAt(at)
  }

  #readSearch(table: Table, search: TableSearch, value: unknown, path: string): Condition {
    const terms = parseSearch(value, path)
    if (terms.length === 0) return { kind: 'all', parts: [] }
    if (this.#isClient && ++this.#patterns > maxPatterns)
      throw invalid(path, 'maxItems', `is one search too many: at most ${maxPatterns} are allowed`)
    this.key += 'search;'
    const slot = this.values.push(this.#context.dialect.search.operand(terms)) - 1
    return { kind: 'search', table, search, slot }
  }

  #readColumn(codec: ColumnCodec, value: unknown, path: string): Condition {
    if (!isPlainObject(value)) return this.#readEqual(codec, value, path, 'eq')
    if (codec.column.compares === 'json' && 'path' in value && value.path !== null)
      return this.#readJsonPath(codec, value, path)
    const names = Object.keys(value)
    // A client may send an empty object. In a program it is a mistake, such as a promise that was not awaited.
    if (names.length === 0 && !this.#isClient)
      throw invalid(path, 'required', 'needs a comparison, or skip for none')
    const parts: Condition[] = []
    for (const name of names) {
      const part = this.#readOperator(codec, name, value[name], `${path}.${name}`)
      if (part !== undefined) parts.push(part)
    }
    return parts.length === 1 ? (parts[0] as Condition) : { kind: 'all', parts }
  }

  #readOperator(
    codec: ColumnCodec,
    name: string,
    operand: unknown,
    path: string,
  ): Condition | undefined {
    const operator = this.#operator(codec, name, path)
    if (this.#skips(operand, path)) return undefined
    if (codec.column.compares === 'json' && operator !== 'isNull')
      throw invalid(path, 'type', 'needs a path for kind "json"')
    switch (operatorOf(operator).operand) {
      case 'flag':
        if (typeof operand !== 'boolean') throw invalid(path, 'type', 'must be true or false')
        return this.#nullTest(codec, operand)
      case 'list':
        return this.#readList(codec, operand, path)
      case 'values':
        return this.#readValues(operand, path, operator, (one, value, at) =>
          this.#readEqual(codec, value, at, one),
        )
      case 'pattern':
      case 'part':
        return this.#readPattern(codec, operand, path, operator)
      case 'item':
        return this.#readItem(codec, operand, path, operator)
      case 'value':
        return this.#readEqual(codec, operand, path, operator)
    }
  }

  #operator({ column }: ColumnCodec, name: string, path: string): Operator {
    const operator = readOperator(name)
    if (operator === undefined) {
      const suggestion = didYouMean(clip(name), Object.keys(operators))
      throw invalid(path, 'unknown', `is not a comparison. ${suggestion}`.trim())
    }
    if (operatorOf(operator).fits.includes(column.compares)) return operator
    throw invalid(path, 'type', `cannot be used for kind "${column.field.kind}"`)
  }

  /** `{ path: ['a', 'b'], gte: 1 }` */
  #readJsonPath(codec: ColumnCodec, value: Record<string, unknown>, path: string): Condition {
    this.#rejectUndefinedIn([value.path], () => `${path}.path`)
    if (Array.isArray(value.path))
      this.#rejectUndefinedIn(value.path, (index) => `${path}.path.${index}`)
    const names = readPath(value.path, `${path}.path`)
    if (this.#isClient) demandVisiblePath(codec.column.field, names, `${path}.path`)
    const first = this.values.length
    const slots = this.#context.dialect.jsonPaths(names).map((one) => this.values.push(one) - 1)
    const tests = Object.keys(value).filter((name) => name !== 'path')
    if (tests.length === 0)
      throw invalid(path, 'required', 'needs a comparison in addition to path')
    const parts = tests
      .map((name) => this.#readJsonTest(codec, slots, name, value[name], `${path}.${name}`))
      .filter((part) => part !== undefined)
    // All comparisons are omitted, so the statement does not use the path.
    if (parts.length === 0) this.values.length = first
    return parts.length === 1 ? (parts[0] as Condition) : { kind: 'all', parts }
  }

  #readJsonTest(
    codec: ColumnCodec,
    slots: readonly number[],
    name: string,
    operand: unknown,
    path: string,
  ): Condition | undefined {
    const operator = this.#operator(codec, name, path)
    if (this.#skips(operand, path)) return undefined
    const kind = operatorOf(operator).operand
    if (kind === 'flag' || operand === null) {
      if (kind === 'flag' && typeof operand !== 'boolean')
        throw invalid(path, 'type', 'must be true or false')
      if (kind !== 'flag' && operator !== 'eq' && operator !== 'ne')
        throw invalid(path, 'type', 'must not be null')
      const isNull = kind === 'flag' ? operand === true : operator === 'eq'
      return this.#nullTest(codec, isNull, { type: 'any', slots })
    }
    if (kind === 'pattern' || kind === 'part')
      return this.#readPattern(codec, operand, path, operator, { type: 'text', slots })
    if (kind === 'list') return this.#readJsonList(codec, slots, operand, path)
    if (kind === 'values')
      return this.#readValues(operand, path, operator, (one, value, at) =>
        this.#readJsonTest(codec, slots, one, value, at),
      )
    const type = typeOfJson(operand)
    if (type === undefined || (type === 'boolean' && operator !== 'eq' && operator !== 'ne'))
      throw invalid(path, 'type', 'must be a number or a text, or true or false with eq or ne')
    const value = this.#context.dialect.jsonOperand(operand)
    return this.#compare(codec, operator, value, { type, slots })
  }

  /** `{ between: [1, 5] }` is `{ gte: 1, lte: 5 }`. */
  #readValues(
    operand: unknown,
    path: string,
    operator: Operator,
    read: (one: Operator, value: unknown, path: string) => Condition | undefined,
  ): Condition {
    const { means = [] } = operatorOf(operator)
    if (!Array.isArray(operand) || operand.length !== means.length)
      throw invalid(path, 'type', `must be a list of ${means.length} values`)
    this.#rejectUndefinedIn(operand, (index) => `${path}.${index}`)
    const parts = means.map((one, index) => {
      const at = `${path}.${index}`
      if (operand[index] === null) throw invalid(at, 'type', 'must not be null')
      return read(one, operand[index], at)
    })
    return { kind: 'all', parts: parts.filter((part) => part !== undefined) }
  }

  #readJsonList(
    codec: ColumnCodec,
    slots: readonly number[],
    operand: unknown,
    path: string,
  ): Condition {
    if (!Array.isArray(operand)) throw invalid(path, 'type', 'must be a list')
    if (operand.length > maxJsonItems)
      throw invalid(path, 'maxItems', `must have at most ${maxJsonItems} items`)
    this.#jsonItems += operand.length
    if (this.#isClient && this.#jsonItems > maxClientJsonItems)
      throw invalid(
        path,
        'maxItems',
        `has too many values: all lists for JSON may have at most ${maxClientJsonItems}`,
      )
    this.#rejectUndefinedIn(operand, (index) => `${path}.${index}`)
    this.key += '|['
    const parts = operand
      .map((item, index) => this.#readJsonTest(codec, slots, 'eq', item, `${path}.${index}`))
      .filter((part) => part !== undefined)
    this.key += ']'
    return { kind: 'any', parts }
  }

  #readItem(codec: ColumnCodec, value: unknown, path: string, operator: Operator): Condition {
    const { entry } = codec.column.field
    if (value === null || !isOfKind(value, entry))
      throw invalid(path, 'type', `must be ${entry.label}`)
    const stored = toStoredForm(codec, value)
    return this.#compare(codec, operator, JSON.stringify(toJson(stored, entry)))
  }

  #readEqual(codec: ColumnCodec, value: unknown, path: string, operator: Operator): Condition {
    if (value === null && operator === 'eq') return this.#nullTest(codec, true)
    if (value === null && operator === 'ne') return this.#nullTest(codec, false)
    const { compares } = codec.column
    if (compares === 'json' || !operatorOf(operator).fits.includes(compares)) {
      throw invalid(path, 'type', `cannot be compared: it is of kind "${codec.column.field.kind}"`)
    }
    return this.#compare(codec, operator, this.#encode(codec, value, path))
  }

  #readPattern(
    codec: ColumnCodec,
    value: unknown,
    path: string,
    operator: Operator,
    at?: JsonPath,
  ): Condition {
    const { operand, pattern } = operatorOf(operator)
    if (typeof value !== 'string' || /[\0\p{Surrogate}]/u.test(value))
      throw invalid(path, 'type', 'must be a string')
    if (value.length > maxPatternLength)
      throw invalid(path, 'maxLength', `must have at most ${maxPatternLength} characters`)
    if (operand === 'pattern' && /(?:^|[^\\])(?:\\\\)*\\$/.test(value))
      throw invalid(path, 'pattern', 'must not end in a single backslash')
    if (this.#isClient && ++this.#patterns > maxPatterns)
      throw invalid(path, 'maxItems', `is one pattern too many: at most ${maxPatterns} are allowed`)
    const stored = at === undefined ? toStoredForm(codec, value) : value
    const written = pattern === undefined ? stored : pattern(stored, this.#context.dialect)
    return this.#compare(codec, operator, written, at)
  }

  #readList(codec: ColumnCodec, operand: unknown, path: string): Condition {
    if (!Array.isArray(operand)) throw invalid(path, 'type', 'must be a list')
    if (operand.length > maxListLength)
      throw invalid(path, 'maxItems', `must have at most ${maxListLength} items`)
    this.#rejectUndefinedIn(operand, (index) => `${path}.${index}`)
    const orNull = operand.includes(null)
    const items = orNull ? operand.filter((item) => item !== null) : operand
    const encoded = items.map((item, index) => this.#encode(codec, item, `${path}.${index}`))
    const packed = this.#context.dialect.encodeList(codec.column, encoded)
    const values = packed === undefined ? pad(encoded) : [packed]
    if (this.values.length + values.length > maxValues)
      throw invalid(
        path,
        'maxItems',
        `has too many values: all lists may have at most ${maxValues}`,
      )
    const slots = values.map((value) => this.values.push(value) - 1)
    this.key += `${codec.index}in${packed === undefined ? slots.length : ''}${orNull ? '?' : ''};`
    return { kind: 'list', column: codec.column, slots, isPacked: packed !== undefined, orNull }
  }

  #encode(codec: ColumnCodec, value: unknown, path: string): unknown {
    if (value === null || !codec.accepts(value))
      throw invalid(path, 'type', `must be ${codec.column.field.entry.label}`)
    return codec.encode(toStoredForm(codec, value))
  }

  #compare(codec: ColumnCodec, operator: Operator, value: unknown, at?: JsonPath): Condition {
    const { isUuid } = codec.column
    const isText = isUuid && (operatorOf(operator).operand !== 'value' || !codec.canStore(value))
    this.key += `${codec.index}${operator}${isText ? 't' : ''}${pathKey(at)};`
    return {
      kind: 'compare',
      column: codec.column,
      operator,
      slot: this.values.push(value) - 1,
      path: at,
      ...(isText && { isText }),
    }
  }

  #nullTest(codec: ColumnCodec, isNull: boolean, at?: JsonPath): Condition {
    this.key += `${codec.index}${isNull ? 'null' : 'some'}${pathKey(at)};`
    return { kind: 'null', column: codec.column, isNull, path: at }
  }
}

interface Entry {
  readonly name: string
  readonly value: unknown
  readonly path: string
  readonly depth: number
}

function tooMany(path: string): Error {
  return invalid(path, 'maxItems', 'has too many conditions')
}

/** True for an empty object. False for maps, sets and promises, and for objects that inherit conditions. */
export function isEmptyMap(value: object): boolean {
  for (const _inherited in value) return false
  return Object.prototype.toString.call(value) === '[object Object]'
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

/**
 * Refuses paths of clients to values that responses leave out: hidden fields of nested classes, and values that the class
 * does not declare.
 *
 * @throws {HttpError} 400 `VALIDATION`
 */
function demandVisiblePath(column: ShapeField, names: readonly string[], path: string): void {
  let field = column
  let isItem = false
  for (const name of names) {
    // Everything inside a value of any JSON is visible.
    if (field.nested === undefined) return
    if (field.list && !isItem) {
      if (!/^-?\d+$/.test(name)) throw invalid(path, 'type', 'needs the position in a list')
      isItem = true
      continue
    }
    const { name: className, fields } = readShape(field.nested())
    const visibleFields = fields.filter(({ hidden }) => !hidden)
    const found = visibleFields.find((one) => one.name === name)
    if (found === undefined) {
      const names = visibleFields.map((one) => one.name)
      const text = `names "${clip(name)}", which is not a field of ${className}. ${didYouMean(clip(name), names)}`
      throw invalid(path, 'unknown', text.trim())
    }
    field = found
    isItem = false
  }
}

/** @returns `undefined` for lists and objects */
function typeOfJson(value: unknown): Exclude<JsonType, 'any'> | undefined {
  if (typeof value === 'number') return Number.isFinite(value) ? 'number' : undefined
  if (typeof value === 'boolean') return 'boolean'
  return typeof value === 'string' && !/[\0\p{Surrogate}]/u.test(value) ? 'text' : undefined
}

/** Part of the key of a statement: paths of the same length and type share a statement. */
function pathKey(at: JsonPath | undefined): string {
  return at === undefined ? '' : `@${at.type}${at.slots.join('+')}`
}

/** Texts of a field with `normalize` are stored in one form of Unicode, and the text of a filter may have another. */
function toStoredForm<T>({ column: { field } }: ColumnCodec, value: T): T | string {
  const form = field.declared?.normalize
  return form === undefined || typeof value !== 'string' ? value : normalizeText(value, form)
}
