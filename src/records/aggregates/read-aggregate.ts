/** Reads the options of an aggregate: looks names up, checks operands, and puts the values into slots. */
import { isPlainObject } from '../../core/json.js'
import { didYouMean } from '../../errors/did-you-mean.js'
import { clip } from '../../core/text.js'
import { isEmptyMap, type FilterContext } from '../filters/filter.js'
import { invalid, suggestedFields } from '../filters/query-errors.js'
import { readCount } from '../filters/list-options.js'
import { isOrdered, operatorOf, operatorsFor, type Operator } from '../../sql/operators.js'
import { readDirection, invalidTerm } from '../filters/order.js'
import { checkNamed, skip, skipAt, undefinedAt } from '../model/skip.js'
import { refuseUnknownOptions } from '../../errors/unknown-options.js'
import type { Column } from '../../engines/contract/table.js'
import { timeUnits } from '../../engines/contract/dialect.js'
import type { Table } from '../model/table.js'
import { aggregateFunctions, type AggregateFunction } from './aggregate-types.js'
import {
  countMeasure,
  functionMeasure,
  groupMeasure,
  nameOf,
  timeMeasure,
  type Measure,
} from './measure.js'
import { readZone } from './zone-offsets.js'

export interface HavingCondition {
  readonly measure: Measure
  readonly operator: Operator
  /** Set for `isNull`, and for `eq` and `ne` with null: whether the value must be null. For `in`: null is one of the values. */
  readonly isNull: boolean | undefined
  readonly slot: number
  /** The slots of `in`. */
  readonly slots?: readonly number[]
}

export interface AggregateTerm {
  readonly measure: Measure
  readonly descending: boolean
  readonly nullsFirst: boolean
}

/** The parsed aggregate; `key` is the same for aggregates that differ in values only. */
export interface Aggregate {
  readonly groups: readonly Measure[]
  readonly measures: readonly Measure[]
  readonly having: readonly HavingCondition[]
  readonly order: readonly AggregateTerm[]
  /** The slot of the limit. */
  readonly limit: number | undefined
  /** Every field that is read, each once. */
  readonly columns: readonly Column[]
  readonly key: string
  /**
   * Set if the order names an aggregate that is neither selected nor in `having`. It is thrown after errors about
   * rights.
   */
  readonly orderError: Error | undefined
}

const optionNames: ReadonlySet<string> = new Set([
  'where',
  'groupBy',
  'count',
  ...aggregateFunctions,
  'having',
  'orderBy',
  'limit',
  'view',
])
const timeOptions = ['field', 'by', 'zone']
/** The maximum number of groups, or of fields of one aggregate function. More get 400, so no more need to be read. */
export const maxNames = 50

/** The maximum number of values of `in`. */
const maxItems = 100
const maxPatternLength = 1000

/**
 * The operators of `having` for an aggregate. Minima and maxima of texts are compared as texts, other aggregates by
 * their order.
 *
 * @param column undefined for the count
 */
export function havingOperators(column: Column | undefined): readonly Operator[] {
  return operatorsFor(column?.compares === 'text' ? 'text' : 'order')
}

/**
 * @param values gets the operands and the limit
 * @throws {HttpError} 400 `VALIDATION`
 * @throws {TypeError} for an unknown option
 * @throws {DeclarationError} for `undefined` in its conditions
 */
export function readAggregate(
  table: Table,
  options: object,
  { context, ...reading }: AggregateReading & { readonly context: FilterContext },
): Aggregate {
  return new AggregateReader(table, context, reading).read(options as AggregateInput)
}

interface AggregateReading {
  readonly isClient: boolean
  readonly values: unknown[]
  /** Sums are larger than the database can add up natively. */
  readonly isLarge: boolean
}

type AggregateInput = Readonly<Record<string, unknown>>

class AggregateReader {
  readonly #table: Table
  readonly #context: FilterContext
  readonly #isClient: boolean
  readonly #values: unknown[]
  readonly #isLarge: boolean
  readonly #columns = new Set<Column>()
  #key = ''
  #orderError: Error | undefined

  constructor(table: Table, context: FilterContext, reading: AggregateReading) {
    this.#table = table
    this.#context = context
    this.#isClient = reading.isClient
    this.#values = reading.values
    this.#isLarge = reading.isLarge
  }

  read(options: AggregateInput): Aggregate {
    refuseUnknownOptions('aggregate', options, optionNames)
    const groups = this.#groups(options.groupBy)
    const operation = aggregateFunctions.flatMap((each) =>
      this.#names(each, options[each]).map((name, index) =>
        this.#function(each, name, `${each}.${index}`),
      ),
    )
    const measures = this.#counts(options.count, operation.length === 0)
      ? [countMeasure, ...operation]
      : operation
    this.#key += `g${keysOf(groups)}m${keysOf(measures)}h`
    const having = this.#having(options.having)
    const order = this.#order(options.orderBy, groups, [
      ...measures,
      ...having.map(({ measure }) => measure),
    ])
    const limit =
      options.limit === undefined
        ? undefined
        : this.#values.push(readCount('limit', options.limit)) - 1
    const key = `${this.#key}${limit === undefined ? '' : 'L'}`
    return {
      groups,
      measures,
      having,
      order,
      limit,
      columns: [...this.#columns],
      key,
      orderError: this.#orderError,
    }
  }

  #counts(input: unknown, isAlone: boolean): boolean {
    if (input === undefined) return isAlone
    if (typeof input !== 'boolean') throw invalid('count', 'type', 'must be true or false')
    return input || isAlone
  }

  #names(path: string, input: unknown): string[] {
    if (input === undefined) return []
    const list: readonly unknown[] = Array.isArray(input) ? input : [input]
    if (list.length > maxNames) throw invalid(path, 'maxItems', `has more than ${maxNames} fields`)
    checkNamed(path, list)
    const names = list.map((name) => {
      if (typeof name === 'string') return name
      throw invalid(path, 'type', 'must be a list of fields')
    })
    return [...new Set(names)]
  }

  #groups(input: unknown): Measure[] {
    const list: readonly unknown[] =
      input === undefined ? [] : Array.isArray(input) ? input : [input]
    if (list.length > maxNames)
      throw invalid('groupBy', 'maxItems', `has more than ${maxNames} fields`)
    checkNamed('groupBy', list)
    const groups = new Map<string, Measure>()
    for (const [index, one] of list.entries()) {
      const path = `groupBy.${index}`
      const group = isPlainObject(one)
        ? this.#timeGroup(one, path)
        : this.#group(this.#nameOf(one, 'groupBy'), path)
      const other = groups.get(group.name)
      if (other !== undefined && other.key !== group.key)
        throw invalid(path, 'twice', `groups by ${group.name} in two ways`)
      groups.set(group.name, group)
    }
    return [...groups.values()]
  }

  #timeGroup(input: AggregateInput, path: string): Measure {
    const unknown = Object.keys(input).find((name) => !timeOptions.includes(name))
    if (unknown !== undefined) {
      const suggestion = didYouMean(clip(unknown), timeOptions)
      throw invalid(`${path}.${unknown}`, 'unknown', `is unknown. ${suggestion}`.trim())
    }
    const column = this.#column(this.#nameOf(input.field, `${path}.field`), `${path}.field`)
    const isDate = column.storage === 'date'
    if (!hasTime(column))
      throw invalid(
        `${path}.field`,
        'type',
        `must be a datetime or a date: ${column.property} is of kind "${column.field.kind}"`,
      )
    const unit = timeUnits.find((one) => one === input.by)
    if (unit === undefined)
      throw invalid(`${path}.by`, 'oneOf', `must be one of ${timeUnits.join(', ')}`)
    if (isDate && unit === 'hour')
      throw invalid(`${path}.by`, 'type', 'is hour, but a date has no hours')
    const { zone: zoneName = 'UTC' } = input
    const zone = typeof zoneName === 'string' ? readZone(zoneName) : undefined
    if (zone === undefined)
      throw invalid(`${path}.zone`, 'zone', 'must be a time zone such as Europe/Berlin')
    return timeMeasure(this.#table, column, { unit, zone: isDate ? 'UTC' : zone }, this.#context)
  }

  #nameOf(input: unknown, path: string): string {
    if (typeof input === 'string') return input
    throw invalid(path, 'type', 'must be a field')
  }

  #group(name: string, path: string): Measure {
    const column = this.#column(name, path)
    const { compares, field } = column
    if (compares === 'json' || compares === 'list')
      throw invalid(
        path,
        'type',
        `cannot make groups: ${name} is of kind "${field.list ? 'list' : field.kind}"`,
      )
    return groupMeasure(this.#table, column, this.#context)
  }

  #function(operation: AggregateFunction, name: string, path: string): Measure {
    const column = this.#column(name, path)
    if (!hasAggregate(column, operation))
      throw invalid(path, 'type', `has no ${operation}: ${name} is of kind "${column.field.kind}"`)
    return functionMeasure(operation, this.#table, column, this.#context, this.#isLarge)
  }

  #column(name: string, path: string): Column {
    const column = this.#table.byProperty.get(name)
    if (column === undefined || (this.#isClient && column.field.hidden)) {
      const suggestion = didYouMean(clip(name), suggestedFields(this.#table, this.#isClient))
      throw invalid(path, 'unknown', `is not a field. ${suggestion}`.trim())
    }
    this.#columns.add(column)
    return column
  }

  /** `count`, `sumPrice` */
  #measure(name: string, path: string): Measure {
    if (name === 'count') return countMeasure
    const columns = this.#table.columns.filter(({ field }) => !(this.#isClient && field.hidden))
    for (const operation of aggregateFunctions) {
      for (const column of columns) {
        if (nameOf(operation, column) === name)
          return this.#function(operation, column.property, path)
      }
    }
    const suggested = new Set(suggestedFields(this.#table, this.#isClient))
    const measureNames = aggregateFunctions.flatMap((operation) =>
      columns
        .filter(({ property }) => suggested.has(property))
        .map((column) => nameOf(operation, column)),
    )
    throw invalid(
      path,
      'unknown',
      `is unknown. ${didYouMean(clip(name), ['count', ...measureNames])}`.trim(),
    )
  }

  #having(input: unknown): HavingCondition[] {
    if (input === undefined) return []
    if (input === skip) throw skipAt('having')
    if (!isPlainObject(input) || (Object.keys(input).length === 0 && !isEmptyMap(input)))
      throw invalid('having', 'type', 'must be an object with conditions of its own')
    return Object.keys(input).flatMap((name) => {
      const test = input[name]
      const path = `having.${name}`
      const measure = this.#measure(name, path)
      if (!isPlainObject(test)) return this.#test(measure, 'eq', test, path)
      return Object.keys(test).flatMap((operator) =>
        this.#test(measure, operator, test[operator], `${path}.${operator}`),
      )
    })
  }

  /** @returns nothing for `skip` */
  #test(measure: Measure, named: string, operand: unknown, path: string): HavingCondition[] {
    if (operand === undefined) throw undefinedAt(path)
    const operators = havingOperators(measure.column)
    const operator = operators.find((one) => one === named)
    if (operator === undefined) {
      const suggestion = didYouMean(clip(named), operators)
      throw invalid(path, 'unknown', `is not a comparison of this aggregate. ${suggestion}`.trim())
    }
    if (operand === skip) return []
    const { operand: kind, means = [] } = operatorOf(operator)
    if (kind === 'list') return [this.#testList(measure, operand, path)]
    if (kind === 'pattern' || kind === 'part')
      return [this.#testPattern(measure, operator, operand, path)]
    if (kind !== 'values') return [this.#testValue(measure, operator, operand, path)]
    if (!Array.isArray(operand) || operand.length !== means.length)
      throw invalid(path, 'type', `must be a list of ${means.length} values`)
    return means.map((one, index) =>
      this.#testValue(
        measure,
        one,
        refuseUndefined(operand[index], path, index),
        `${path}.${index}`,
      ),
    )
  }

  #testValue(
    measure: Measure,
    operator: Operator,
    operand: unknown,
    path: string,
  ): HavingCondition {
    const isNull = readNullTest(operator, operand, path)
    this.#key += `${measure.key}${operator}${isNull === undefined ? '' : String(isNull)};`
    if (isNull !== undefined) return { measure, operator, isNull, slot: -1 }
    const slot = this.#values.push(measure.encode(operand, path)) - 1
    return { measure, operator, isNull, slot }
  }

  #testList(measure: Measure, operand: unknown, path: string): HavingCondition {
    if (!Array.isArray(operand)) throw invalid(path, 'type', 'must be a list')
    if (operand.length > maxItems)
      throw invalid(path, 'maxItems', `must have at most ${maxItems} items`)
    const items: readonly unknown[] = operand.map((item, index) =>
      refuseUndefined(item, path, index),
    )
    const isNull = items.includes(null)
    const slots = items.flatMap((item, index) =>
      item === null ? [] : [this.#values.push(measure.encode(item, `${path}.${index}`)) - 1],
    )
    this.#key += `${measure.key}in${slots.length}${isNull ? '?' : ''};`
    return { measure, operator: 'in', isNull, slot: -1, slots }
  }

  #testPattern(
    measure: Measure,
    operator: Operator,
    operand: unknown,
    path: string,
  ): HavingCondition {
    const { operand: kind, pattern } = operatorOf(operator)
    if (typeof operand !== 'string' || /[\0\p{Surrogate}]/u.test(operand))
      throw invalid(path, 'type', 'must be a string')
    if (operand.length > maxPatternLength)
      throw invalid(path, 'maxLength', `must have at most ${maxPatternLength} characters`)
    if (kind === 'pattern' && /(?:^|[^\\])(?:\\\\)*\\$/.test(operand))
      throw invalid(path, 'pattern', 'must not end in a single backslash')
    const written = pattern === undefined ? operand : pattern(operand, this.#context.dialect)
    this.#key += `${measure.key}${operator};`
    return { measure, operator, isNull: undefined, slot: this.#values.push(written) - 1 }
  }

  #order(
    input: unknown,
    groups: readonly Measure[],
    measures: readonly Measure[],
  ): AggregateTerm[] {
    const terms: AggregateTerm[] = []
    const lists: readonly unknown[] =
      input === undefined ? [] : Array.isArray(input) ? input : [input]
    this.#key += 'o'
    for (const list of lists) {
      if (list === undefined || list === skip) throw invalidTerm(list, lists.indexOf(list))
      if (!isPlainObject(list)) throw invalid('orderBy', 'type', 'must be an object')
      for (const name of Object.keys(list)) {
        const path = `orderBy.${name}`
        const available = [...groups, ...measures]
        const measure =
          available.find((candidate) => candidate.name === name) ?? this.#measure(name, path)
        if (!available.some(({ key }) => key === measure.key)) {
          const names = available.map((candidate) => candidate.name).join(', ')
          this.#orderError ??= invalid(
            path,
            'unknown',
            `is neither selected nor in having. Order by one of ${names}`,
          )
        }
        const direction = readDirection(list[name], path)
        if (direction === undefined) continue
        const term = { measure, ...direction }
        if (terms.length >= maxNames) throw invalid('orderBy', 'maxItems', 'has too many fields')
        if (!terms.some((other) => other.measure.key === measure.key)) terms.push(term)
      }
    }
    for (const measure of groups) {
      if (terms.some((term) => term.measure.key === measure.key)) continue
      terms.push({ measure, descending: false, nullsFirst: false })
    }
    for (const { measure, descending, nullsFirst } of terms)
      this.#key += `${measure.key}${descending ? '-' : '+'}${nullsFirst ? '!' : ''}`
    return terms
  }
}

function refuseUndefined(item: unknown, path: string, index: number): unknown {
  if (item === undefined) throw undefinedAt(`${path}.${index}`)
  return item
}

/** @returns `undefined` for comparisons with a value */
function readNullTest(operator: Operator, operand: unknown, path: string): boolean | undefined {
  if (operator === 'isNull') {
    if (typeof operand === 'boolean') return operand
    throw invalid(path, 'type', 'must be true or false')
  }
  if (operand !== null) return undefined
  if (operator === 'eq' || operator === 'ne') return operator === 'eq'
  throw invalid(path, 'type', 'must not be null')
}

/** True for columns that can be grouped by their time. */
export function hasTime({ storage }: Column): boolean {
  return storage === 'date' || storage === 'timestamp'
}

/** True if a function has a value for a column. */
export function hasAggregate(column: Column, operation: AggregateFunction): boolean {
  if (operation === 'sum' || operation === 'avg') return isNumber(column)
  return isOrdered(column) && !column.isBoolean
}

/** True for columns that can be summed. */
function isNumber({ storage, isBoolean, compares }: Column): boolean {
  return !isBoolean && compares === 'order' && numbers.has(storage)
}

const numbers: ReadonlySet<string> = new Set(['integer', 'wide', 'real', 'decimal'])

function keysOf(measures: readonly Measure[]): string {
  return measures.map(({ key }) => key).join(',')
}
