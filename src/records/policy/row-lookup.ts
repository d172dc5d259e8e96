/**
 * Looks up all rows that a write names before it writes anything. Rows of another parent, invisible rows and missing
 * rows cause the same error. The rows are locked until the transaction ends. Source: decisions, Records: access rules.
 */

import type { Id, ListOptions } from '../filters/list-options.js'
import { lockRows } from '../statements/change-row.js'
import { noSuchKey } from '../statements/client-errors.js'
import {
  type LinkSet,
  type WriteTree,
  type ToMany,
  type BelongsToWrite,
  isNullish,
  toTypedKey,
  toKeyText,
  atKey,
} from '../statements/write-tree.js'
import { allOf, isOneOf } from '../../sql/condition.js'
import type { Condition, Table, Relation, Instance } from '../model/table.js'
import { FilterReader } from '../filters/filter.js'
import { readRelated, toRecords } from '../statements/read-records.js'
import { toSelected } from '../statements/select-rows.js'
import { checkShard, shardCondition } from '../statements/shard.js'
import type { Source } from '../statements/source.js'
import type { FoundKeys } from './found-keys.js'
import type { ClientView } from './client-view.js'
import { storedColumnsOf, type Column } from '../../engines/contract/table.js'
import { toKey } from '../model/codec.js'
import { idOf, keyOf } from '../model/record-key.js'
import { policyOf } from '../rights/record-policy.js'
import { HttpError } from '../../errors/http-error.js'
import { nameMissingKeys } from '../../errors/field-errors.js'
import type { Caller } from '../rights/caller.js'
import { invalid } from '../filters/query-errors.js'

/** Reads the rows of a record. `Repository` documents the methods. */
export interface RowReader {
  find(id: Id, options?: { readonly with?: readonly string[] }): Promise<Instance | null>
  list(options: ListOptions<Instance>): Promise<Instance[]>
}

/** The repository of a record, to read its rows. */
export function readerOf(table: Table, source: Source): RowReader {
  return source.context.providers.records(table.type, source) as RowReader
}

/** The maximum number of keys in one query. */
const maxKeysPerQuery = 5000

/**
 * The rows of a filter that are not marked as deleted and that the caller can see, locked until the transaction ends.
 * The filter comes from the program, so it may use any field.
 */
export async function lockVisibleRows(
  table: Table,
  where: object,
  view: ClientView,
  source: Source,
): Promise<Instance[]> {
  const reader = new FilterReader(source.context, false)
  const requested: Condition = reader.read(table, where)
  const visible = view.isBound(table) ? view.rows(table, reader) : undefined
  const condition = allOf(allOf(requested, visible), shardCondition(table, source.context, reader))
  checkShard(table, condition)
  const rows = await lockRows(table, source, toSelected(condition, reader), maxKeysPerQuery)
  return toRecords(table, source.context, rows)
}

/** Checks the keys and links that a client names. Rows that the client cannot see count as missing. */
export class KeyChecker {
  readonly #source: Source
  readonly #view: ClientView

  constructor(source: Source, view: ClientView) {
    this.#source = source
    this.#view = view
  }

  /** True if the tree names a key that must be checked. */
  namesCheckedKey({ table, values }: WriteTree): boolean {
    if (this.#view.caller.trusted) return false
    for (const { kind, local } of policyOf(table).checkedRelations)
      if (kind === 'belongsTo' && namesReference(local, values)) return true
    return false
  }

  /**
   * @param before the stored row: a key that does not change is not checked
   * @param found keys that need no check, because an earlier one has found them
   * @throws {HttpError} 409 `CONFLICT`
   */
  async check(tree: WriteTree, before?: Instance, found?: FoundKeys): Promise<void> {
    if (this.#view.caller.trusted) return
    const { context } = this.#source
    for (const relation of policyOf(tree.table).checkedRelations) {
      const { local } = relation
      const value = foreignKeyIn(tree, local, before)
      if (relation.kind !== 'belongsTo' || isNullish(value) || isDerivedKey(tree, local)) continue
      if (before !== undefined && toKeyText(keyOf(local, before)) === toKeyText(value)) continue
      // A value that cannot be a key is reported as a validation error of the value.
      if (toKey(context.codecOf(relation.target), value) === undefined) continue
      const visibleKeys = await this.#visibleOf(relation.target, [value as Id], found)
      if (visibleKeys.length === 0)
        throw tree.toClientError(sentKeyError(noSuchKey(relation, value), this.#view.caller))
    }
    for (const link of tree.links) await this.#checkLinks(link, found)
  }

  async #checkLinks({ relation, ids, toClientError }: LinkSet, found?: FoundKeys): Promise<void> {
    if (!this.mustCheck(relation) || !Array.isArray(ids)) return
    const codec = this.#source.context.codecOf(relation.target)
    const keys = (ids as Id[]).filter((id) => toKey(codec, id) !== undefined)
    if (keys.length < ids.length) return
    const visible = new Set(await this.#visibleOf(relation.target, keys, found))
    const missing = keys.find((id) => !visible.has(id))
    if (missing !== undefined)
      throw toClientError(sentKeyError(noSuchKey(relation, missing), this.#view.caller))
  }

  /** As `visible`. Keys that were found before are not looked up again. */
  async #visibleOf(
    target: Table,
    ids: readonly Id[],
    found: FoundKeys | undefined,
  ): Promise<readonly Id[]> {
    if (found === undefined) return this.visible(target, ids)
    const unknownIds = found.without(target, ids)
    if (unknownIds.length === 0) return ids
    const visible = await this.visible(target, unknownIds)
    found.add(target, visible)
    const unknown = new Set(unknownIds)
    const isVisible = new Set(visible)
    return ids.filter((id) => !unknown.has(id) || isVisible.has(id))
  }

  mustCheck(relation: Relation): boolean {
    return !this.#view.caller.trusted && policyOf(relation.table).checkedRelations.has(relation)
  }

  /** The keys of the rows that the caller can see. */
  async visible(target: Table, ids: readonly Id[]): Promise<Id[]> {
    const { property } = target.key
    const visible = new Set<string>()
    for (let from = 0; from < ids.length; from += maxKeysPerQuery) {
      const some = ids.slice(from, from + maxKeysPerQuery).map((id) => toTypedKey(target, id))
      const where = { [property]: { in: some } }
      const rows = await readerOf(target, this.#source).list({ where, view: this.#view })
      for (const row of rows) visible.add(toKeyText(idOf(target, row)))
    }
    return ids.filter((id) => visible.has(toKeyText(toTypedKey(target, id))))
  }
}

/**
 * Looks up all rows that a write names before it writes anything, and locks them until the transaction ends. Rows of
 * another parent, invisible rows and missing rows cause the same error.
 */
export class RowLookup {
  /** The stored rows that will change. */
  readonly before = new Map<WriteTree, Instance>()
  /** The rows that are to be deleted or left, by the operation of the row that belongs to them. */
  readonly relatedBefore = new Map<BelongsToWrite, Instance>()
  readonly #source: Source
  readonly #view: ClientView
  readonly #keys: KeyChecker

  constructor(source: Source, view: ClientView, keys: KeyChecker) {
    this.#source = source
    this.#view = view
    this.#keys = keys
  }

  /**
   * @param before the stored row; `undefined` for a new one
   * @throws {HttpError} 404 `NOT_FOUND` for rows that are not the parent's, 409 `CONFLICT` for keys to connect
   */
  async lookUp(tree: WriteTree, before: Instance | undefined): Promise<void> {
    if (before !== undefined) this.before.set(tree, before)
    await this.#keys.check(tree, before)
    for (const one of tree.belongsTo) await this.#lookUpBelongsTo(one, before)
    for (const many of tree.toMany) await this.#lookUpMany(many, before)
  }

  async #lookUpBelongsTo(one: BelongsToWrite, parent: Instance | undefined): Promise<void> {
    const { relation, path } = one
    const { target, local } = relation
    if (one.operation === 'create') return this.lookUp(one.tree, undefined)
    if (one.operation === 'connect') return this.#lookUpConnected(relation, [one.id], () => path)
    const key = parent && (keyOf(local, parent) as Id | null | undefined)
    const ids = key === undefined || key === null ? [] : [key]
    const [row] = (await this.#lockRows(target, ids)).values()
    if (row === undefined) throw notRelated(relation, path)
    if (one.operation === 'update') return this.lookUp(one.tree, row)
    this.relatedBefore.set(one, row)
  }

  async #lookUpMany(many: ToMany, parent: Instance | undefined): Promise<void> {
    const { relation, path, update, connect, disconnect } = many
    const named = [...update.map(({ id }) => id), ...disconnect, ...many.delete]
    const found = await this.#related(relation, parent, named)
    const find = (id: Id, at: string): Instance => {
      const row = found.get(toKeyText(id))
      if (row === undefined) throw notRelated(relation, at, id)
      return row
    }
    for (const [index, id] of disconnect.entries()) find(id, `${path}.disconnect.${index}`)
    for (const [index, id] of many.delete.entries()) find(id, `${path}.delete.${index}`)
    for (const [index, { id, tree }] of update.entries())
      await this.lookUp(tree, find(id, `${path}.update.${index}`))
    await this.#lookUpConnected(relation, connect, (index) => `${path}.connect.${index}`)
    for (const tree of many.create) await this.lookUp(tree, undefined)
  }

  /** The named rows that belong to the parent, by key. */
  async #related(
    relation: Relation,
    parent: Instance | undefined,
    ids: readonly Id[],
  ): Promise<ReadonlyMap<string, Instance>> {
    if (parent === undefined || ids.length === 0) return new Map()
    const { target, local, foreign, join } = relation
    const parentKey = keyOf(local, parent)
    if (join === undefined) return this.#lockRows(target, ids, { [foreign.property]: parentKey })
    const source = this.#source
    const { context } = source
    const encodedKey = context.codecOf(relation.table).key.encode(parentKey)
    const codec = context.codecOf(target)
    const linkedIds: Id[] = []
    const keys = ids.map((id) => toKey(codec, id)).filter((key) => key !== undefined)
    for (let from = 0; from < keys.length; from += maxKeysPerQuery) {
      const some = keys.slice(from, from + maxKeysPerQuery)
      const named = context.dialect.lists.encode(target.key, some)
      const rows = { where: isOneOf(target.key, 0) }
      const found = await readRelated(relation, [encodedKey], source, {
        key: 'a',
        values: [named],
        rows,
      })
      for (const record of [...found.values()].flat()) linkedIds.push(idOf(target, record))
    }
    return this.#lockRows(target, linkedIds)
  }

  async #lockRows(
    target: Table,
    ids: readonly Id[],
    where: object = {},
  ): Promise<ReadonlyMap<string, Instance>> {
    const { property } = target.key
    const found = new Map<string, Instance>()
    const keys = this.#keysOf(target, ids)
    for (let from = 0; from < keys.length; from += maxKeysPerQuery) {
      const filter = { ...where, [property]: { in: keys.slice(from, from + maxKeysPerQuery) } }
      for (const row of await lockVisibleRows(target, filter, this.#view, this.#source))
        found.set(toKeyText(idOf(target, row)), row)
    }
    return found
  }

  /** Leaves out values that cannot be keys, because they name no row. */
  #keysOf(target: Table, ids: readonly Id[]): Id[] {
    const codec = this.#source.context.codecOf(target)
    return ids.filter((id) => toKey(codec, id) !== undefined).map((id) => toTypedKey(target, id))
  }

  /** Rows that the client may not see count as missing. For other missing rows the database reports an error. */
  async #lookUpConnected(
    relation: Relation,
    ids: readonly Id[],
    pathOf: (index: number) => string,
  ): Promise<void> {
    if (ids.length === 0) return
    const { target, kind } = relation
    const codec = this.#source.context.codecOf(target)
    for (const [index, id] of ids.entries())
      if (toKey(codec, id) === undefined) throw invalid(pathOf(index), 'type', 'must be an id')
    const visible =
      kind === 'hasMany'
        ? await this.#lockRows(target, ids)
        : new Set((await this.#keys.visible(target, ids)).map(toKeyText))
    for (const [index, id] of ids.entries())
      if (!visible.has(toKeyText(id)))
        throw atKey(
          sentKeyError(noSuchKey(relation, id), this.#view.caller),
          relation.table,
          pathOf(index),
        )
  }
}

/** Whether the input names a foreign key, or one of its parts. */
function namesReference(local: Column, values: Instance): boolean {
  return storedColumnsOf(local).some(({ property }) => !isNullish(values[property]))
}

/**
 * The foreign key of the row after the write. Parts that the input does not name keep their values, or get their defaults.
 *
 * @returns undefined or null if the input names none
 */
function foreignKeyIn({ values }: WriteTree, local: Column, before: Instance | undefined): unknown {
  if (local.parts === undefined || !namesReference(local, values)) return keyOf(local, values)
  const named = Object.entries(values).filter(([, value]) => value !== undefined)
  return keyOf(local, { ...(before ?? defaultsOf(local.parts)), ...Object.fromEntries(named) })
}

function defaultsOf(columns: readonly Column[]): Instance {
  return Object.fromEntries(
    columns.map(({ property, field }) => {
      const value: unknown = field.rules.default
      return [property, typeof value === 'function' ? (value as () => unknown)() : value]
    }),
  )
}

/** Whether the key follows from the nesting. */
function isDerivedKey({ derivedFields }: WriteTree, local: Column): boolean {
  return storedColumnsOf(local).every(({ property }) => derivedFields.has(property))
}

/** An error about a key of the input itself, which names the key unless the program wrote the input. */
export function sentKeyError(error: unknown, caller: Caller): unknown {
  return caller.trusted ? error : nameMissingKeys(error, () => true)
}

/** The error for a row that is missing, invisible to the caller, or part of another parent. */
export function notRelated({ table, target, name }: Relation, path: string, id?: Id): HttpError {
  const keyText = id === undefined ? '' : ` ${String(id).slice(0, 50)}`
  const message = `There is no ${target.type.name}${keyText} among the ${name} of this ${table.type.name}.`
  const errors = [{ path, code: 'reference', message }]
  return new HttpError(404, message, { code: 'NOT_FOUND', errors })
}
