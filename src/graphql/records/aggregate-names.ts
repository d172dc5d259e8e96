/** The names of groups and aggregates in GraphQL, and the conversion to the names of the record. */
import type { TimeUnit } from '../../engines/contract/dialect.js'
import {
  aggregateFunctions,
  type AggregateFunction,
  type TimeGrouping,
} from '../../records/aggregates/aggregate-types.js'
import { hasAggregate, hasTime } from '../../records/aggregates/read-aggregate.js'
import { readZone } from '../../records/aggregates/zone-offsets.js'
import { invalid } from '../../records/filters/query-errors.js'
import type { FieldModel, RecordModel } from './model.js'

export interface AggregateField {
  readonly aggregate: AggregateFunction
  readonly field: FieldModel
  /** `sumPrice` */
  readonly name: string
}

/** The aggregates of a record's fields. */
export function aggregateFieldsOf({ fields }: RecordModel): AggregateField[] {
  return aggregateFunctions.flatMap((aggregate) =>
    [...fields.values()]
      // Global ids are not numbers.
      .filter(({ ids }) => ids?.type === undefined)
      .filter(({ column }) => hasAggregate(column, aggregate))
      .map((field) => ({ aggregate, field, name: `${aggregate}${titled(field.name)}` })),
  )
}

/** The fields that can be groups. A field with the name of an aggregate cannot. */
export function groupsOf({ fields }: RecordModel): FieldModel[] {
  return [...fields.values()].filter(
    ({ name, column: { compares } }) =>
      compares !== 'json' && compares !== 'list' && !reservedNames.has(name),
  )
}

/**
 * Converts the names of groups to the properties of the record.
 *
 * @param argument the argument's name for errors
 * @throws {HttpError} 400 `VALIDATION`
 */
export function readGroups(model: RecordModel, input: unknown, argument: string): string[] {
  if (input === undefined || input === null) return []
  const groups = groupsOf(model)
  return (input as unknown[]).map((name, index) => {
    const field = groups.find((one) => one.name === name)
    if (field !== undefined) return field.column.property
    throw invalid(`${argument}.${index}`, 'unknown', `must be one of ${visibleNames(groups)}`)
  })
}

/** The fields that can be grouped by time. */
export function timeGroupsOf(model: RecordModel): FieldModel[] {
  return groupsOf(model).filter(({ column }) => hasTime(column))
}

/** Converts `groupByTime` to the groups of the record. @throws {HttpError} 400 `VALIDATION` */
export function readTimeGroups(model: RecordModel, input: unknown): TimeGrouping<never>[] {
  if (input === undefined || input === null) return []
  const groups = timeGroupsOf(model)
  return (input as { field: string; by: TimeUnit; zone?: string | null }[]).map((one, index) => {
    const path = `groupByTime.${index}`
    const zone = one.zone ?? 'UTC'
    const field = groups.find(({ name }) => name === one.field)
    if (field === undefined)
      throw invalid(`${path}.field`, 'unknown', `must be one of ${visibleNames(groups)}`)
    if (readZone(zone) === undefined)
      throw invalid(`${path}.zone`, 'zone', 'must be a time zone such as Europe/Berlin')
    return { field: field.column.property as never, by: one.by, zone }
  })
}

/** The names of fields for messages, without secured fields. */
function visibleNames(fields: readonly FieldModel[]): string {
  return fields
    .filter(({ access }) => access === undefined)
    .map(({ name }) => name)
    .join(', ')
}

const reservedNames: ReadonlySet<string> = new Set(['count', ...aggregateFunctions])

export function titled(name: string): string {
  return name.charAt(0).toUpperCase() + name.slice(1)
}
