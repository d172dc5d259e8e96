/**
 * Creates, updates and deletes on behalf of a client, nested rows and ties included, all or nothing. A row is judged
 * before the write, on what is there, and after it, with all its children and ties; keys may name only rows that the
 * caller sees. Source: decisions, Second storey: rights.
 */
import { tokenAccess } from '../../auth/access.js'
import { type Later, after, attempt } from '../../core/later.js'
import type { Database } from '../database.js'
import type { Id } from '../filters/list-options.js'
import { toKey } from '../model/key.js'
import type { Relation, Table } from '../model/table.js'
import type { Repository } from '../repository.js'
import type { RowsWithin } from '../statements/rows-within.js'
import { noSuchKey, type Referrer } from '../statements/write-faults.js'
import { admitsAtOnce, demandAll, forbidden, type Caller } from './caller.js'
import { concealFaults } from './conceal-fault.js'
import { ClientView } from './client-view.js'
import { isNothing, keyOf, textOf } from './key-forms.js'
import { policyOf } from './record-policy.js'
import {
  giveKey,
  hasMore,
  refuseOwner,
  rulesOf,
  type Instance,
  type Tie,
  type WriteTree,
} from './write-tree.js'

/** A row that was written, to be judged when everything is. */
interface Written {
  readonly table: Table
  readonly id: unknown
}

/** Keys that are looked for at once. */
const mostAtOnce = 5000

/** The writes of one request. */
export class ClientWriter {
  readonly view: ClientView
  readonly #database: Database
  readonly #caller: Caller

  constructor(database: Database, caller: Caller) {
    this.#database = database
    this.#caller = caller
    this.view = new ClientView({ context: database.context, caller, log: database.log })
  }

  /**
   * Who may write the row itself was asked before; whoever writes others with it is asked here.
   *
   * @throws {HttpError} 400 `VALIDATION`, 409 `CONFLICT`; 401 or 403 for fields and nested records that the caller may
   * not write; 403 `FORBIDDEN` where a row would not be the caller's. Nothing is written then
   */
  create(tree: WriteTree): Later<Instance> {
    return after(this.#demandFields(tree), () => this.#createNow(tree))
  }

  /** @returns null where there is no such row, or none that the caller sees. @throws {HttpError} as `create` */
  update(id: Id, tree: WriteTree, expected?: readonly number[]): Later<Instance | null> {
    return after(this.#demandFields(tree), () => this.#updateNow(id, tree, expected))
  }

  #createNow(tree: WriteTree): Later<Instance> {
    const isAlone = !hasMore(tree) && !this.view.isBound(tree.table) && !this.#namesJudged(tree)
    if (isAlone) return this.#insert(tree)
    return this.#database.transaction(async () => {
      const written: Written[] = []
      const record = await this.#createWhole(tree, written, isOpen(tree.table))
      await this.#judge(written)
      return record
    })
  }

  #updateNow(id: Id, tree: WriteTree, expected?: readonly number[]): Later<Instance | null> {
    if (tree.ties.length > 0 || this.#namesJudged(tree))
      return this.#changeWhole(id, tree, expected)
    if (!this.view.isBound(tree.table)) return this.#change(id, tree, expected)
    const slots = { values: [] as unknown[], key: '' }
    const condition = this.view.rows(tree.table, slots)
    if (condition === undefined) return this.#change(id, tree, expected)
    const changing = this.#change(id, tree, expected, { condition, ...slots })
    return after(changing, (changed) => changed ?? this.#changeWhole(id, tree, expected))
  }

  /**
   * @returns false where there is no such row, or none that the caller sees
   * @throws {HttpError} 409 `CONFLICT` where others refer to it; not by which record, where the caller may not see those
   */
  delete(table: Table, id: Id, expected?: readonly number[]): Later<boolean> {
    const repository = this.#repository(table)
    const mayTell = (referrer: Referrer): boolean => this.#mayTell(referrer)
    if (!this.view.isBound(table)) return repository.deleteNow(id, mayTell, expected)
    return this.#database.transaction(
      async () =>
        (await this.find(table, id)) !== null && repository.deleteNow(id, mayTell, expected),
    )
  }

  /** The row, where the caller sees it. */
  find(table: Table, id: Id, repository = this.#repository(table)): Later<Instance | null> {
    if (!this.view.isBound(table)) return repository.find(id)
    const key = toKey(this.#database.context.codecOf(table), id)
    if (key === undefined) return null
    const where = { [table.key.property]: keyOf(table, id) }
    return after(repository.list({ where, limit: 1, view: this.view }), ([row]) => row ?? null)
  }

  async #createWhole(tree: WriteTree, written: Written[], isRootOpen: boolean): Promise<Instance> {
    for (const { relation, tree: owner } of tree.owners) {
      const { local, foreign } = relation
      const record = await this.#createNested(relation, owner, written, isRootOpen)
      giveKey(tree, local.property, record[foreign.property], owner.path)
    }
    await this.#judgeKeys(tree)
    const record = await this.#insert(tree)
    written.push({ table: tree.table, id: record[tree.table.key.property] })
    for (const { relation, trees } of tree.children) {
      const { local, foreign } = relation
      for (const child of trees) {
        refuseOwner(child, foreign.property)
        giveKey(child, foreign.property, record[local.property], child.path)
        await this.#createNested(relation, child, written, isRootOpen)
      }
    }
    for (const tie of tree.ties) await this.#tie(tree.table, record, tie)
    return record
  }

  async #createNested(
    relation: Relation,
    tree: WriteTree,
    written: Written[],
    isRootOpen: boolean,
  ): Promise<Instance> {
    const { target } = relation
    const policy = policyOf(target)
    if (!policy.isWritable) throw forbidden()
    const rules = policyOf(relation.table).relations.get(relation) ?? []
    // A write that asks nobody for a token does so for what it writes besides.
    const rule = policy.write ?? (isRootOpen ? tokenAccess : undefined)
    await demandAll([...rules, rule], this.#caller)
    await this.#demandFields(tree)
    return this.#createWhole(tree, written, isRootOpen)
  }

  /** Looks, writes, looks again. */
  #changeWhole(
    id: Id,
    tree: WriteTree,
    expected: readonly number[] | undefined,
  ): Promise<Instance | null> {
    return this.#database.transaction(async () => {
      const before = await this.find(tree.table, id)
      if (before === null) return null
      await this.#judgeKeys(tree, before)
      const record = await this.#change(id, tree, expected)
      if (record === null) return null
      for (const tie of tree.ties) await this.#retie(tree.table, record, tie)
      await this.#judge([{ table: tree.table, id: record[tree.table.key.property] }])
      return record
    })
  }

  #insert(tree: WriteTree): Later<Instance> {
    return attempt<Instance>(
      () => this.#repository(tree.table).createNow(tree.values, this.#caller.user),
      (error) => {
        throw tree.told(concealFaults(error, tree.table))
      },
    )
  }

  #change(
    id: Id,
    tree: WriteTree,
    expected?: readonly number[],
    within?: RowsWithin,
  ): Later<Instance | null> {
    return attempt<Instance | null>(
      () =>
        this.#repository(tree.table).updateNow(id, tree.values, {
          within,
          expected,
          user: this.#caller.user,
        }),
      (error) => {
        throw tree.told(concealFaults(error, tree.table))
      },
    )
  }

  async #tie(table: Table, record: Instance, tie: Tie): Promise<void> {
    const { relation, ids, told } = tie
    try {
      await this.#judgeTies(table, tie)
      await this.#repository(table).link(record[table.key.property] as Id, relation.name, ids)
    } catch (error) {
      throw told(error)
    }
  }

  /** Afterwards exactly these are tied, of those that the caller sees. */
  async #retie(table: Table, record: Instance, tie: Tie): Promise<void> {
    const { relation, ids } = tie
    const { property } = relation.target.key
    const repository = this.#repository(table)
    const id = record[table.key.property] as Id
    const whole = await repository.find(id, { with: [relation.name] })
    const tied = (whole?.[relation.name] as Instance[] | undefined) ?? []
    const wanted = new Set(ids.map(textOf))
    const others = tied.map((other) => other[property] as Id)
    const gone = others.filter((other) => !wanted.has(textOf(other)))
    const untied = this.#isJudged(table, relation)
      ? await this.#seenOf(relation.target, gone)
      : gone
    if (untied.length > 0) await repository.unlink(id, relation.name, untied)
    await this.#tie(table, record, tie)
  }

  /** Judged are rows with `rows`; all others are everybody's. */
  async #judge(written: readonly Written[]): Promise<void> {
    for (const { table, id } of written) {
      if (this.view.isBound(table) && (await this.find(table, id as Id)) === null) throw forbidden()
    }
  }

  /** @param before the row as it is: a key that stays is not judged */
  async #judgeKeys(tree: WriteTree, before?: Instance): Promise<void> {
    if (this.#caller.trusted) return
    for (const relation of policyOf(tree.table).judged) {
      const { property } = relation.local
      const value = tree.values[property]
      if (relation.kind !== 'belongsTo' || isNothing(value) || tree.given.has(property)) continue
      if (before !== undefined && textOf(before[property]) === textOf(value)) continue
      // What can be no key is a fault of the value, and told as such.
      if (toKey(this.#database.context.codecOf(relation.target), value) === undefined) continue
      if ((await this.find(relation.target, value as Id)) === null)
        throw tree.told(noSuchKey(relation))
    }
  }

  async #judgeTies(table: Table, { relation, ids }: Tie): Promise<void> {
    if (!this.#isJudged(table, relation)) return
    const codec = this.#database.context.codecOf(relation.target)
    const keys = ids.filter((id) => toKey(codec, id) !== undefined)
    if (keys.length < ids.length) return
    const seen = await this.#seenOf(relation.target, keys)
    if (seen.length < keys.length) throw noSuchKey(relation)
  }

  #isJudged(table: Table, relation: Relation): boolean {
    return !this.#caller.trusted && policyOf(table).judged.has(relation)
  }

  /** Those of them that are there for the caller. */
  async #seenOf(target: Table, ids: readonly Id[]): Promise<Id[]> {
    const { property } = target.key
    const seen = new Set<string>()
    for (let from = 0; from < ids.length; from += mostAtOnce) {
      const some = ids.slice(from, from + mostAtOnce).map((id) => keyOf(target, id))
      const where = { [property]: { in: some } }
      const rows = await this.#repository(target).list({ where, view: this.view })
      for (const row of rows) seen.add(textOf(row[property]))
    }
    return ids.filter((id) => seen.has(textOf(keyOf(target, id))))
  }

  #namesJudged({ table, values }: WriteTree): boolean {
    if (this.#caller.trusted) return false
    for (const { kind, local } of policyOf(table).judged)
      if (kind === 'belongsTo' && !isNothing(values[local.property])) return true
    return false
  }

  /** @returns what is to be waited for, where a guard answers later. @throws {HttpError} 401 or 403 */
  #demandFields(tree: WriteTree): Later<void> {
    const rules = rulesOf(tree)
    return rules === undefined ? undefined : demandAll(rules, this.#caller)
  }

  /** A record whose rows or whose key the caller may not see is not named to them. */
  #mayTell({ table, column }: Referrer): boolean {
    const { read, columns, hasRows } = policyOf(table)
    const rules = [read, columns.get(column)].filter((rule) => rule !== undefined)
    if (this.#caller.trusted) return true
    return !hasRows && rules.every((rule) => admitsAtOnce(rule, this.#caller))
  }

  #repository(table: Table): Repository<Instance> {
    return this.#database.records(table.type) as unknown as Repository<Instance>
  }
}

/** Its writes ask nobody for a token. */
function isOpen(table: Table): boolean {
  return policyOf(table).write?.open === true
}
