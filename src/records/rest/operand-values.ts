/**
 * The values that columns, JSON and aggregates are compared with: how they are read from the texts of a query, and their
 * schema in documents.
 */
import type { Column } from '../../engines/contract/table.js'
import { listItems, type TextValues } from '../../http/query-string.js'
import type { DeclaredOperator } from '../../openapi/requests.js'
import type { JsonSchema } from '../../fields/kinds/kind.js'
import { isMap, parseJson, tryParseJson } from '../../core/json.js'
import { operatorOf, type OperandKind, type Operator } from '../../sql/operators.js'
import { aggregateFunctions, type AggregateFunction } from '../aggregates/aggregate-types.js'
import { nameOf } from '../aggregates/measure.js'
import { invalid } from '../filters/query-errors.js'
import type { Table } from '../model/table.js'

type ParameterSchema = JsonSchema

export interface OperandValues {
  readonly schema: ParameterSchema
  /** Whether a value may contain commas, which also separate the values of a list. */
  readonly hasCommas: boolean
  /**
   * @param name the parameter, for errors
   * @throws {HttpError} 400 `VALIDATION`
   */
  fromText(text: string, name: string): unknown
}

/** Reads a parameter as the operand of a comparison. @throws {HttpError} 400 `VALIDATION` */
export function readOperandText(
  values: OperandValues,
  operator: Operator,
  name: string,
  query: TextValues,
): unknown {
  const text = query[name] ?? ''
  const { operand, means } = operatorOf(operator)
  switch (operand) {
    case 'list':
    case 'values': {
      const items = values.hasCommas ? listItems(query, name) : [text].flat().join().split(',')
      if (means !== undefined && items.length !== means.length) throw wrongCount(name, means.length)
      return items.map((item) => values.fromText(item, name))
    }
    case 'flag':
      return readFlag(name, text)
    case 'pattern':
    case 'part':
      return readSingle(name, text)
    case 'item':
    case 'value':
      return values.fromText(readSingle(name, text), name)
  }
}

/** Encoders of queries write the comma of a list as `%2C`, which a text may contain. A repeated parameter is a list. */
function wrongCount(name: string, count: number): Error {
  const repeated = Array.from({ length: count }, () => `${name}=…`).join('&')
  return invalid(
    name,
    'type',
    `must be a list of ${count} values. Repeat the parameter: ${repeated}`,
  )
}

/** @throws {HttpError} 400 for a parameter that was sent more than once */
export function readSingle(name: string, text: string | string[]): string {
  if (Array.isArray(text)) throw invalid(name, 'type', 'must be given once')
  return text
}

/** @throws {HttpError} 400 for anything except `true` and `false` */
export function readFlag(name: string, text: string | string[]): boolean {
  const word = readSingle(name, text)
  if (word === 'true' || word === 'false') return word === 'true'
  throw invalid(name, 'type', 'must be true or false')
}

/** Documents an operator of a field or of an aggregate. */
export function documentOperator(name: Operator): DeclaredOperator {
  const { operand, meaning, isEquality } = operatorOf(name)
  return { name, description: meaning, operand: documentedOperands[operand], isEquality }
}

const documentedOperands = {
  value: 'value',
  item: 'value',
  list: 'list',
  values: 'list',
  pattern: 'text',
  part: 'text',
  flag: 'flag',
} as const satisfies Record<OperandKind, DeclaredOperator['operand']>

/** The values of a column. */
export class ColumnValues implements OperandValues {
  readonly #column: Column

  constructor(column: Column) {
    this.#column = column
  }

  get schema(): ParameterSchema {
    const { isBoolean, field } = this.#column
    if (isBoolean) return { anyOf: [{ type: 'boolean' }, { type: 'integer', enum: [0, 1] }] }
    return field.entry.schema
  }

  /** The schema of a value that the field can have; undefined if it can have every value of its kind. */
  get choiceSchema(): ParameterSchema | undefined {
    const { isBoolean, field } = this.#column
    const choices = field.declared?.oneOf
    return choices === undefined || isBoolean ? undefined : { ...this.schema, enum: choices }
  }

  get hasCommas(): boolean {
    return this.#column.compares === 'text'
  }

  fromText(text: string, name: string): unknown {
    const { fromText, label, hint } = this.#column.field.entry
    const value = fromText(text)
    if (value !== undefined) return value
    const more = hint?.(text)
    throw invalid(name, 'type', `must be ${label}${more === undefined ? '' : `; ${more}`}`)
  }
}

/** The values within JSON: `1` is a number, `true` a boolean, `"1"` and everything else text. */
export const jsonValues: OperandValues = {
  schema: { type: 'string' },
  hasCommas: true,
  fromText: (text) => {
    const value = tryParseJson(text, parseJson)
    return value === undefined || isMap(value) || Array.isArray(value) ? text : value
  },
}

/** The number of rows of a group. */
export const countValues: OperandValues = {
  schema: { type: 'integer' },
  hasCommas: false,
  fromText: readNumber,
}

const numberValues: OperandValues = { ...countValues, schema: { type: 'number' } }

/** Numbers that a double cannot hold, as text. */
const exactValues: OperandValues = { ...numberValues, fromText: (text) => text }

/** Sums and means are numbers, or text for exact kinds. Minima and maxima have the kind of the field. */
export function aggregateValues(column: Column, aggregate: AggregateFunction): OperandValues {
  if (aggregate === 'min' || aggregate === 'max') return new ColumnValues(column)
  const { storage } = column
  const isExact = storage === 'decimal' || (storage === 'wide' && aggregate === 'sum')
  return isExact ? exactValues : numberValues
}

/** @param name `count`, `sumPrice` @returns `undefined` for the name of no aggregate of a visible field */
export function findAggregateValues({ columns }: Table, name: string): OperandValues | undefined {
  if (name === 'count') return countValues
  for (const column of columns) {
    if (column.field.hidden) continue
    const aggregate = aggregateFunctions.find((one) => nameOf(one, column) === name)
    if (aggregate !== undefined) return aggregateValues(column, aggregate)
  }
  return undefined
}

function readNumber(text: string, name: string): number {
  if (/^-?\d{1,300}(\.\d{1,300})?$/.test(text)) return Number(text)
  throw invalid(name, 'type', 'must be a number')
}
