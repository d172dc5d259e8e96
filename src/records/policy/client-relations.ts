/**
 * Loads related records for a client: of each relation the rows that it sees, one statement a level, with the fields left
 * out that it may not read. Source: decisions, Second storey: rights, and records, `crud`.
 */
import { didYouMean } from '../../errors/did-you-mean.js'
import { clip } from '../../fields/faults.js'
import type { Database } from '../database.js'
import { isHidden } from '../filters/known-names.js'
import { invalid } from '../filters/invalid.js'
import type { ListOptions } from '../filters/list-options.js'
import type { Relation, Table } from '../model/table.js'
import type { ClientView } from './client-view.js'
import type { Instance } from './write-tree.js'

/** Relation → what to load behind it. */
export type RelationTree = ReadonlyMap<Relation, RelationTree>

const deepest = 4
/** Of one question. */
const mostRelations = 20

/**
 * @param paths `['products.tags', 'category']`
 * @throws {HttpError} 400 for a path that leads nowhere a client can go
 */
export function readRelationTree(table: Table, paths: readonly string[]): RelationTree {
  const tree = new Map<Relation, Map<Relation, never>>()
  let count = 0
  for (const path of paths) {
    const names = path.split('.')
    if (names.length > deepest) throw invalid('with', 'depth', `is deeper than ${deepest} levels`)
    let current = table
    let node = tree as Map<Relation, RelationTree>
    for (const name of names) {
      const relation = readRelation(current, name)
      let next = node.get(relation) as Map<Relation, RelationTree> | undefined
      if (next === undefined) {
        if (++count > mostRelations)
          throw invalid('with', 'maxItems', `names more than ${mostRelations} relations`)
        node.set(relation, (next = new Map()))
      }
      node = next
      current = relation.target
    }
  }
  return tree
}

function readRelation(table: Table, name: string): Relation {
  const relation = table.relations.get(name)
  if (relation !== undefined && !isHidden(relation)) return relation
  const known = [...table.relations.values()].filter((one) => !isHidden(one))
  const meant = didYouMean(
    clip(name),
    known.map((one) => one.name),
  )
  const text = `names "${clip(name)}", which is no relation of ${table.type.name}. ${meant}`
  throw invalid('with', 'unknown', text.trim())
}

export interface RelationLoading {
  readonly database: Database
  readonly view: ClientView
  /** Makes of a record what the client may read of it. */
  show(table: Table, record: Instance): Promise<void>
}

/** @throws {HttpError} 401 or 403 for a relation that the client may not follow */
export async function loadRelations(
  records: readonly Instance[],
  tree: RelationTree,
  loading: RelationLoading,
): Promise<void> {
  // Before anything is read: keys are still there, and no statement runs for who may not ask.
  for (const relation of tree.keys()) loading.view.demandRelation(relation)
  for (const [relation, below] of tree) {
    const found = await loadRelation(records, relation, loading)
    if (below.size > 0) await loadRelations(found, below, loading)
    for (const record of found) await loading.show(relation.target, record)
  }
}

async function loadRelation(
  records: readonly Instance[],
  relation: Relation,
  loading: RelationLoading,
): Promise<Instance[]> {
  const { local, foreign, target, join, kind } = relation
  const keys = [...new Set(records.map((record) => record[local.property]).filter(isThere))]
  const pairs = join === undefined ? undefined : await readPairs(relation, keys, loading)
  const wanted = pairs === undefined ? keys : [...new Set(pairs.map(([, to]) => to))]
  const found = await readSeen(target, foreign.property, wanted, loading)
  const byForeign = group(found, (record) => record[foreign.property])
  const byLocal = pairs === undefined ? byForeign : spread(pairs, byForeign)
  for (const record of records) {
    const related = byLocal.get(textOf(record[local.property])) ?? []
    record[relation.name] = kind === 'belongsTo' ? (related[0] ?? null) : [...related]
  }
  return found
}

/** Rows of a table by a column's values, of those that the client sees. */
async function readSeen(
  table: Table,
  property: string,
  values: readonly unknown[],
  { database, view }: RelationLoading,
): Promise<Instance[]> {
  const repository = database.records(table.type)
  const found: Instance[] = []
  const most = 5000
  for (let from = 0; from < values.length; from += most) {
    const where = { [property]: { in: values.slice(from, from + most) } }
    found.push(
      ...((await repository.list({
        where,
        view: asLoaded(view, table),
      })) as Instance[]),
    )
  }
  return found
}

/** The key of a relation is asked by us: whether the relation may be followed was asked before. */
function asLoaded(view: ClientView, table: Table): NonNullable<ListOptions<object>['view']> {
  return {
    bind: (_table, asked, slots) => {
      const rows = view.rows(table, slots)
      return rows === undefined || asked === undefined
        ? (asked ?? rows)
        : { kind: 'all', parts: [asked, rows] }
    },
    order: () => undefined,
  }
}

async function readPairs(
  { join, local, foreign }: Relation,
  keys: readonly unknown[],
  { database }: RelationLoading,
): Promise<readonly (readonly [from: unknown, to: unknown])[]> {
  if (join === undefined || keys.length === 0) return []
  const rows = await database.kysely
    .selectFrom(join.name)
    .select([join.from, join.to])
    .where(join.from, 'in', keys)
    .orderBy(join.to)
    .execute()
  const toKey = (value: unknown, isUuid: boolean): unknown =>
    isUuid ? String(value) : Number(value)
  return rows.map((row) => [
    toKey(row[join.from], local.isUuid),
    toKey(row[join.to], foreign.isUuid),
  ])
}

function spread(
  pairs: readonly (readonly [from: unknown, to: unknown])[],
  byForeign: ReadonlyMap<string, readonly Instance[]>,
): Map<string, Instance[]> {
  const byLocal = new Map<string, Instance[]>()
  for (const [from, to] of pairs) {
    const related = byForeign.get(textOf(to)) ?? []
    byLocal.set(textOf(from), [...(byLocal.get(textOf(from)) ?? []), ...related])
  }
  return byLocal
}

function group(
  records: readonly Instance[],
  keyOf: (record: Instance) => unknown,
): Map<string, Instance[]> {
  const groups = new Map<string, Instance[]>()
  for (const record of records) {
    const key = textOf(keyOf(record))
    const list = groups.get(key)
    if (list === undefined) groups.set(key, [record])
    else list.push(record)
  }
  return groups
}

function textOf(value: unknown): string {
  return String(value).toLowerCase()
}

function isThere(value: unknown): boolean {
  return value !== undefined && value !== null
}
