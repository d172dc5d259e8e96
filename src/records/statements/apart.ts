/**
 * Reads counts and related rows of a list by statements of their own, where one statement cannot read them with the rows:
 * on Citus, from a record without a shard into shards. Source: decisions, Sharding, partitions and failover.
 */
import { after, type MaybePromise } from '../../core/maybe-promise.js'
import type { Dialect } from '../../engines/contract/dialect.js'
import { isApart } from '../../sql/table.js'
import type { RelationValue } from '../../sql/tree.js'
import {
  readCounts,
  toRelationCount,
  type ListOptions,
  type RelatedRows,
  type RelationCount,
  type RelationTree,
} from '../filters/list-options.js'
import { keyOf } from '../model/record-key.js'
import type { Instance, Relation, Table } from '../model/table.js'
import { loadRelation } from './load-relations.js'
import { countRelated, keyTextOf, tooManyRelated } from './read-records.js'
import type { Source } from './source.js'

/** What a list reads in addition to the rows of its table. */
export interface Additions {
  readonly relations: RelationTree
  readonly counts: readonly RelationCount[]
}

type AddingOptions = Pick<ListOptions<never>, 'counts' | 'related' | 'view'>

/** @returns what is read with the rows, and what is read after them, if there is anything */
export function splitAdditions(
  table: Table,
  { counts: names, related, view }: AddingOptions,
  dialect: Dialect,
): { readonly together: Additions; readonly apart: Additions | undefined } {
  const counts = names === undefined ? [] : readCounts(table, names, view !== undefined)
  const relations: RelationTree = related?.relations ?? new Map()
  if (dialect.can.subqueriesInShards) return { together: { counts, relations }, apart: undefined }
  const pick = (arePickedApart: boolean): Additions => ({
    counts: counts.filter(({ relation }) => isApart(relation, dialect) === arePickedApart),
    relations: new Map(
      [...relations].filter((entry) => leadsApart(entry, dialect) === arePickedApart),
    ),
  })
  const apart = pick(true)
  const isAny = apart.counts.length > 0 || apart.relations.size > 0
  return { together: pick(false), apart: isAny ? apart : undefined }
}

function leadsApart(
  [relation, below]: readonly [Relation, RelationTree],
  dialect: Dialect,
): boolean {
  return isApart(relation, dialect) || [...below].some((entry) => leadsApart(entry, dialect))
}

/**
 * Sets the counts and related rows of records.
 *
 * @throws {HttpError} 401 or 403 for relations; 400 `TOO_COSTLY`
 */
export function readApart(
  source: Source,
  records: readonly Instance[],
  { relations, counts }: Additions,
  options: AddingOptions,
): MaybePromise<void> {
  const { related } = options
  let done: MaybePromise<void> = undefined
  for (const count of counts) done = after(done, () => setCount(count, records, source, options))
  if (related === undefined) return done
  const reading = { source, related, maxRows: (related.maxRows ?? Infinity) * records.length }
  return after(done, () => setRelations(relations, records, reading))
}

function setCount(
  { relation, name }: RelationCount,
  records: readonly Instance[],
  source: Source,
  { view }: AddingOptions,
): MaybePromise<void> {
  const slots = { values: [], key: '#' }
  const counted = toRelationCount(relation)
  const { path } = view === undefined ? counted : view.derived(counted, slots)
  const codec = source.context.codecOf(relation.table).byProperty.get(relation.local.property)
  const keys = new Set(records.map((record) => codec?.encode(keyOf(relation.local, record))))
  if (keys.size === 0) return undefined
  const found = countRelated(relation, [...keys], source, { where: path[0]?.where, slots })
  return after(found, (counts) => {
    for (const record of records) record[name] = counts.get(keyTextOf(relation, record)) ?? 0
  })
}

interface RelationReading {
  readonly source: Source
  readonly related: RelatedRows
  /** The maximum number of related rows on one level. */
  readonly maxRows: number
}

function setRelations(
  relations: RelationTree,
  records: readonly Instance[],
  reading: RelationReading,
): MaybePromise<void> {
  let done: MaybePromise<void> = undefined
  for (const [relation, below] of relations)
    done = after(done, () =>
      after(readRelation(relation, records, reading), (found) =>
        setRelations(below, found, reading),
      ),
    )
  return done
}

function readRelation(
  relation: Relation,
  records: readonly Instance[],
  { source, related, maxRows }: RelationReading,
): MaybePromise<Instance[]> {
  const slots = { values: [], key: '' }
  const [entry] = related.read(new Map([[relation, new Map()]]), slots)
  const { rows } = entry as RelationValue<Relation>
  const isLimited = related.maxRows !== undefined && relation.kind !== 'belongsTo'
  // One more than allowed is enough to know.
  const limit = isLimited ? { fixed: related.maxRows + 1 } : undefined
  const query = {
    key: `${slots.key}${limit?.fixed ?? ''}`,
    values: slots.values,
    rows: { ...rows, limit },
  }
  return after(loadRelation(relation, records, source, query), (found) => {
    if (found.length > maxRows) throw tooManyRelated(relation)
    for (const record of found) related.found(relation.target, record)
    return found
  })
}
