/** Links rows of a many-to-many relation to a row, or unlinks them, all or none. Source: decisions, Records: writes. */
import { didYouMean } from '../../errors/did-you-mean.js'
import { HttpError } from '../../errors/http-error.js'
import { arrangeValues } from '../../sql/write-statement.js'
import type { Id } from '../filters/list-options.js'
import { invalid } from '../filters/query-errors.js'
import { toKey } from '../model/codec.js'
import type { Relation, Table } from '../model/table.js'
import { toClientError } from './client-errors.js'
import type { Source } from './source.js'
import { checkUndeletedKeys } from './marked-references.js'

/** A change of the links between a record and other records. */
export interface LinkChange {
  readonly id: unknown
  readonly relation: string
  readonly ids: readonly unknown[]
  readonly removes: boolean
}

/**
 * @returns the number of links that changed
 * @throws {HttpError} 404 if the record itself does not exist, 409 if another one does not
 */
export async function changeLinks(
  table: Table,
  source: Source,
  change: LinkChange,
): Promise<number> {
  const relation = readRelation(table, change.relation)
  const { context } = source
  const ownKey = toKey(context.codecOf(table), change.id)
  if (!Array.isArray(change.ids)) throw invalid(relation.name, 'type', 'must be a list of ids')
  const otherKeys = change.ids.map((id, index) => toOtherKey(relation, source, id, index))
  return source.atomically(async (transaction) => {
    const runner = transaction.runner()
    const { find } = context.plansOf(table)
    const found = await runner.run(find.statement, arrangeValues(find, [ownKey ?? null]), 'first')
    if (found === undefined) throw new HttpError(404, `There is no such ${table.type.name}.`)
    if (!change.removes && relation.target.deletedAt !== undefined)
      await checkUndeletedKeys(relation, transaction, otherKeys)
    const plan = context.plansOf(table).link(relation, change.removes)
    let count = 0
    for (const [index, other] of otherKeys.entries()) {
      try {
        count += await runner.run(plan.statement, arrangeValues(plan, [ownKey, other]), 'count')
      } catch (error) {
        throw toClientError(error, table, 'write', {
          broken: relation,
          keyOf: () => change.ids[index],
        })
      }
    }
    if (count > 0) transaction.changed({ event: 'updated', table, ids: [ownKey as Id] })
    return count
  })
}

function readRelation(table: Table, name: string): Relation {
  const relation = table.relations.get(name)
  if (relation?.kind === 'manyToMany') return relation
  const linkableRelations = [...table.relations.values()].filter(
    ({ kind }) => kind === 'manyToMany',
  )
  const suggestion = didYouMean(
    name,
    linkableRelations.map((one) => one.name),
  )
  throw new TypeError(
    `${table.type.name}.${name} is not a many-to-many relation, so nothing can be linked there. ${suggestion}`.trim(),
  )
}

function toOtherKey(relation: Relation, { context }: Source, id: unknown, index: number): unknown {
  const key = toKey(context.codecOf(relation.target), id)
  if (key === undefined) throw invalid(`${relation.name}.${index}`, 'type', 'must be an id')
  return key
}
