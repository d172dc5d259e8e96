/** Makes the tree of a root field's statement: the selection, which is known beforehand, with what a run asks. */
import type { Condition } from '../../records/filters/condition.js'
import type { ObjectForm, PageEntry, PageQuery } from '../../sql/tree.js'
import type { RecordModel } from '../records/model.js'
import type { PageQuestion as ReadPage } from '../records/pages.js'
import type { ListQuestion } from '../records/query-reader.js'
import type { ObjectSelection, SelectedPage } from './selection.js'

/** What a run asks of the relations, by their places. */
export interface Answers {
  readonly lists: readonly (ListQuestion | undefined)[]
  /** What the caller may see of the table of an owner, or of rows that are counted. */
  readonly rows: readonly (Condition | undefined)[]
}

export function formOf({ entries }: ObjectSelection, answers: Answers): ObjectForm {
  return entries.map((entry) => {
    if (entry.kind === 'name' || entry.kind === 'column') return entry
    const { kind, key, index } = entry
    if (kind === 'count') {
      const step = { relation: entry.relation.relation, where: answers.rows[index] }
      return { kind, key, derived: { path: [step], column: undefined } }
    }
    const common = { key, relation: entry.relation.relation, form: formOf(entry.object, answers) }
    return kind === 'owner'
      ? { ...common, kind, where: answers.rows[index] }
      : { ...common, kind, rows: answers.lists[index] as ListQuestion }
  })
}

/** A page's question, with the places of its numbers among the values. */
export function pageOf(
  { table }: RecordModel,
  page: readonly SelectedPage[],
  { filter, condition, order, reading, isBackward, isLater }: ReadPage,
  { most, oneMore }: { readonly most: number; readonly oneMore: number },
  answers: Answers,
): PageQuery {
  const rows = { table, where: condition, order: reading, limit: oneMore }
  const form = pageFormOf(page, answers)
  return {
    query: 'page',
    rows,
    order,
    pageSize: most,
    filter,
    isBackward,
    hasEarlierRows: isLater,
    form,
  }
}

function pageFormOf(page: readonly SelectedPage[], answers: Answers): PageEntry[] {
  return page.map((entry): PageEntry => {
    switch (entry.kind) {
      case 'node':
        return { kind: 'node', key: entry.key, form: formOf(entry.object, answers) }
      case 'edges':
      case 'pageInfo':
        return { kind: entry.kind, key: entry.key, form: pageFormOf(entry.entries, answers) }
      default:
        return entry
    }
  })
}
