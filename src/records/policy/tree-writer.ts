/**
 * Writes a row and all nested rows in an open transaction. All rows that it names were looked up before.
 * Source: decisions, Records: writes.
 */

import { silentLog } from '../../core/log.js'
import type { Id } from '../filters/list-options.js'
import { toKey } from '../model/codec.js'
import { isolationOf } from '../model/write-hooks.js'
import type { Table, Relation } from '../model/table.js'
import {
  type TreeRecords,
  lockVisibleRows,
  type WriteTarget,
  KeyChecker,
  notRelated,
  RowLookup,
} from './row-lookup.js'
import type { Source } from '../statements/source.js'
import { allowingSwaps } from '../statements/swapped-values.js'
import { type Caller, forbidden } from '../rights/caller.js'
import { ClientView } from './client-view.js'
import { TreeRights } from './tree-rights.js'
import {
  tablesOf,
  type Instance,
  type WriteTree,
  setDerivedKey,
  refuseOwner,
  type LinkSet,
  type ToMany,
  toTypedKey,
  toKeyText,
  atKey,
  withValues,
} from '../statements/write-tree.js'
import { createInOrder } from '../statements/reference-order.js'
import { type MaybePromise, attempt } from '../../core/maybe-promise.js'
import type { VisibleRows } from '../statements/write-row.js'
import { writerOf, type Writer } from '../statements/hooks.js'
import { concealErrors, canNameReferrers } from '../rights/secured-responses.js'

type Repositories = (table: Table, source: Source) => TreeRecords

const program: Caller = Object.freeze({
  trusted: true,
  auth: undefined,
  user: null,
  request: undefined,
})

export class ProgramWriter {
  readonly #source: Source
  readonly #repositories: Repositories

  /** @param repositories returns the repository of a table, in a transaction */
  constructor(source: Source, repositories: Repositories) {
    this.#source = source
    this.#repositories = repositories
  }

  async create(tree: WriteTree): Promise<Instance> {
    await new TreeRights(program, false).demand(tree, true)
    return this.#source.atomically(
      (inner) => this.#writerIn(inner).writer.create(tree),
      isolationOf(tablesOf(tree)),
    )
  }

  /** @returns null if no row has the key, or the condition does not match */
  async update(
    id: Id,
    tree: WriteTree,
    {
      where,
      expected,
    }: { readonly where?: unknown; readonly expected?: readonly number[] | undefined },
  ): Promise<Instance | null> {
    const { table } = tree
    const key = toKey(this.#source.context.codecOf(table), id)
    if (key === undefined) return null
    await new TreeRights(program, false).demand(tree, false)
    const update = async (inner: Source): Promise<Instance | null> => {
      const { writer, view } = this.#writerIn(inner)
      const byKey = { [table.key.property]: toTypedKey(table, id) }
      const filter = where === undefined ? byKey : { and: [byKey, where] }
      const [before] = await lockVisibleRows(table, filter, view, inner)
      return before === undefined ? null : writer.update(tree, before, expected)
    }
    const isolation = isolationOf(tablesOf(tree))
    return allowingSwaps((work) => this.#source.atomically(work, isolation), update)
  }

  #writerIn(inner: Source): { writer: TreeWriter; view: ClientView } {
    const target: WriteTarget = {
      source: inner,
      records: (table) => this.#repositories(table, inner),
    }
    const view = new ClientView({ context: inner.context, caller: program, log: silentLog })
    return { writer: new TreeWriter(target, view, new KeyChecker(target, view)), view }
  }
}

interface RowConditions {
  /** Update only a row at one of these versions. */
  readonly expected?: readonly number[] | undefined
  /** Update only rows that the caller can see, before and after. */
  readonly rowFilter?: VisibleRows | undefined
}

export class TreeWriter {
  readonly #target: WriteTarget
  readonly #view: ClientView
  readonly #keys: KeyChecker
  readonly #lookup: RowLookup
  readonly #caller: Caller
  /** Keys of written rows, which are checked at the end. */
  readonly #written = new Map<Table, Set<unknown>>()

  constructor(target: WriteTarget, view: ClientView, keys: KeyChecker) {
    this.#target = target
    this.#view = view
    this.#keys = keys
    this.#lookup = new RowLookup(target, view, keys)
    this.#caller = view.caller
  }

  /** @throws {HttpError} 400, 404, 409; 403 if the caller could not see a row afterwards */
  async create(tree: WriteTree): Promise<Instance> {
    await this.#lookup.lookUp(tree, undefined)
    const record = await this.#create(tree)
    await this.#checkWritten()
    return record
  }

  /** @returns null if the row does not exist. @throws {HttpError} as `create` */
  async update(
    tree: WriteTree,
    before: Instance,
    expected?: readonly number[],
  ): Promise<Instance | null> {
    await this.#lookup.lookUp(tree, before)
    const record = await this.#change(tree, before, expected)
    if (record !== null) await this.#checkWritten()
    return record
  }

  async #create(tree: WriteTree): Promise<Instance> {
    await this.#writeOwners(tree)
    const record = await insertTree(this.#target, tree, this.#caller)
    this.#addWritten(tree.table, record)
    for (const many of tree.toMany) await this.#writeMany(many, record)
    for (const link of tree.links) await this.#addLinks(tree.table, record, link)
    return record
  }

  async #change(
    tree: WriteTree,
    before: Instance,
    expected?: readonly number[],
  ): Promise<Instance | null> {
    const { table } = tree
    await this.#writeOwners(tree)
    const id = before[table.key.property] as Id
    const record = await changeTree(this.#target, id, tree, this.#caller, { expected })
    if (record === null) return null
    this.#addWritten(table, record)
    for (const one of tree.toOne) {
      const owner = this.#lookup.owners.get(one)
      if (one.operation !== 'delete' || owner === undefined) continue
      await this.#delete(one.relation, owner[one.relation.target.key.property] as Id, one.path)
    }
    for (const many of tree.toMany) await this.#writeMany(many, record)
    for (const link of tree.links) await this.#replaceLinks(table, record, link)
    return record
  }

  /** Writes the rows to which the row belongs, and sets their keys. */
  async #writeOwners(tree: WriteTree): Promise<void> {
    for (const one of tree.toOne) {
      const { local, foreign } = one.relation
      if (one.operation === 'create') {
        const owner = await this.#create(one.tree)
        setDerivedKey(tree, local.property, owner[foreign.property])
      } else if (one.operation === 'connect')
        setDerivedKey(tree, local.property, toTypedKey(one.relation.target, one.id))
      else if (one.operation === 'update')
        await this.#changeLookedUp(one.tree, one.relation, one.path)
      else setDerivedKey(tree, local.property, null)
    }
  }

  async #changeLookedUp(tree: WriteTree, relation: Relation, path: string): Promise<void> {
    const before = this.#lookup.before.get(tree)
    const changed = before && (await this.#change(tree, before))
    if (changed === undefined || changed === null) throw notRelated(relation, path)
  }

  /** Rows are removed before others are added, because values may be unique. */
  async #writeMany(many: ToMany, record: Instance): Promise<void> {
    const { relation, path, create, update } = many
    const { local, foreign, kind } = relation
    const ownKey = record[local.property] as Id
    for (const [index, id] of many.delete.entries())
      await this.#delete(relation, id, `${path}.delete.${index}`)
    if (kind === 'manyToMany') await this.#linkMany(many, ownKey)
    else await this.#moveMany(many, ownKey)
    for (const [index, { tree }] of update.entries()) {
      if (kind === 'hasMany' && tree.values[foreign.property] !== undefined)
        setDerivedKey(tree, foreign.property, ownKey)
      refuseOwner(tree, kind === 'hasMany' ? foreign.property : '')
      await this.#changeLookedUp(tree, relation, `${path}.update.${index}`)
    }
    if (kind === 'hasMany')
      for (const tree of create) {
        refuseOwner(tree, foreign.property)
        setDerivedKey(tree, foreign.property, ownKey)
      }
    const children = await createInOrder(relation.target, this.#target.source, create, {
      valuesOf: ({ values }) => values,
      create: (tree, values) => this.#create(withValues(tree, values)),
    })
    if (kind === 'manyToMany' && children.length > 0) {
      const createdIds = children.map((child) => child[relation.target.key.property] as Id)
      await this.#target.records(relation.table).link(ownKey, relation.name, createdIds)
    }
  }

  async #linkMany({ relation, path, connect, disconnect }: ToMany, ownKey: Id): Promise<void> {
    const repository = this.#target.records(relation.table)
    if (disconnect.length > 0) await repository.unlink(ownKey, relation.name, disconnect)
    if (connect.length === 0) return
    try {
      await repository.link(ownKey, relation.name, connect)
    } catch (error) {
      throw atKey(error, relation.table, `${path}.connect`)
    }
  }

  /** Assigns the named children to another parent, or to none. */
  async #moveMany({ relation, path, connect, disconnect }: ToMany, ownKey: Id): Promise<void> {
    const { target, foreign } = relation
    const move = async (id: Id, to: Id | null, at: string): Promise<void> => {
      const repository = this.#target.records(target)
      try {
        const moved = await repository.updateNow(
          id,
          { [foreign.property]: to },
          { writer: writerFor(this.#caller) },
        )
        if (moved === null) throw notRelated(relation, at, id)
        this.#addWritten(target, moved)
      } catch (error) {
        throw atKey(error, target, at)
      }
    }
    for (const [index, id] of disconnect.entries())
      await move(id, null, `${path}.disconnect.${index}`)
    for (const [index, id] of connect.entries()) await move(id, ownKey, `${path}.connect.${index}`)
  }

  async #delete(relation: Relation, id: Id, path: string): Promise<void> {
    const { target } = relation
    try {
      const writer = writerFor(this.#caller)
      const canName = canNameReferrers(this.#caller)
      if (!(await this.#target.records(target).deleteNow(id, canName, undefined, writer)))
        throw notRelated(relation, path, id)
    } catch (error) {
      throw atKey(error, target, path)
    }
  }

  async #addLinks(table: Table, record: Instance, link: LinkSet): Promise<void> {
    const { relation, ids, toClientError } = link
    try {
      const id = record[table.key.property] as Id
      await this.#target.records(table).link(id, relation.name, ids)
    } catch (error) {
      throw toClientError(error)
    }
  }

  /** Replaces the links: afterwards exactly these links exist, among the rows that the caller can see. */
  async #replaceLinks(table: Table, record: Instance, link: LinkSet): Promise<void> {
    const { relation, ids } = link
    const { property } = relation.target.key
    const repository = this.#target.records(table)
    const id = record[table.key.property] as Id
    const recordWithLinks = await repository.find(id, { with: [relation.name] })
    const linkedRows = (recordWithLinks?.[relation.name] as Instance[] | undefined) ?? []
    const newIds = new Set(ids.map(toKeyText))
    const linkedIds = linkedRows.map((other) => other[property] as Id)
    const removedIds = linkedIds.filter((other) => !newIds.has(toKeyText(other)))
    const unlinkedIds = this.#keys.mustCheck(relation)
      ? await this.#keys.visible(relation.target, removedIds)
      : removedIds
    if (unlinkedIds.length > 0) await repository.unlink(id, relation.name, unlinkedIds)
    await this.#addLinks(table, record, link)
  }

  #addWritten(table: Table, record: Instance): void {
    if (!this.#view.isBound(table)) return
    const ids = this.#written.get(table) ?? new Set()
    this.#written.set(table, ids.add(record[table.key.property]))
  }

  /** Checks the written rows of records with `rows`; rows of other records need no check. */
  async #checkWritten(): Promise<void> {
    for (const [table, ids] of this.#written) {
      const visibleIds = await this.#keys.visible(table, [...ids] as Id[])
      if (visibleIds.length < ids.size) throw forbidden()
    }
  }
}

/** Inserts one row. */
export function insertTree(
  target: WriteTarget,
  { table, values, toClientError }: WriteTree,
  caller: Caller,
): MaybePromise<Instance> {
  return attempt<Instance>(
    () => target.records(table).createNow(values, writerFor(caller, table)),
    (error) => {
      throw toClientError(concealErrors(error, table, caller))
    },
  )
}

/** Updates one row. */
export function changeTree(
  target: WriteTarget,
  id: Id,
  { table, values, toClientError }: WriteTree,
  caller: Caller,
  conditions: RowConditions = {},
): MaybePromise<Instance | null> {
  return attempt<Instance | null>(
    () =>
      target
        .records(table)
        .updateNow(id, values, { writer: writerFor(caller, table), ...conditions }),
    (error) => {
      throw toClientError(concealErrors(error, table, caller))
    },
  )
}

/**
 * The writer for hooks. Undefined for the program, whose writes count as writes of the current request's caller.
 *
 * @param written the record of a created or changed row: without hooks for that, no writer is needed
 */
export function writerFor(caller: Caller, written?: Table): Writer | undefined {
  return caller.trusted || written?.hasWriteHooks === false ? undefined : writerOf(caller)
}
