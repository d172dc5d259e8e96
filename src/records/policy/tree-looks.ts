/**
 * Looks up all rows that a write names before anything is written: rows of another parent, invisible and missing rows
 * give the same error. The rows are locked until the transaction ends. Source: decisions, Second storey: rights.
 */
import { HttpError } from '../../errors/http-error.js'
import { invalid } from '../filters/invalid.js'
import type { Id } from '../filters/list-options.js'
import { toKey } from '../model/key.js'
import type { Relation, Table } from '../model/table.js'
import { noSuchKey } from '../statements/write-faults.js'
import { atKey } from '../statements/read-nested.js'
import type { ClientView } from './client-view.js'
import type { JudgedKeys } from './judged-keys.js'
import { keyOf, textOf } from '../filters/key-forms.js'
import type { Instance, ToMany, ToOne, WriteTree } from '../statements/write-tree.js'
import { holdSeen, mostAtOnce, type WriterHome } from './writer-home.js'

export class TreeLooks {
  /** The stored rows that will change. */
  readonly before = new Map<WriteTree, Instance>()
  /** The rows to which the row stops belonging. */
  readonly owners = new Map<ToOne, Instance>()
  readonly #home: WriterHome
  readonly #view: ClientView
  readonly #keys: JudgedKeys

  constructor(home: WriterHome, view: ClientView, keys: JudgedKeys) {
    this.#home = home
    this.#view = view
    this.#keys = keys
  }

  /**
   * @param before the stored row; `undefined` for a new one
   * @throws {HttpError} 404 `NOT_FOUND` for rows that are not the parent's, 409 `CONFLICT` for keys to connect
   */
  async look(tree: WriteTree, before: Instance | undefined): Promise<void> {
    if (before !== undefined) this.before.set(tree, before)
    await this.#keys.judge(tree, before)
    for (const one of tree.ones) await this.#lookOne(one, before)
    for (const many of tree.manys) await this.#lookMany(many, before)
  }

  async #lookOne(one: ToOne, parent: Instance | undefined): Promise<void> {
    const { relation, path } = one
    const { target, local } = relation
    if (one.does === 'create') return this.look(one.tree, undefined)
    if (one.does === 'connect') return this.#lookConnected(relation, [one.id], () => path)
    const key = parent?.[local.property] as Id | null | undefined
    const ids = key === undefined || key === null ? [] : [key]
    const [row] = (await this.#held(target, ids)).values()
    if (row === undefined) throw notTheirs(relation, path)
    if (one.does === 'update') return this.look(one.tree, row)
    this.owners.set(one, row)
  }

  async #lookMany(many: ToMany, parent: Instance | undefined): Promise<void> {
    const { relation, path, update, connect, disconnect } = many
    const named = [...update.map(({ id }) => id), ...disconnect, ...many.delete]
    const found = await this.#related(relation, parent, named)
    const find = (id: Id, at: string): Instance => {
      const row = found.get(textOf(id))
      if (row === undefined) throw notTheirs(relation, at, id)
      return row
    }
    for (const [index, id] of disconnect.entries()) find(id, `${path}.disconnect.${index}`)
    for (const [index, id] of many.delete.entries()) find(id, `${path}.delete.${index}`)
    for (const [index, { id, tree }] of update.entries())
      await this.look(tree, find(id, `${path}.update.${index}`))
    await this.#lookConnected(relation, connect, (index) => `${path}.connect.${index}`)
    for (const tree of many.create) await this.look(tree, undefined)
  }

  /** Those of the rows that belong to the parent, by key. */
  async #related(
    relation: Relation,
    parent: Instance | undefined,
    ids: readonly Id[],
  ): Promise<ReadonlyMap<string, Instance>> {
    if (parent === undefined || ids.length === 0) return new Map()
    const { target, local, foreign, join } = relation
    const own = parent[local.property]
    if (join === undefined) return this.#held(target, ids, { [foreign.property]: own })
    const { source } = this.#home
    const { context } = source
    const { statement } = context.plansOf(relation.table).tiedAmong(relation)
    const mine = context.codecOf(relation.table).key.encode(own)
    const codec = context.codecOf(target)
    const tied: Id[] = []
    const keys = ids.map((id) => toKey(codec, id)).filter((key) => key !== undefined)
    for (let from = 0; from < keys.length; from += mostAtOnce) {
      const some = context.dialect.encodeList(target.key, keys.slice(from, from + mostAtOnce))
      for (const [, ...row] of await source.runner().run(statement, [mine, some], 'rows'))
        tied.push((codec.readRow(row) as Instance)[target.key.property] as Id)
    }
    return this.#held(target, tied)
  }

  async #held(
    target: Table,
    ids: readonly Id[],
    where: object = {},
  ): Promise<ReadonlyMap<string, Instance>> {
    const { property } = target.key
    const found = new Map<string, Instance>()
    const keys = this.#keysOf(target, ids)
    for (let from = 0; from < keys.length; from += mostAtOnce) {
      const asked = { ...where, [property]: { in: keys.slice(from, from + mostAtOnce) } }
      for (const row of await holdSeen(target, asked, this.#view, this.#home.source))
        found.set(textOf(row[property]), row)
    }
    return found
  }

  /** Leaves out values that cannot be keys: they name no row. */
  #keysOf(target: Table, ids: readonly Id[]): Id[] {
    const codec = this.#home.source.context.codecOf(target)
    return ids.filter((id) => toKey(codec, id) !== undefined).map((id) => keyOf(target, id))
  }

  /** Rows that the client may not see count as missing; for all other missing rows the database reports an error. */
  async #lookConnected(
    relation: Relation,
    ids: readonly Id[],
    pathOf: (index: number) => string,
  ): Promise<void> {
    if (ids.length === 0) return
    const { target, kind } = relation
    const codec = this.#home.source.context.codecOf(target)
    for (const [index, id] of ids.entries())
      if (toKey(codec, id) === undefined) throw invalid(pathOf(index), 'type', 'must be an id')
    const seen =
      kind === 'hasMany'
        ? await this.#held(target, ids)
        : new Set((await this.#keys.seen(target, ids)).map(textOf))
    for (const [index, id] of ids.entries())
      if (!seen.has(textOf(id))) throw atKey(noSuchKey(relation), relation.table, pathOf(index))
  }
}

/** The row is missing, invisible to the caller, or belongs to another parent. */
export function notTheirs({ table, target, name }: Relation, path: string, id?: Id): HttpError {
  const which = id === undefined ? '' : ` ${String(id).slice(0, 50)}`
  const message = `There is no ${target.type.name}${which} among the ${name} of this ${table.type.name}.`
  const errors = [{ path, code: 'reference', message }]
  return new HttpError(404, message, { code: 'NOT_FOUND', errors })
}
