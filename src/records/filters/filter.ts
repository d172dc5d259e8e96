/**
 * Reads a filter: resolves every name and checks every value, so that client input becomes a value of a placeholder or
 * an error 400. Returns a condition, and a key under which its statement is cached.
 */
import { readProgramQuery, invalid, isHidden, unknownName } from './query-errors.js'
import type { Table, Condition } from '../model/table.js'
import { isPlainObject } from '../../core/json.js'
import type { ColumnCodec, TableCodec } from '../model/codec.js'
import type { Dialect } from '../../engines/contract/dialect.js'
import { clip } from '../../core/text.js'
import { didYouMean } from '../../errors/did-you-mean.js'
import type { Shape, ShapeField } from '../../fields/shape.js'
import { readOperator, type Operator } from '../../sql/operators.js'
import { readComparison, readTest, type Operand } from './comparison.js'
import { objectClassOf } from './json-parts.js'
import { ColumnOperand, JsonOperand, type OperandFilter } from './operands.js'
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

/** Marks the comparisons of `status=open`, whose errors name the parameter without `.eq`. */
const shortComparisons = new WeakSet<object>()

/** Makes the comparison of a parameter that names no operator. */
export function shortComparison(operator: Operator, value: unknown): Record<string, unknown> {
  const comparison = { [operator]: value }
  shortComparisons.add(comparison)
  return comparison
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
/**
 * The maximum number of patterns in a client's filter. Patterns use no index: each is compared with every row, which
 * blocks the process on SQLite.
 */
const maxPatterns = 20
/** The maximum number of JSON values in all lists of a client's filter. Each is compared by itself. */
const maxClientJsonItems = 1000

export class FilterReader implements OperandFilter {
  /** The values of the slots, in order. */
  readonly values: unknown[]
  /** The same for filters that differ in values only. */
  key = ''
  readonly #context: FilterContext
  readonly isClient: boolean
  #count = 0
  #patterns = 0
  #jsonItems = 0
  /** The start of paths in the program's errors. Paths in clients' errors start with their own names. */
  #root = ''
  /** The number of enclosing `or` and `not`. Within them, `skip` would match more rows than intended. */
  #groupDepth = 0

  get dialect(): Dialect {
    return this.#context.dialect
  }

  constructor(context: FilterContext, isClient: boolean, values: unknown[] = []) {
    this.#context = context
    this.isClient = isClient
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
  #readOne(table: Table, entry: NamedCondition): Condition | undefined {
    const { name, value, path } = entry
    if (isGroup(name))
      return this.#readGroup(entry, (part, at) => this.#readAll(table, part, at, entry.depth + 1))
    const codec = this.#context.codecOf(table).byProperty.get(name)
    if (codec !== undefined && !(this.isClient && codec.column.field.hidden))
      return this.isSkipped(value, path) ? undefined : this.#readColumn(codec, value, entry)
    const search = searchOf(table, name)
    if (search !== undefined)
      return this.isSkipped(value, path) ? undefined : this.#readSearch(table, search, value, path)
    const relation = table.relations.get(name)
    if (relation === undefined || (this.isClient && isHidden(relation)))
      throw unknownName(table, name, path, this.isClient)
    if (this.isSkipped(value, path)) return undefined
    this.key += `>${name}`
    const part = this.#readAll(relation.target, value, path, entry.depth + 1)
    return { kind: 'related', relation, part }
  }

  #readGroup(
    { name, value, path }: NamedCondition,
    read: (part: unknown, path: string) => Condition,
  ): Condition {
    if (value === undefined || value === skip) throw this.#invalidValue(value, path)
    if (name !== 'not' && !Array.isArray(value)) throw invalid(path, 'type', 'must be a list')
    // Each item has at least one condition, or counts as one.
    if (Array.isArray(value) && value.length > maxConditions) throw tooMany(path)
    if (name !== 'and') this.#groupDepth++
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
  isSkipped(value: unknown, path: string): boolean {
    if (value !== undefined && value !== skip) return false
    if (value === undefined || this.#groupDepth > 0) throw this.#invalidValue(value, path)
    return true
  }

  checkItems(list: readonly unknown[], path: string): void {
    for (const value of [undefined, skip]) {
      if (list.includes(value))
        throw this.#invalidValue(value, `${path}.${list.findIndex((item) => item === value)}`)
    }
  }

  countPattern(path: string): void {
    if (this.isClient && ++this.#patterns > maxPatterns)
      throw invalid(path, 'maxItems', `is one pattern too many: at most ${maxPatterns} are allowed`)
  }

  countJsonItems(count: number, path: string): void {
    this.#jsonItems += count
    if (this.isClient && this.#jsonItems > maxClientJsonItems)
      throw invalid(
        path,
        'maxItems',
        `has too many values: all lists for JSON may have at most ${maxClientJsonItems}`,
      )
  }

  #invalidValue(value: unknown, path: string): Error {
    const at = path === '' ? 'where' : `${this.#root}${path}`
    return value === undefined ? undefinedAt(at) : skipAt(at)
  }

  #readSearch(table: Table, search: TableSearch, value: unknown, path: string): Condition {
    const terms = parseSearch(value, path)
    if (terms.length === 0) return { kind: 'all', parts: [] }
    if (this.isClient && ++this.#patterns > maxPatterns)
      throw invalid(path, 'maxItems', `is one search too many: at most ${maxPatterns} are allowed`)
    this.key += 'search;'
    const slot = this.values.push(this.#context.dialect.text.search.operand(terms)) - 1
    return { kind: 'search', table, search, slot }
  }

  #readColumn(codec: ColumnCodec, value: unknown, { path, depth }: ConditionPlace): Condition {
    if (!isPlainObject(value)) return readEqual(new ColumnOperand(codec, this), value, path)
    const { field, compares } = codec.column
    if (compares === 'json' && namesPath(field, value))
      return this.#readJsonPath({ codec, names: [] }, value, path)
    const shape = objectClassOf(field)
    if (shape !== undefined)
      return this.#readParts({ codec, names: [], shape }, value, { path, depth })
    const names = Object.keys(value)
    // A client may send an empty object. In a program it is a mistake, such as a promise that was not awaited.
    if (names.length === 0 && !this.isClient)
      throw invalid(path, 'required', 'needs a comparison, or skip for none')
    return this.#readComparisons(new ColumnOperand(codec, this), names, value, path)
  }

  /** `{ path: ['a', 'b'], gte: 1 }` */
  #readJsonPath(
    { codec, names: outer }: ValueWithin,
    value: Record<string, unknown>,
    path: string,
  ): Condition {
    if (value.path === undefined || value.path === skip)
      throw this.#invalidValue(value.path, `${path}.path`)
    if (Array.isArray(value.path)) this.checkItems(value.path, `${path}.path`)
    const inner: unknown = value.path
    const names =
      Array.isArray(inner) && inner.length > 0 ? [...outer, ...(inner as unknown[])] : inner
    const operators = Object.keys(value).filter((name) => name !== 'path')
    if (operators.length === 0)
      throw invalid(path, 'required', 'needs a comparison in addition to path')
    return this.#readWithin(codec, { names, path: `${path}.path` }, (operand) =>
      this.#readComparisons(operand, operators, value, path),
    )
  }

  /** Reads conditions on a value within JSON. */
  #readWithin(
    codec: ColumnCodec,
    { names, path }: { readonly names: unknown; readonly path: string },
    read: (operand: JsonOperand) => Condition,
  ): Condition {
    const first = this.values.length
    const condition = read(new JsonOperand(codec, this, names, path))
    // All comparisons are omitted, so the statement does not use the path.
    if (condition.kind === 'all' && condition.parts.length === 0) this.values.length = first
    return condition
  }

  /** `{ amount: { gte: '5.00' }, currency: 'EUR' }`: conditions on the parts of a nested class. */
  #readParts(object: ObjectWithin, value: unknown, { path, depth }: ConditionPlace): Condition {
    if (value === undefined || value === skip) throw this.#invalidValue(value, path)
    if (!isPlainObject(value)) throw invalid(path, 'type', 'must be an object')
    if (depth > maxDepth) throw invalid(path, 'depth', `is nested deeper than ${maxDepth} levels`)
    const names = Object.keys(value)
    if (names.length === 0 && !this.isClient)
      throw invalid(path, 'required', 'needs a comparison, or skip for none')
    const parts: Condition[] = []
    this.key += '('
    for (const name of names) {
      if (++this.#count > maxConditions) throw tooMany(path)
      const entry = { name, value: value[name], path: `${path}.${name}`, depth: depth + 1 }
      const part = this.#readPart(object, entry)
      if (part !== undefined) parts.push(part)
    }
    this.key += ')'
    return parts.length === 1 ? (parts[0] as Condition) : { kind: 'all', parts }
  }

  /** @returns `undefined` for no condition: the value is `skip` */
  #readPart(object: ObjectWithin, entry: NamedCondition): Condition | undefined {
    const { codec, names, shape } = object
    const { name, value, path, depth } = entry
    if (isGroup(name))
      return this.#readGroup(entry, (part, at) =>
        this.#readParts(object, part, { path: at, depth }),
      )
    const field = shape.byName.get(name)
    if (field === undefined || (this.isClient && field.hidden))
      return this.#readOwnTest(object, entry)
    if (this.isSkipped(value, path)) return undefined
    const inner = [...names, name]
    const within = { names: inner, path }
    if (!isPlainObject(value))
      return this.#readWithin(codec, within, (operand) => readEqual(operand, value, path))
    if (namesPath(field, value)) return this.#readJsonPath({ codec, names: inner }, value, path)
    const nested = objectClassOf(field)
    if (nested !== undefined)
      return this.#readParts({ codec, names: inner, shape: nested }, value, { path, depth })
    return this.#readWithin(codec, within, (operand) =>
      this.#readComparisons(operand, Object.keys(value), value, path),
    )
  }

  /** A condition on the object itself, such as `isNull`. */
  #readOwnTest(
    { codec, names, shape }: ObjectWithin,
    { name, value, path }: NamedCondition,
  ): Condition | undefined {
    if (readOperator(name) === undefined) {
      const known = shape.fields.filter(({ hidden }) => !(this.isClient && hidden))
      const suggestion = didYouMean(
        clip(name),
        known.map((field) => field.name),
      )
      throw invalid(path, 'unknown', `is not a field of ${shape.name}. ${suggestion}`.trim())
    }
    if (names.length === 0) return readComparison(new ColumnOperand(codec, this), name, value, path)
    return this.#readWithin(codec, { names, path }, (operand) =>
      this.#readComparisons(operand, [name], { [name]: value }, path),
    )
  }

  #readComparisons(
    operand: Operand<Condition>,
    names: readonly string[],
    value: Readonly<Record<string, unknown>>,
    path: string,
  ): Condition {
    const parts: Condition[] = []
    const isShort = shortComparisons.has(value)
    for (const name of names) {
      const part = readComparison(operand, name, value[name], isShort ? path : `${path}.${name}`)
      if (part !== undefined) parts.push(part)
    }
    return parts.length === 1 ? (parts[0] as Condition) : { kind: 'all', parts }
  }
}

/** Where a condition is. */
interface ConditionPlace {
  readonly path: string
  readonly depth: number
}

interface NamedCondition extends ConditionPlace {
  readonly name: string
  readonly value: unknown
}

/** A value within the JSON of a column, by the names that lead to it. */
interface ValueWithin {
  readonly codec: ColumnCodec
  readonly names: readonly string[]
}

/** An object of a nested class. */
interface ObjectWithin extends ValueWithin {
  readonly shape: Shape
}

function isGroup(name: string): boolean {
  return name === 'and' || name === 'or' || name === 'not'
}

/** Whether the value is `{ path: ['a', 'b'], … }`. A nested class may have a field `path` too. */
function namesPath(field: ShapeField, value: Readonly<Record<string, unknown>>): boolean {
  if (!('path' in value) || value.path === null) return false
  return Array.isArray(value.path) || objectClassOf(field)?.byName.has('path') !== true
}

/** `{ price: 5 }` is `{ price: { eq: 5 } }`. */
function readEqual(operand: ColumnOperand | JsonOperand, value: unknown, path: string): Condition {
  if (value !== null && operand.findMisfit('eq') !== undefined)
    throw invalid(path, 'type', `cannot be compared: it is of kind "${operand.kind}"`)
  return readTest(operand, 'eq', value, path)
}

function tooMany(path: string): Error {
  return invalid(path, 'maxItems', 'has too many conditions')
}

/** True for an empty object. False for maps, sets and promises, and for objects that inherit conditions. */
export function isEmptyMap(value: object): boolean {
  for (const _inherited in value) return false
  return Object.prototype.toString.call(value) === '[object Object]'
}
