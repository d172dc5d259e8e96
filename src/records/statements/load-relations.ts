/** Loads related records, with one statement for each level. Source: decisions, Records: queries. */
import { didYouMean } from '../../errors/did-you-mean.js'
import { clip } from '../../core/text.js'
import { groupBy } from '../../core/collections.js'
import { type MaybePromise, after } from '../../core/maybe-promise.js'
import { invalid } from '../filters/query-errors.js'
import { undefinedAt } from '../model/skip.js'
import { keyOf } from '../model/record-key.js'
import { keyTextOf, readRelated, type RelatedQueryOfKeys } from './read-records.js'
import { inShard } from './shard.js'
import type { Source } from './source.js'
import type { Instance, Relation, Table } from '../model/table.js'

type Load = (records: readonly object[], source: Source) => MaybePromise<void>

/** Each relation, with its nested relations to load. */
interface Tree {
  readonly children: Map<string, Tree>
}

const maxDepth = 8

/**
 * @param paths `['category', 'reviews.author']`
 * @throws {HttpError} 400 for a path that does not exist
 */
export function createRelationLoader(table: Table, paths: readonly string[]): Load {
  const tree: Tree = { children: new Map() }
  for (const [index, path] of paths.entries()) {
    if ((path as unknown) === undefined) throw undefinedAt(`with.${index}`)
    addPath(table, path, tree)
  }
  return (records, source) => loadLevel(table, tree, records as readonly Instance[], source)
}

function addPath(table: Table, path: string, tree: Tree): void {
  const names = path.split('.')
  if (names.length > maxDepth) throw invalid('with', 'depth', `is deeper than ${maxDepth} levels`)
  let [current, node] = [table, tree]
  for (const name of names) {
    const relation = current.relations.get(name)
    if (relation === undefined) {
      const suggestion = didYouMean(clip(name), current.relations.keys())
      const text = `names "${clip(name)}", which is not a relation of ${current.type.name}. ${suggestion}`
      throw invalid('with', 'unknown', text.trim())
    }
    let next = node.children.get(name)
    if (next === undefined) {
      next = { children: new Map() }
      node.children.set(name, next)
    }
    ;[current, node] = [relation.target, next]
  }
}

function loadLevel(
  table: Table,
  tree: Tree,
  records: readonly Instance[],
  source: Source,
): MaybePromise<void> {
  let done: MaybePromise<void> = undefined
  for (const [name, below] of tree.children) {
    const relation = table.relations.get(name) as Relation
    done = after(done, () =>
      after(loadRelation(relation, records, source), (found) =>
        found.length === 0 ? undefined : loadLevel(relation.target, below, found, source),
      ),
    )
  }
  return done
}

/**
 * Sets one relation of records of its table.
 *
 * @param query which related rows. Default: all, by key
 * @returns the related records, each once
 */
export function loadRelation(
  relation: Relation,
  records: readonly Instance[],
  source: Source,
  query?: RelatedQueryOfKeys,
): MaybePromise<Instance[]> {
  const { shards, table } = relation
  if (shards === undefined) return loadLinked(relation, records, source, query)
  // Linked rows are in the same shard, so each shard gets its own query.
  const byShard = groupBy(records, (record) => record[shards.local.property])
  let done: MaybePromise<Instance[]> = []
  for (const [value, some] of byShard)
    done = after(done, (before) =>
      inShard(table, value, () =>
        after(loadLinked(relation, some, source, query), (found) => [...before, ...found]),
      ),
    )
  return done
}

function loadLinked(
  relation: Relation,
  records: readonly Instance[],
  source: Source,
  query: RelatedQueryOfKeys | undefined,
): MaybePromise<Instance[]> {
  const local = source.context.codecOf(relation.table).byProperty.get(relation.local.property)
  const keys = new Set<unknown>()
  for (const record of records) {
    const value = keyOf(relation.local, record)
    if (value !== undefined && value !== null) keys.add(local?.encode(value))
  }
  if (keys.size === 0) return attach(relation, records, new Map())
  return after(readRelated(relation, [...keys], source, query), (found) =>
    attach(relation, records, found),
  )
}

function attach(
  relation: Relation,
  records: readonly Instance[],
  found: ReadonlyMap<string, Instance[]>,
): Instance[] {
  for (const record of records) {
    const related = found.get(keyTextOf(relation, record)) ?? []
    record[relation.name] = relation.kind === 'belongsTo' ? (related[0] ?? null) : [...related]
  }
  return [...new Set([...found.values()].flat())]
}
