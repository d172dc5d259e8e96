/** The names of generated queries, mutations, fields, groups and aggregates. Source: decisions, GraphQL. */
import { titled } from '../type-notation.js'
import { toPlural } from '../../records/model/generated-names.js'
import type { TimeUnit } from '../../engines/contract/dialect.js'
import {
  aggregateFunctions,
  type AggregateFunction,
  type TimeGrouping,
} from '../../records/aggregates/aggregate-types.js'
import { hasAggregate, hasTime } from '../../records/aggregates/read-aggregate.js'
import { maxNames } from '../../records/aggregates/read-aggregate.js'
import { readZone } from '../../records/aggregates/zone-offsets.js'
import { invalid } from '../../records/filters/query-errors.js'
import type { FieldModel, RecordModel, RelationModel } from './model.js'

/** The maximum number of relations that lead to the field of a group. */
const maxRelations = 4

/** The names of a record's queries. */
export interface QueryNames {
  /** The query for one record: `category`. */
  readonly singular: string
  /** The query for a list: `categories`. */
  readonly plural: string
  /** The name with a plain `s`, if it differs: `categorys`. */
  readonly simplePlural: string | undefined
}

/**
 * @param typeName the class's name
 *
 * @param options the names in `@Record({ name, plural })`; with an explicit plural there is no `simplePlural`
 */
export function queryNames(
  typeName: string,
  options: { readonly name?: string; readonly plural?: string },
): QueryNames {
  const singular = options.name ?? typeName.toLowerCase()
  if (options.plural !== undefined)
    return { singular, plural: options.plural, simplePlural: undefined }
  const pluralWord = toPlural(singular)
  const plural = pluralWord === singular ? `${singular}List` : pluralWord
  const simplePlural = `${singular}s`
  return { singular, plural, simplePlural: simplePlural === plural ? undefined : simplePlural }
}

/** The plural in the names of mutations of many rows: `Product` gives `Products`. */
export function pluralOf(typeName: string): string {
  const plural = toPlural(typeName)
  return plural === typeName ? `${typeName}List` : plural
}

/** `category_id`, `CategoryId` and `categoryId` are all `categoryId`. */
export function toCamelCase(name: string): string {
  const joined = name.replace(/(?<=[^_])_+([A-Za-z0-9])/g, (_, letter: string) =>
    letter.toUpperCase(),
  )
  return /^[A-Z][A-Z0-9]*$/.test(joined)
    ? joined.toLowerCase()
    : joined.charAt(0).toLowerCase() + joined.slice(1)
}

/** Whether it is a valid Name (GraphQL specification, 2.1.9) that is not reserved for introspection. */
export function isGraphqlName(name: string): boolean {
  return /^[A-Za-z_][A-Za-z0-9_]*$/.test(name) && !name.startsWith('__')
}

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
 * @param depth the maximum number of relations that lead to a field
 * @throws {HttpError} 400 `VALIDATION`
 */
export function readGroups(
  model: RecordModel,
  input: unknown,
  argument: string,
  depth = maxRelations,
): string[] {
  if (input === undefined || input === null) return []
  // A longer list is refused later, by its length.
  return (input as unknown[]).slice(0, maxNames + 1).map((name, index) => {
    const group = typeof name === 'string' ? findGroup(model, name, depth) : undefined
    if (group !== undefined) return group.property
    throw unknownGroup(model, groupsOf(model), `${argument}.${index}`)
  })
}

interface GroupName {
  readonly field: FieldModel
  /** The record's name: `status`, `sample.project.name`. */
  readonly property: string
}

/** @param name of a field, or of a field of a record that the rows belong to: `sample_project_name` */
export function findGroup(
  model: RecordModel,
  name: string,
  depth = maxRelations,
): GroupName | undefined {
  const field = groupsOf(model).find((one) => one.name === name)
  if (field !== undefined) return { field, property: field.column.property }
  for (const one of depth === 0 ? [] : groupRelationsOf(model)) {
    const { length } = one.name
    const isRelated = name.startsWith(one.name) && (name[length] === '_' || name[length] === '.')
    const group = isRelated ? findGroup(one.target, name.slice(length + 1), depth - 1) : undefined
    if (group !== undefined) return { ...group, property: `${one.relation.name}.${group.property}` }
  }
  return undefined
}

/** The relations to records whose fields can be groups. */
export function groupRelationsOf({ relations }: RecordModel): RelationModel[] {
  return [...relations.values()].filter(({ name, isList, relation }) => {
    return !isList && relation.kind === 'belongsTo' && !reservedNames.has(name)
  })
}

function unknownGroup(model: RecordModel, groups: readonly FieldModel[], path: string): Error {
  const [relation] = groupRelationsOf(model).filter(({ rules }) => rules.length === 0)
  const [field] = relation === undefined ? [] : groupsOf(relation.target).slice(-1)
  const example =
    relation === undefined || field === undefined || field.access !== undefined
      ? ''
      : `, or a field of a related record such as ${relation.name}_${field.name}`
  return invalid(path, 'unknown', `must be one of ${visibleNames(groups)}${example}`)
}

/** The fields that can be grouped by time. */
export function timeGroupsOf(model: RecordModel): FieldModel[] {
  return groupsOf(model).filter(({ column }) => hasTime(column))
}

/** Whether rows can be grouped by a time of their own, or of a record that they belong to. */
export function hasTimeGroups(model: RecordModel, depth = maxRelations): boolean {
  if (timeGroupsOf(model).length > 0) return true
  if (depth === 0) return false
  return groupRelationsOf(model).some(({ target }) => hasTimeGroups(target, depth - 1))
}

/** Converts `groupByTime` to the groups of the record. @throws {HttpError} 400 `VALIDATION` */
export function readTimeGroups(model: RecordModel, input: unknown): TimeGrouping<never>[] {
  if (input === undefined || input === null) return []
  const groups = timeGroupsOf(model)
  const list = input as { field: string; by: TimeUnit; zone?: string | null }[]
  // A longer list is refused later, by its length.
  return list.slice(0, maxNames + 1).map((one, index) => {
    const path = `groupByTime.${index}`
    const zone = readZone(one.zone ?? 'UTC')
    const group = findGroup(model, one.field)
    if (group === undefined || !hasTime(group.field.column))
      throw unknownGroup(model, groups, `${path}.field`)
    if (zone === undefined)
      throw invalid(`${path}.zone`, 'zone', 'must be a time zone such as Europe/Berlin')
    return { field: group.property as never, by: one.by, zone }
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
