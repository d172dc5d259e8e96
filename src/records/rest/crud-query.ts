/**
 * Reads a query as filter, order, page and selected fields:
 * `?price.gte=5&name.like=La%&category.name=Light&orderBy=-price,name&limit=20&with=tags&fields=id,name`. Source:
 * decisions, Records: REST.
 */
import { didYouMean } from '../../errors/did-you-mean.js'
import { clip } from '../../core/text.js'
import type { TextValues } from '../../http/query-string.js'
import {
  isHidden,
  unknownName,
  invalid,
  suggestedFields,
  suggestedRelations,
} from '../filters/query-errors.js'
import { andParameters, shortComparison } from '../filters/filter.js'
import { readCounts, type RelationCount } from '../filters/list-options.js'
import { operatorOf, readOperator, type Operator } from '../../sql/operators.js'
import {
  ColumnValues,
  jsonValues,
  readOperandText,
  readSingle,
  type OperandValues,
} from './operand-values.js'
import { findPart, objectClassOf } from '../filters/json-parts.js'
import { nest } from '../filters/nested-names.js'
import { readOrderText, type FieldOrder } from '../filters/order.js'
import { searchOf } from '../filters/search.js'
import type { Column } from '../../engines/contract/table.js'
import { defaultLimit, isInput, largestLimit } from '../clients/operation-inputs.js'
import type { Table, Relation } from '../model/table.js'
import type { HttpError } from '../../errors/http-error.js'
import { readRelationTree } from '../policy/client-view.js'
import type { RelationTree } from '../filters/list-options.js'
import { isMap, parseJson, tryParseJson } from '../../core/json.js'

/** The options of the record's list that a query names, except `limit`. */
export interface QueryOptions {
  readonly where: Record<string, unknown>
  readonly orderBy: FieldOrder[]
  readonly offset: number
  /** The list starts after the row of this cursor. */
  readonly after: string | undefined
  /** Rows with equal values in these fields appear once. */
  readonly distinct: readonly string[] | undefined
}

export interface CrudQuery {
  readonly options: QueryOptions
  readonly limit: number
  /** How rows are counted. Undefined: exactly up to a limit, estimated beyond it. */
  readonly count: 'exact' | 'estimate' | 'none' | undefined
  readonly shape: RowShape | undefined
  /** Relations whose related rows are counted for each row. */
  readonly counts: readonly RelationCount[]
}

/** @throws {HttpError} 400 `VALIDATION`, with the parameter's name as path */
export function readCrudQuery(table: Table, query: TextValues): CrudQuery {
  return {
    options: {
      where: readWhere(table, query, (name) => isInput(table, 'list', name)),
      orderBy: readOrderBy(query.orderBy),
      offset: readCount('offset', query.offset, 0, Number.MAX_SAFE_INTEGER),
      after: isInput(table, 'list', 'after') ? readOnce('after', query.after) : undefined,
      distinct: isInput(table, 'list', 'distinct')
        ? readNames('distinct', query.distinct)
        : undefined,
    },
    limit: readCount('limit', query.limit, defaultLimit, largestLimit),
    count: isInput(table, 'list', 'count') ? readCounting(query.count) : undefined,
    shape: readRowShape(table, query),
    counts: readCrudCounts(table, query),
  }
}

/** `counts=reviews,tags` */
export function readCrudCounts(table: Table, query: TextValues): readonly RelationCount[] {
  const names = isInput(table, 'find', 'counts') ? readNames('counts', query.counts) : undefined
  return names === undefined ? [] : readCounts(table, names, true)
}

/** @param isOther returns true for parameters that are not conditions */
export function readWhere(
  table: Table,
  query: TextValues,
  isOther: (name: string) => boolean,
): Record<string, unknown> {
  const conditions: Record<string, unknown>[] = []
  for (const name of Object.keys(query)) {
    if (isOther(name)) continue
    const condition = readCondition(table, name, query)
    if (condition !== undefined) conditions.push(condition)
  }
  return andParameters(conditions)
}

export function readOnce(name: string, text: string | string[] | undefined): string | undefined {
  return text === undefined ? undefined : readSingle(name, text)
}

function readCounting(text: string | string[] | undefined): CrudQuery['count'] {
  if (text === undefined || text === 'exact' || text === 'estimate' || text === 'none') return text
  throw invalid('count', 'oneOf', 'must be one of exact, estimate, none')
}

export function readCount(
  name: string,
  text: string | string[] | undefined,
  otherwise: number,
  max: number,
): number {
  if (text === undefined) return otherwise
  const value = typeof text === 'string' && /^\d{1,16}$/.test(text) ? Number(text) : NaN
  if (value <= max) return value
  throw invalid(name, 'type', `must be an integer from 0 to ${max}`)
}

/** `-price,name,org.name` */
export function readOrderBy(text: string | string[] | undefined): FieldOrder[] {
  const terms = readNames('orderBy', text) ?? []
  return terms.map(readOrderText)
}

function readCondition(
  table: Table,
  name: string,
  query: TextValues,
): Record<string, unknown> | undefined {
  const text = query[name] ?? ''
  const names = name.split('.')
  let current = table
  for (const [index, part] of names.entries()) {
    const relation = current.relations.get(part)
    if (relation !== undefined && !isHidden(relation)) {
      current = relation.target
      continue
    }
    if (searchOf(current, part) !== undefined && index === names.length - 1)
      return nest(names, readSingle(name, text))
    const column = current.byProperty.get(part)
    if (column === undefined || column.field.hidden) throw unknownName(current, part, name, true)
    const rest = names.slice(index + 1)
    const path = names.slice(0, index + 1)
    if (column.compares !== 'json') return nest(path, readTest(column, name, rest, query))
    const test = readJsonTest({ name, column, field: path.join('.'), rest, text }, query)
    return test && nest(path, test)
  }
  throw invalid(name, 'unknown', 'is a relation: add one of its fields')
}

/** @returns a value without a comparison, or a comparison, which the filter refuses if it does not exist or does not fit */
function readTest(
  column: Column,
  name: string,
  rest: readonly string[],
  query: TextValues,
): unknown {
  const text = query[name] ?? ''
  const isShort = rest.length === 0
  const operatorName = isShort ? (Array.isArray(text) ? 'in' : 'eq') : rest.join('.')
  const operator = readOperator(operatorName)
  if (operator === undefined || !operatorOf(operator).fits.includes(column.compares))
    return isShort ? text : { [operatorName]: text }
  const operand = readOperandText(new ColumnValues(column), operator, name, query)
  return isShort ? shortComparison(operator, operand) : { [operatorName]: operand }
}

/** The items of a list in a query: `1,5`, or the parameter given several times. */
export function itemsOf(text: string | string[]): readonly string[] {
  return Array.isArray(text) ? text : text.split(',')
}

/**
 * Reads a list of names: `fields=id,name`, or the parameter more than once.
 *
 * @returns `undefined` if the parameter was not sent
 * @throws {HttpError} 400 for a list without names, and for empty names
 */
export function readNames(
  name: string,
  text: string | string[] | undefined,
): readonly string[] | undefined {
  if (text === undefined) return undefined
  const names = (Array.isArray(text) ? text : [text]).flatMap((one) => one.split(','))
  if (names.some((one) => one === '' || one === '-'))
    throw invalid(name, 'required', 'must be names, separated by commas')
  return names
}

/** The selected fields of a row. */
export interface SelectedFields {
  /** Properties to leave out. */
  readonly omitted: readonly string[]
  /** The selected fields of related rows, by relation. Other relations include all fields. */
  readonly related: ReadonlyMap<string, SelectedFields>
}

interface RowShape extends SelectedFields {
  readonly relations: RelationTree
}

/**
 * Reads which parts of rows a client selects. `?with=products.tags,category` adds related records. `?fields=id,name`
 * leaves out all other fields of the row. `?fields=id,category.name` also adds a related record with only the named
 * fields.
 *
 * @throws {HttpError} 400 `VALIDATION`
 */
export function readRowShape(table: Table, query: TextValues): RowShape | undefined {
  const paths = (isInput(table, 'find', 'with') && readNames('with', query.with)) || []
  const fields = (isInput(table, 'find', 'fields') && readNames('fields', query.fields)) || []
  if (paths.length === 0 && fields.length === 0) return undefined
  const selection = readFields(table, fields.length === 0 ? undefined : fields)
  const named = fields.filter((name) => name.includes('.')).map(relationOf)
  const relationPaths = named.length === 0 ? paths : [...new Set([...paths, ...named])]
  return { ...selection, relations: readRelationTree(table, relationPaths) }
}

/** `category.parent.name` → `category.parent` */
function relationOf(path: string): string {
  return path.slice(0, path.lastIndexOf('.'))
}

/** @param names paths relative to this record; undefined: all of its fields */
function readFields(table: Table, names: readonly string[] | undefined): SelectedFields {
  if (names === undefined) return { omitted: [], related: new Map() }
  const ownFields = new Set<string>()
  const below = new Map<Relation, string[]>()
  for (const name of names) {
    const [first = '', ...rest] = name.split('.')
    if (rest.length === 0) {
      const column = table.byProperty.get(first)
      if (column === undefined || column.field.hidden) throw unknownField(table, first, false)
      ownFields.add(first)
      continue
    }
    const relation = table.relations.get(first)
    if (relation === undefined || isHidden(relation)) throw unknownField(table, first, true)
    below.set(relation, [...(below.get(relation) ?? []), rest.join('.')])
  }
  const related = [...below].map(([{ name, target }, nested]): [string, SelectedFields] => [
    name,
    readFields(target, nested),
  ])
  const omitted = table.columns
    .map(({ property }) => property)
    .filter((name) => !ownFields.has(name))
  return { omitted, related: new Map(related) }
}

function unknownField(table: Table, name: string, isRelation: boolean): HttpError {
  const candidates = isRelation ? suggestedRelations(table, true) : suggestedFields(table, true)
  const kind = isRelation ? 'a relation' : 'a field'
  const text = `names "${clip(name)}", which is not ${kind}. ${didYouMean(clip(name), candidates)}`
  return invalid('fields', 'unknown', text.trim())
}

/** A parameter that names a JSON column. */
interface JsonParameter {
  /** `meta.path.a.gte` */
  readonly name: string
  readonly column: Column
  /** `meta` */
  readonly field: string
  /** The names after the field. */
  readonly rest: readonly string[]
  readonly text: string | string[]
}

type Test = Record<string, unknown>

/**
 * Reads a query's conditions on a JSON column, in any of these spellings: `meta.path=a,b&meta.gte=1`, `meta.path.a.b.gte=1`,
 * `meta={"path":["a","b"],"gte":1}` for names that contain dots or commas, and `price.amount.gte=1` for a nested class.
 *
 * @returns `undefined` for a path whose comparison is in other parameters
 */
function readJsonTest(parameter: JsonParameter, query: TextValues): Test | undefined {
  const { name, column, field, rest, text } = parameter
  const [first, ...more] = rest
  if (first === undefined) return readJsonValue(name, text)
  const shape = objectClassOf(column.field)
  const isPart = first !== 'path' && readOperator(first) === undefined
  if (shape !== undefined && (isPart || shape.byName.has(first)))
    return readPartTest(parameter, query)
  if (first !== 'path') return readWithPath(parameter, query)
  if (more.length === 0) {
    const isUsed = Object.keys(query).some(
      (other) => other.startsWith(`${field}.`) && !other.startsWith(`${field}.path`),
    )
    return isUsed ? undefined : { path: itemsOf(text) }
  }
  const { path, operator } = splitOperator(more)
  return { path, [operator]: readOperandText(valuesAt(parameter, path), operator, name, query) }
}

/** `a.b.gte` is the comparison `gte` of `a.b`, and `a.b` is `eq`. */
function splitOperator(names: readonly string[]): { path: readonly string[]; operator: Operator } {
  const last = names.length > 1 ? readOperator(names.at(-1) ?? '') : undefined
  return { path: last === undefined ? names : names.slice(0, -1), operator: last ?? 'eq' }
}

/** The values at a path: of the kind of a nested class's part, or of any JSON. */
function valuesAt({ field, column }: JsonParameter, names: readonly string[]): OperandValues {
  const part = findPart(column.field, names, { isClient: true, path: `${field}.path` })
  return part === undefined ? jsonValues : new ColumnValues(part)
}

/** `price.amount.gte=1`. The filter refuses parts that do not exist. */
function readPartTest({ name, column, rest, text }: JsonParameter, query: TextValues): Test {
  for (let length = rest.length; length > 0; length--) {
    const path = rest.slice(0, length)
    const part = findPart(column.field, path, { isClient: false, path: name })
    if (part !== undefined) return nest(path, readTest(part, name, rest.slice(length), query))
  }
  return nest(rest, text)
}

function readJsonValue(name: string, text: string | string[]): Test {
  const value = tryParseJson(String(text), parseJson)
  if (isMap(value)) return value
  throw invalid(name, 'type', 'must be JSON such as {"path":["a","b"],"eq":1}')
}

function readWithPath(parameter: JsonParameter, query: TextValues): Test {
  const { name, field, rest, text } = parameter
  const operatorName = rest.join('.')
  const operator = readOperator(operatorName)
  const path = query[`${field}.path`]
  const names = path === undefined ? undefined : itemsOf(path)
  const values = names === undefined ? jsonValues : valuesAt(parameter, names)
  // The filter refuses a comparison that does not exist.
  const operand = operator === undefined ? text : readOperandText(values, operator, name, query)
  if (names !== undefined) return { path: names, [operatorName]: operand }
  if (operator === undefined || operator === 'isNull') return { [operatorName]: operand }
  throw invalid(name, 'required', `needs ${field}.path in addition`)
}
