/**
 * Writes a row and all nested rows in an open transaction. All rows that it names were looked up before.
 * Source: decisions, Records: writes.
 */

import type { Id } from '../filters/list-options.js'
import type { Table, Relation, Instance } from '../model/table.js'
import { type KeyChecker, notRelated, readerOf, RowLookup, sentKeyError } from './row-lookup.js'
import type { Source } from '../statements/source.js'
import { type Caller, forbidden } from '../rights/caller.js'
import type { ClientView } from './client-view.js'
import { changeLinks } from '../statements/links.js'
import { createOne, deleteOne, updateOne } from '../statements/write-one.js'
import {
  type WriteTree,
  setDerivedKey,
  checkParentKey,
  type LinkSet,
  type ToMany,
  toTypedKey,
  isNullish,
  toKeyText,
  atKey,
  withValues,
} from '../statements/write-tree.js'
import { idOf, keyOf, namesValueOf, noKeyOf, partsOfKey } from '../model/record-key.js'
import { createInOrder } from '../statements/reference-order.js'
import { type MaybePromise, attempt } from '../../core/maybe-promise.js'
import type { VisibleRows } from '../statements/row-filter.js'
import { writerOf, type Writer } from '../statements/hooks.js'
import { concealErrors, canNameReferrers } from '../rights/secured-responses.js'
import { nameMissingKeys } from '../../errors/field-errors.js'

/** Conditions of an update. */
export interface RowConditions {
  /** Update the row only if it matches this filter of a program. */
  readonly where?: unknown
  /** Update only a row at one of these versions. */
  readonly expected?: readonly number[] | undefined
  /** Update only rows that the caller can see, before and after. */
  readonly rowFilter?: VisibleRows | undefined
}

export class TreeWriter {
  readonly #source: Source
  readonly #view: ClientView
  readonly #keys: KeyChecker
  readonly #lookup: RowLookup
  readonly #caller: Caller
  /** Keys of written rows, which are checked at the end. */
  readonly #written = new Map<Table, Set<unknown>>()

  constructor(source: Source, view: ClientView, keys: KeyChecker) {
    this.#source = source
    this.#view = view
    this.#keys = keys
    this.#lookup = new RowLookup(source, view, keys)
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
    await this.#writeBelongsTo(tree)
    const record = await insertTree(this.#source, tree, this.#caller)
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
    await this.#writeBelongsTo(tree)
    const id = idOf(table, before)
    const record = await changeTree(this.#source, id, tree, this.#caller, { expected })
    if (record === null) return null
    this.#addWritten(table, record)
    for (const one of tree.belongsTo) {
      const before = this.#lookup.relatedBefore.get(one)
      if (one.operation !== 'delete' || before === undefined) continue
      await this.#delete(one.relation, idOf(one.relation.target, before), one.path)
    }
    for (const many of tree.toMany) await this.#writeMany(many, record)
    for (const link of tree.links) await this.#replaceLinks(table, record, link)
    return record
  }

  /** Writes the rows to which the row belongs, and sets their keys. */
  async #writeBelongsTo(tree: WriteTree): Promise<void> {
    for (const one of tree.belongsTo) {
      const { local, foreign } = one.relation
      if (one.operation === 'create') {
        const created = await this.#create(one.tree)
        setDerivedKey(tree, local, keyOf(foreign, created))
      } else if (one.operation === 'connect')
        setDerivedKey(tree, local, toTypedKey(one.relation.target, one.id))
      else if (one.operation === 'update')
        await this.#changeLookedUp(one.tree, one.relation, one.path)
      else setDerivedKey(tree, local, null)
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
    const ownKey = keyOf(local, record) as Id
    for (const [index, id] of many.delete.entries())
      await this.#delete(relation, id, `${path}.delete.${index}`)
    if (kind === 'manyToMany') await this.#linkMany(many, ownKey)
    else await this.#moveMany(many, ownKey)
    for (const [index, { tree }] of update.entries()) {
      if (kind === 'hasMany' && namesValueOf(foreign, tree.values))
        setDerivedKey(tree, foreign, ownKey)
      checkParentKey(tree, kind === 'hasMany' ? foreign.property : '')
      await this.#changeLookedUp(tree, relation, `${path}.update.${index}`)
    }
    if (kind === 'hasMany')
      for (const tree of create) {
        checkParentKey(tree, foreign.property)
        setDerivedKey(tree, foreign, ownKey)
      }
    const children = await createInOrder(relation.target, this.#source, create, {
      valuesOf: ({ values }) => values,
      create: (tree, values) => this.#create(withValues(tree, values)),
    })
    if (kind === 'manyToMany' && children.length > 0) {
      const createdIds = children.map((child) => idOf(relation.target, child))
      await this.#link(relation, ownKey, createdIds)
    }
  }

  async #linkMany({ relation, path, connect, disconnect }: ToMany, ownKey: Id): Promise<void> {
    if (disconnect.length > 0) await this.#link(relation, ownKey, disconnect, true)
    if (connect.length === 0) return
    try {
      await this.#link(relation, ownKey, connect)
    } catch (error) {
      throw atKey(sentKeyError(error, this.#caller), relation.table, `${path}.connect`)
    }
  }

  /** Assigns the named children to another parent, or to none. */
  async #moveMany({ relation, path, connect, disconnect }: ToMany, ownKey: Id): Promise<void> {
    const { target, foreign } = relation
    const move = async (id: Id, to: Id | null, at: string): Promise<void> => {
      try {
        const values = to === null ? noKeyOf(foreign) : partsOfKey(foreign, to)
        const writer = writerFor(this.#caller)
        const moved = await updateOne(target, this.#source, id, values, { writer })
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
      const isDeleted = await deleteOne(target, this.#source, id, {
        canNameReferrer: canNameReferrers(this.#caller),
        writer: writerFor(this.#caller),
      })
      if (!isDeleted) throw notRelated(relation, path, id)
    } catch (error) {
      throw atKey(error, target, path)
    }
  }

  async #addLinks(table: Table, record: Instance, link: LinkSet): Promise<void> {
    const { relation, ids, toClientError } = link
    try {
      const id = idOf(table, record)
      await this.#link(relation, id, ids)
    } catch (error) {
      throw toClientError(sentKeyError(error, this.#caller))
    }
  }

  /** Replaces the links: afterwards exactly these links exist, among the rows that the caller can see. */
  async #replaceLinks(table: Table, record: Instance, link: LinkSet): Promise<void> {
    const { relation, ids } = link
    const id = idOf(table, record)
    const reader = readerOf(table, this.#source)
    const recordWithLinks = await reader.find(id, { with: [relation.name] })
    const linkedRows = (recordWithLinks?.[relation.name] as Instance[] | undefined) ?? []
    const newIds = new Set(ids.map(toKeyText))
    const linkedIds = linkedRows.map((other) => idOf(relation.target, other))
    const removedIds = linkedIds.filter((other) => !newIds.has(toKeyText(other)))
    const unlinkedIds = this.#keys.mustCheck(relation)
      ? await this.#keys.visible(relation.target, removedIds)
      : removedIds
    if (unlinkedIds.length > 0) await this.#link(relation, id, unlinkedIds, true)
    await this.#addLinks(table, record, link)
  }

  #link(
    { table, name: relation }: Relation,
    id: Id,
    ids: readonly Id[],
    removes = false,
  ): Promise<number> {
    return changeLinks(table, this.#source, { id, relation, ids, removes })
  }

  #addWritten(table: Table, record: Instance): void {
    if (!this.#view.isBound(table)) return
    const ids = this.#written.get(table) ?? new Set()
    this.#written.set(table, ids.add(idOf(table, record)))
  }

  /** Checks the written rows of records with `rows`; rows of other records need no check. */
  async #checkWritten(): Promise<void> {
    for (const [table, ids] of this.#written) {
      const visibleIds = await this.#keys.visible(table, [...ids] as Id[])
      if (visibleIds.length < ids.size) throw forbidden()
    }
  }
}

/** Inserts the row of a tree. */
export function insertTree(
  source: Source,
  tree: WriteTree,
  caller: Caller,
): MaybePromise<Instance> {
  const { table, values } = tree
  return attempt<Instance>(
    () => createOne(table, source, values, writerFor(caller, table)),
    (error) => {
      throw namedError(error, tree, caller)
    },
  )
}

/** Updates the row of a tree. @returns null if no row has the key, or it does not match the conditions */
export function changeTree(
  source: Source,
  id: Id,
  tree: WriteTree,
  caller: Caller,
  conditions: RowConditions = {},
): MaybePromise<Instance | null> {
  const { table, values } = tree
  return attempt<Instance | null>(
    () => updateOne(table, source, id, values, { writer: writerFor(caller, table), ...conditions }),
    (error) => {
      throw namedError(error, tree, caller)
    },
  )
}

/**
 * An error about a row, in the caller's terms: with its paths and the missing keys that it sent, and without fields that a
 * client may not read.
 */
export function namedError(error: unknown, tree: WriteTree, caller: Caller): unknown {
  const { table, toClientError } = tree
  if (caller.trusted) return toClientError(error)
  const visible = concealErrors(error, table, caller)
  return toClientError(nameMissingKeys(visible, (path, key) => namesKey(tree, path, key)))
}

/** Whether the input of the row itself has the key: of a foreign key by its property, of links by their relation. */
function namesKey({ values, derivedFields, links }: WriteTree, path: string, key: string): boolean {
  const linkedIds = links.find(({ relation }) => relation.name === path)?.ids
  const ids = linkedIds ?? (derivedFields.has(path) ? [] : [values[path]])
  return ids.some((id) => !isNullish(id) && toKeyText(id) === toKeyText(key))
}

/**
 * The writer for hooks. Undefined for the program, whose writes count as writes of the current request's caller.
 *
 * @param written the record of a created or changed row: without hooks for that, no writer is needed
 */
export function writerFor(caller: Caller, written?: Table): Writer | undefined {
  return caller.trusted || written?.hasWriteHooks === false ? undefined : writerOf(caller)
}
