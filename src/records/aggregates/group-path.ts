/** Reads the names of groups: a field, or a field of a record that the rows belong to, such as `sample.project.name`. */
import { clip } from '../../core/text.js'
import type { Column } from '../../engines/contract/table.js'
import { didYouMean } from '../../errors/did-you-mean.js'
import { derivedColumn, isDerived, type Derived } from '../../sql/derived.js'
import { invalid, isHidden, suggestedFields, suggestedRelations } from '../filters/query-errors.js'
import type { RowsView, Slots } from '../filters/list-options.js'
import type { Relation, Table } from '../model/table.js'
import type { Measure } from './measure.js'

/** The maximum number of relations that lead to a field. */
const maxRelations = 4

/**
 * @returns the column of the field, with the relations that lead to it
 * @throws {HttpError} 400 `VALIDATION` for names that the record, or a client, does not know
 */
export function readGroupPath(table: Table, name: string, path: string, isClient: boolean): Column {
  const names = name.split('.')
  const field = names.pop() ?? ''
  if (names.length > maxRelations)
    throw invalid(path, 'depth', `is deeper than ${maxRelations} levels`)
  const relations: Relation[] = []
  let current = table
  for (const one of names) {
    const relation = readRelation(current, one, path, isClient)
    relations.push(relation)
    current = relation.target
  }
  const column = current.byProperty.get(field)
  if (column === undefined || (isClient && column.field.hidden))
    throw unknownField(current, field, relations, { path, isClient })
  return relations.length === 0 ? column : derivedColumn(column, relations, name, 0)
}

function readRelation(table: Table, name: string, path: string, isClient: boolean): Relation {
  const relation = table.relations.get(name)
  if (relation === undefined || (isClient && isHidden(relation))) {
    const suggestion = didYouMean(clip(name), suggestedRelations(table, isClient))
    const text = `names "${clip(name)}", which is not a relation of ${table.type.name}. ${suggestion}`
    throw invalid(path, 'unknown', text.trim())
  }
  if (relation.kind !== 'belongsTo')
    throw invalid(path, 'type', `cannot follow ${name}: it leads to many rows`)
  return relation
}

function unknownField(
  table: Table,
  name: string,
  relations: readonly Relation[],
  { path, isClient }: { readonly path: string; readonly isClient: boolean },
): Error {
  const suggestion = didYouMean(clip(name), suggestedFields(table, isClient))
  if (relations.length > 0)
    return invalid(
      path,
      'unknown',
      `names "${clip(name)}", which is not a field of ${table.type.name}. ${suggestion}`.trim(),
    )
  if (table.relations.has(name) && suggestedRelations(table, isClient).includes(name))
    return invalid(path, 'type', `is a relation: name one of its fields, such as ${name}.id`)
  return invalid(path, 'unknown', `is not a field. ${suggestion}`.trim())
}

/** The number of relations that lead to the fields of groups. */
export function countGroupRelations(names: readonly string[]): number {
  return names.reduce((sum, name) => sum + name.split('.').length - 1, 0)
}

/** @param name of a group that was read @returns the column of its field; `undefined` for other names */
export function findGroupColumn(table: Table, name: string): Column | undefined {
  const names = name.split('.')
  const field = names.pop() ?? ''
  let current: Table | undefined = table
  for (const one of names) current = current?.relations.get(one)?.target
  return current?.byProperty.get(field)
}

/** @returns whether the values of the group are fields of other records */
export function isRelated(measure: Measure): boolean {
  return measure.column !== undefined && isDerived(measure.column)
}

/**
 * Adds the rows that a client may see of each record on the way: a row that it may not see counts as missing.
 *
 * @throws {HttpError} 401 or 403 for fields and relations that the client may not read
 */
export function bindGroup(measure: Measure, view: RowsView, slots: Slots): Measure {
  const { column } = measure
  if (column === undefined || !isDerived(column)) return measure
  const derived = view.derived(column.derived as Derived<Relation>, slots)
  return { ...measure, column: { ...column, derived } as Column }
}
