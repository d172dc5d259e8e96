/** What GraphQL calls a record's groups and figures. */
import {
  aggregateFunctions,
  type AggregateFunction,
} from '../../records/aggregates/aggregate-types.js'
import { isNumber } from '../../records/aggregates/read-aggregate.js'
import { invalid } from '../../records/filters/invalid.js'
import { isOrdered } from '../../sql/operators.js'
import type { FieldModel, RecordModel } from './model.js'

export interface Figure {
  readonly called: AggregateFunction
  readonly field: FieldModel
  /** `sumPrice` */
  readonly name: string
}

/** Everything that can be made of a record's rows. */
export function figuresOf({ fields }: RecordModel): Figure[] {
  return aggregateFunctions.flatMap((called) =>
    [...fields.values()]
      // Nothing can be made of ids that say no number.
      .filter(({ ids }) => ids?.type === undefined)
      .filter(({ column }) =>
        called === 'sum' || called === 'avg'
          ? isNumber(column)
          : isOrdered(column) && !column.isBoolean,
      )
      .map((field) => ({ called, field, name: `${called}${titled(field.name)}` })),
  )
}

/** Fields of the names of the figures cannot be told from them, and make no groups. */
export function groupsOf({ fields }: RecordModel): FieldModel[] {
  return [...fields.values()].filter(
    ({ name, column: { compares } }) =>
      compares !== 'json' && compares !== 'list' && !taken.has(name),
  )
}

/**
 * From GraphQL's names of groups to the record's.
 *
 * @param argument in which they stand
 * @throws {HttpError} 400 `VALIDATION`
 */
export function readGroups(model: RecordModel, given: unknown, argument: string): string[] {
  if (given === undefined || given === null) return []
  const groups = groupsOf(model)
  return (given as unknown[]).map((name, index) => {
    const field = groups.find((one) => one.name === name)
    if (field !== undefined) return field.column.property
    const names = groups.map((one) => one.name).join(', ')
    throw invalid(`${argument}.${index}`, 'unknown', `must be one of ${names}`)
  })
}

const taken: ReadonlySet<string> = new Set(['count', ...aggregateFunctions])

export function titled(name: string): string {
  return name.charAt(0).toUpperCase() + name.slice(1)
}
