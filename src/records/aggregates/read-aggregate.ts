/** Reads the options of an aggregate: looks names up, checks operands, and puts the values into slots. */
import { isPlainObject } from '../../core/json.js'
import { didYouMean } from '../../errors/did-you-mean.js'
import { clip } from '../../core/text.js'
import { isEmptyMap, type FilterContext } from '../filters/filter.js'
import { invalid, suggestedFields } from '../filters/query-errors.js'
import { readComparison, type Operand } from '../filters/comparison.js'
import { readCount, type Slots } from '../filters/list-options.js'
import { isOrdered, operatorsFor, type Operator } from '../../sql/operators.js'
import { readDirection, invalidTerm } from '../filters/order.js'
import { checkNamed, skip, skipAt, undefinedAt } from '../model/skip.js'
import type { Column } from '../../engines/contract/table.js'
import { timeUnits, type Dialect } from '../../engines/contract/dialect.js'
import type { Table } from '../model/table.js'
import { aggregateFunctions, aggregateOptions, type AggregateFunction } from './aggregate-types.js'
import {
  countMeasure,
  functionMeasure,
  groupMeasure,
  nameOf,
  timeMeasure,
  type Measure,
} from './measure.js'
import { readGroupPath } from './group-path.js'
import { isDerived } from '../../sql/derived.js'
import { readZone } from './zone-offsets.js'

export interface AggregateTest {
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
  readonly having: readonly AggregateTest[]
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

const timeOptions = ['field', 'by', 'zone']
/** The maximum number of groups, or of fields of one aggregate function. More get 400, so no more need to be read. */
export const maxNames = 50

/** The maximum number of values of `in`. */
const maxItems = 100

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

class AggregateReader implements Slots {
  readonly #table: Table
  readonly #context: FilterContext
  readonly #isClient: boolean
  readonly values: unknown[]
  readonly #isLarge: boolean
  readonly #columns = new Set<Column>()
  key = ''
  #orderError: Error | undefined

  constructor(table: Table, context: FilterContext, reading: AggregateReading) {
    this.#table = table
    this.#context = context
    this.#isClient = reading.isClient
    this.values = reading.values
    this.#isLarge = reading.isLarge
  }

  read(options: AggregateInput): Aggregate {
    aggregateOptions.check('aggregate', options)
    const groups = this.#groups(options.groupBy)
    const operation = aggregateFunctions.flatMap((each) =>
      this.#names(each, options[each]).map((name, index) =>
        this.#function(each, name, `${each}.${index}`),
      ),
    )
    const isCounted = this.#counts(options.count, operation.length === 0)
    const measures = isCounted ? [countMeasure, ...operation] : operation
    if (measures.length + groups.length === 0)
      throw invalid('count', 'required', 'must not be false without groupBy and without a value')
    this.key += `g${keysOf(groups)}m${keysOf(measures)}h`
    const having = this.#having(options.having)
    const order = this.#order(options.orderBy, groups, [
      ...measures,
      ...having.map(({ measure }) => measure),
    ])
    const limit =
      options.limit === undefined
        ? undefined
        : this.values.push(readCount('limit', options.limit)) - 1
    const key = `${this.key}${limit === undefined ? '' : 'L'}`
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
    return input
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
    const field = this.#nameOf(input.field, `${path}.field`)
    const column = this.#groupColumn(field, `${path}.field`)
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
    const column = this.#groupColumn(name, path)
    const { compares, field } = column
    if (compares === 'json' || compares === 'list')
      throw invalid(
        path,
        'type',
        `cannot make groups: ${name} is of kind "${field.list ? 'list' : field.kind}"`,
      )
    return groupMeasure(this.#table, column, this.#context)
  }

  /** A field of the record, or of a record that its rows belong to. */
  #groupColumn(name: string, path: string): Column {
    const column = readGroupPath(this.#table, name, path, this.#isClient)
    // The client's rights to other records are checked with the rows that it may see.
    if (!isDerived(column)) this.#columns.add(column)
    return column
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

  #having(input: unknown): AggregateTest[] {
    if (input === undefined) return []
    if (input === skip) throw skipAt('having')
    if (!isPlainObject(input) || (Object.keys(input).length === 0 && !isEmptyMap(input)))
      throw invalid('having', 'type', 'must be an object with conditions of its own')
    return Object.keys(input).flatMap((name) => {
      const test = input[name]
      const path = `having.${name}`
      const operand = new MeasureOperand(this.#measure(name, path), this, this.#context.dialect)
      const tests = isPlainObject(test) ? test : { eq: test }
      return Object.keys(tests).flatMap((operator) => {
        const at = tests === test ? `${path}.${operator}` : path
        return readComparison(operand, operator, tests[operator], at) ?? []
      })
    })
  }

  #order(
    input: unknown,
    groups: readonly Measure[],
    measures: readonly Measure[],
  ): AggregateTerm[] {
    const terms: AggregateTerm[] = []
    const lists: readonly unknown[] =
      input === undefined ? [] : Array.isArray(input) ? input : [input]
    this.key += 'o'
    for (const list of lists) {
      if (list === undefined || list === skip) throw invalidTerm(list, lists.indexOf(list))
      if (!isPlainObject(list)) throw invalid('orderBy', 'type', 'must be an object')
      for (const [name, value] of flatTerms(list, this.#table)) {
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
        const direction = readDirection(value, path)
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
      this.key += `${measure.key}${descending ? '-' : '+'}${nullsFirst ? '!' : ''}`
    return terms
  }
}

/** The terms of an order by dotted names: `{ sample: { project: { name: 'asc' } } }` is `sample.project.name`. */
function flatTerms(terms: AggregateInput, table: Table): [name: string, direction: unknown][] {
  return Object.entries(terms).flatMap(([name, term]): [string, unknown][] => {
    const target = table.relations.get(name)?.target
    if (target === undefined || !isPlainObject(term)) return [[name, term]]
    return flatTerms(term, target).map(([inner, direction]) => [`${name}.${inner}`, direction])
  })
}

/** A measure of a group, which `having` compares. */
class MeasureOperand implements Operand<readonly AggregateTest[]> {
  readonly maxItems = maxItems
  readonly dialect: Dialect
  readonly #measure: Measure
  readonly #slots: Slots

  constructor(measure: Measure, slots: Slots, dialect: Dialect) {
    this.#measure = measure
    this.#slots = slots
    this.dialect = dialect
  }

  findMisfit(operator: Operator): string | undefined {
    if (havingOperators(this.#measure.column).includes(operator)) return undefined
    return 'is not a comparison of this aggregate'
  }

  isSkipped(value: unknown, path: string): boolean {
    if (value === undefined) throw undefinedAt(path)
    return value === skip
  }

  checkItems(list: readonly unknown[], path: string): void {
    for (const value of [undefined, skip]) {
      const at = `${path}.${list.findIndex((item) => item === value)}`
      if (list.includes(value)) throw value === undefined ? undefinedAt(at) : skipAt(at)
    }
  }

  encode(value: unknown, path: string): unknown {
    return this.#measure.encode(value, path)
  }

  encodeText(text: string): string {
    return text
  }

  compare(operator: Operator, encoded: unknown): AggregateTest[] {
    return this.#test(operator, { slot: this.#slots.values.push(encoded) - 1 })
  }

  testNull(isNull: boolean): AggregateTest[] {
    return this.#test('isNull', { isNull })
  }

  testList(encoded: readonly unknown[], orNull: boolean): AggregateTest[] {
    const slots = encoded.map((value) => this.#slots.values.push(value) - 1)
    return this.#test('in', { isNull: orNull, slots })
  }

  every(tests: readonly (readonly AggregateTest[])[]): AggregateTest[] {
    return tests.flat()
  }

  #test(operator: Operator, test: Partial<AggregateTest>): AggregateTest[] {
    const { slots, isNull } = test
    this.#slots.key += `${this.#measure.key}${operator}${slots?.length ?? ''}${isNull ?? ''};`
    return [{ isNull: undefined, slot: -1, ...test, measure: this.#measure, operator }]
  }
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
