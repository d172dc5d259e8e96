/** Builds the query tree of a root field from its compiled selection and the arguments of a run. */
import type { Condition } from '../../records/filters/condition.js'
import type { ObjectForm, PageEntry, PageQuery } from '../../sql/tree.js'
import type { RecordModel } from '../records/model.js'
import type { PageQuery as ReadPage } from '../records/pages.js'
import type { ListQuery } from '../records/query-reader.js'
import type { ObjectSelection, SelectedPage } from './selection.js'

/** The arguments of a run for the selected relations, by their index. */
export interface RelationQueries {
  readonly lists: readonly (ListQuery | undefined)[]
  /** The caller's row filter for the table of an owner or of counted rows. */
  readonly rows: readonly (Condition | undefined)[]
}

export function formOf({ entries }: ObjectSelection, relationQueries: RelationQueries): ObjectForm {
  return entries.map((entry) => {
    if (entry.kind === 'name' || entry.kind === 'column') return entry
    const { kind, key, index } = entry
    if (kind === 'count') {
      const step = { relation: entry.relation.relation, where: relationQueries.rows[index] }
      return { kind, key, derived: { path: [step], column: undefined } }
    }
    const common = {
      key,
      relation: entry.relation.relation,
      form: formOf(entry.object, relationQueries),
    }
    return kind === 'owner'
      ? { ...common, kind, where: relationQueries.rows[index] }
      : { ...common, kind, rows: relationQueries.lists[index] as ListQuery }
  })
}

/** The query of a page. `limit` and `oneMore` are indexes of values. */
export function pageOf(
  { table }: RecordModel,
  page: readonly SelectedPage[],
  { filter, condition, order, reading, isBackward, startsAtCursor }: ReadPage,
  { limit, oneMore }: { readonly limit: number; readonly oneMore: number },
  relationQueries: RelationQueries,
): PageQuery {
  const rows = { table, where: condition, order: reading, limit: oneMore }
  const form = pageFormOf(page, relationQueries)
  return {
    query: 'page',
    rows,
    order,
    pageSize: limit,
    filter,
    isBackward,
    hasEarlierRows: startsAtCursor,
    form,
  }
}

function pageFormOf(page: readonly SelectedPage[], relationQueries: RelationQueries): PageEntry[] {
  return page.map((entry): PageEntry => {
    switch (entry.kind) {
      case 'node':
        return { kind: 'node', key: entry.key, form: formOf(entry.object, relationQueries) }
      case 'edges':
      case 'pageInfo':
        return {
          kind: entry.kind,
          key: entry.key,
          form: pageFormOf(entry.entries, relationQueries),
        }
      default:
        return entry
    }
  })
}
