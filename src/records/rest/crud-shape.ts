/**
 * Reads which parts of rows a client wants: `?with=products.tags,category` adds related records, `?fields=id,name`
 * leaves out all other fields of the row itself. Source: decisions, Second storey: records, `crud`.
 */
import { didYouMean } from '../../errors/did-you-mean.js'
import { clip } from '../../fields/faults.js'
import type { TextValues } from '../../http/query.js'
import { invalid } from '../filters/invalid.js'
import type { Table } from '../model/table.js'
import { readNames } from './query-names.js'
import { readRelationTree, type RelationTree } from '../policy/client-relations.js'

export interface RowShape {
  readonly relations: RelationTree
  /** Properties to leave out. */
  readonly without: readonly string[]
}

/** @throws {HttpError} 400 `VALIDATION` */
export function readRowShape(table: Table, query: TextValues): RowShape | undefined {
  const paths = table.byProperty.has('with') ? [] : (readNames('with', query.with) ?? [])
  const fields = table.byProperty.has('fields') ? [] : (readNames('fields', query.fields) ?? [])
  if (paths.length === 0 && fields.length === 0) return undefined
  return { relations: readRelationTree(table, paths), without: readOthers(table, fields) }
}

function readOthers({ columns }: Table, fields: readonly string[]): string[] {
  if (fields.length === 0) return []
  const visible = columns.filter(({ field }) => !field.hidden).map(({ property }) => property)
  for (const name of fields) {
    if (visible.includes(name)) continue
    const meant = didYouMean(clip(name), visible)
    throw invalid(
      'fields',
      'unknown',
      `names "${clip(name)}", which is not a field. ${meant}`.trim(),
    )
  }
  return columns.map(({ property }) => property).filter((name) => !fields.includes(name))
}
