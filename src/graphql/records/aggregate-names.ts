/** What GraphQL calls a record's groups and figures. */
import type { TimeUnit } from '../../engines/contract/time-group.js'
import {
  aggregateFunctions,
  type AggregateFunction,
  type TimeGrouping,
} from '../../records/aggregates/aggregate-types.js'
import { hasTime, isNumber } from '../../records/aggregates/read-aggregate.js'
import { readZone } from '../../records/aggregates/zone-offsets.js'
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

/** Groups that can be made by their time. */
export function timeGroupsOf(model: RecordModel): FieldModel[] {
  return groupsOf(model).filter(({ column }) => hasTime(column))
}

/**
 * From `groupByTime` to the record's groups.
 *
 * @throws {HttpError} 400 `VALIDATION`
 */
export function readTimeGroups(model: RecordModel, given: unknown): TimeGrouping<never>[] {
  if (given === undefined || given === null) return []
  const groups = timeGroupsOf(model)
  return (given as { field: string; by: TimeUnit; zone?: string | null }[]).map((one, index) => {
    const path = `groupByTime.${index}`
    const zone = one.zone ?? 'UTC'
    const field = groups.find(({ name }) => name === one.field)
    const names = groups.map(({ name }) => name).join(', ')
    if (field === undefined) throw invalid(`${path}.field`, 'unknown', `must be one of ${names}`)
    if (readZone(zone) === undefined)
      throw invalid(`${path}.zone`, 'zone', 'must be a time zone such as Europe/Berlin')
    return { field: field.column.property as never, by: one.by, zone }
  })
}

const taken: ReadonlySet<string> = new Set(['count', ...aggregateFunctions])

export function titled(name: string): string {
  return name.charAt(0).toUpperCase() + name.slice(1)
}
