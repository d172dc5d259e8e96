/**
 * Reads which parts of rows a client selects. `?with=products.tags,category` adds related records. `?fields=id,name`
 * leaves out all other fields of the row. `?fields=id,category.name` also adds a related record with only the named
 * fields. Source: decisions, Records: REST.
 */
import { didYouMean } from '../../errors/did-you-mean.js'
import { clip } from '../../core/text.js'
import type { TextValues } from '../../http/query.js'
import type { HttpError } from '../../errors/http-error.js'
import { isHidden, suggestedFields, suggestedRelations } from '../filters/suggested-names.js'
import { invalid } from '../filters/invalid.js'
import type { Relation, Table } from '../model/table.js'
import { readNames } from './query-names.js'
import { readRelationTree, type RelationTree } from '../policy/client-view.js'

/** The selected fields of a row. */
export interface SelectedFields {
  /** Properties to leave out. */
  readonly omitted: readonly string[]
  /** The selected fields of related rows, by relation. Other relations include all fields. */
  readonly related: ReadonlyMap<string, SelectedFields>
}

export interface RowShape extends SelectedFields {
  readonly relations: RelationTree
}

/** @throws {HttpError} 400 `VALIDATION` */
export function readRowShape(table: Table, query: TextValues): RowShape | undefined {
  const paths = table.byProperty.has('with') ? [] : (readNames('with', query.with) ?? [])
  const fields = table.byProperty.has('fields') ? [] : (readNames('fields', query.fields) ?? [])
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
