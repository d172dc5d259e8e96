/**
 * Creates, updates and deletes records for clients, nested records and ties included, all or nothing.
 * Source: decisions, GraphQL, Input and Not found; Small print: GraphQL.
 */
import { tokenAccess } from '../../auth/access.js'
import { HttpError } from '../../errors/http-error.js'
import type { Database, Transaction } from '../../records/database.js'
import { type Later, after, attempt } from '../../core/later.js'
import { invalid } from '../../records/filters/filter.js'
import { toKey } from '../../records/model/key.js'
import type { Id } from '../../records/filters/list-options.js'
import type { Repository } from '../../records/repository.js'
import { rowsWithin, type RowsWithin } from '../../records/statements/rows-within.js'
import { visibleRows } from '../../records/policy/visible-rows.js'
import type { Caller } from '../caller.js'
import { admitted, forbidden } from './access.js'
import type { RecordModel, RelationModel } from './model.js'
import { QuestionReader, joined } from './question.js'
import { keyCondition, readFirst, readRelated, type Instance } from './read-rows.js'
import { atPath, readInput, type ReadInput } from './read-input.js'

/** Writes of one mutation. */
export class RecordWriter {
  readonly #database: Database
  readonly #caller: Caller
  /** The mutation itself asks nobody for a token: what it writes besides then does. */
  readonly #isOpen: boolean

  /** @param root the record whose mutation it is: its rule was asked before */
  constructor(database: Database, caller: Caller, root: RecordModel) {
    this.#database = database
    this.#caller = caller
    this.#isOpen = root.writeAccess?.open === true
  }

  /** @throws {HttpError} 400 `VALIDATION` and 409 `CONFLICT` with paths below `input`; 403 `FORBIDDEN` outside the caller's rows */
  create(model: RecordModel, input: unknown): Later<Instance> {
    const read = this.#read(model, input, 'input')
    if (!hasMore(read) && !this.#isBound(model)) return this.#insert(this.#database, model, read)
    return this.#database.transaction((tx) => this.#createWhole(tx, model, read))
  }

  /** @throws {HttpError} as `create`; 404 `NOT_FOUND` */
  update(model: RecordModel, id: string, input: unknown): Later<Instance> {
    const read = this.#read(model, input, 'input')
    this.#refuseNested(read)
    if (read.ties.length > 0) return this.#changeWhole(model, id, read)
    const rows = this.#rowsOf(model)
    if (rows === true) {
      return after(this.#change(this.#database, model, id, read), (changed) => {
        if (changed === null) throw notFound(model, id)
        return changed
      })
    }
    const within = rowsWithin(model.table, this.#database.context, rows)
    if (within === undefined) return this.#changeWhole(model, id, read)
    const changing = this.#change(this.#database, model, id, read, within)
    return after(changing, (changed) => changed ?? this.#changeWhole(model, id, read))
  }

  /** @returns false where there is no such record */
  delete(model: RecordModel, id: string): Later<boolean> {
    if (!this.#isBound(model)) return this.#repository(this.#database, model).deleteNow(id)
    return this.#database.transaction(async (tx) => {
      const repository = this.#repository(tx, model)
      if ((await repository.find(id)) === null) return false
      await this.#assertVisible(model, id)
      return repository.delete(id)
    })
  }

  async #createWhole(tx: Transaction, model: RecordModel, read: ReadInput): Promise<Instance> {
    for (const { relation, input, path } of read.owners) {
      const owner = await this.#createNested(tx, relation, this.#read(relation.target, input, path))
      const { local, foreign } = relation.relation
      give(read, local.property, owner[foreign.property], path)
    }
    const record = await this.#insert(tx, model, read)
    for (const { relation, inputs, path } of read.children) {
      const { local, foreign } = relation.relation
      for (const [index, input] of inputs.entries()) {
        const at = `${path}.${index}`
        const child = this.#read(relation.target, input, at)
        refuseOwner(child, foreign.property, at)
        give(child, foreign.property, record[local.property], at)
        await this.#createNested(tx, relation, child)
      }
    }
    for (const tie of read.ties) await this.#tie(tx, model, record, tie)
    await this.#assertVisible(model, record[model.table.key.property])
    return record
  }

  async #createNested(
    tx: Transaction,
    { target, access }: RelationModel,
    read: ReadInput,
  ): Promise<Instance> {
    const rule = target.writeAccess ?? (this.#isOpen ? tokenAccess : undefined)
    await admitted([access, rule], this.#caller, () => undefined)
    return this.#createWhole(tx, target, read)
  }

  /** Looks, writes, looks again, and says what is wrong. */
  #changeWhole(model: RecordModel, id: string, read: ReadInput): Promise<Instance> {
    return this.#database.transaction(async (tx) => {
      await this.#assertVisible(model, id)
      const record = await this.#change(tx, model, id, read)
      if (record === null) throw notFound(model, id)
      for (const tie of read.ties) await this.#retie(tx, model, record, tie)
      await this.#assertVisible(model, record[model.table.key.property])
      return record
    })
  }

  #insert(source: Database | Transaction, model: RecordModel, read: ReadInput): Later<Instance> {
    return attempt<object>(
      () => this.#repository(source, model).createNow(read.values),
      (error) => {
        throw atPath(error, model, read.path)
      },
    ) as Later<Instance>
  }

  #change(
    source: Database | Transaction,
    model: RecordModel,
    id: string,
    read: ReadInput,
    within?: RowsWithin,
  ): Later<Instance | null> {
    return attempt<object | null>(
      () => this.#repository(source, model).updateNow(id, read.values, within),
      (error) => {
        throw atPath(error, model, read.path)
      },
    ) as Later<Instance | null>
  }

  async #tie(
    tx: Transaction,
    model: RecordModel,
    record: Instance,
    { relation: { relation }, ids, path }: ReadInput['ties'][number],
  ): Promise<void> {
    const repository = this.#repository(tx, model) as Repository<Instance>
    const key = record[model.table.key.property] as Id
    await repository.link(key, relation.name, ids).catch((error: unknown) => {
      throw renamed(error, relation.name, path)
    })
  }

  /** Afterwards exactly these are tied, of those that the caller sees. */
  async #retie(
    tx: Transaction,
    model: RecordModel,
    record: Instance,
    tie: ReadInput['ties'][number],
  ): Promise<void> {
    const { relation, target } = tie.relation
    const { property } = target.table.key
    const key = record[relation.local.property] as Id
    const reader = this.#reader()
    const question = reader.list(target, { limit: Number.MAX_SAFE_INTEGER })
    const before = await readRelated(relation, [key], question, reader, this.#database)
    const wanted = new Set(tie.ids.map((id) => String(id).toLowerCase()))
    const gone = (before.get(String(key)) ?? [])
      .map((other) => other[property] as Id)
      .filter((other) => !wanted.has(String(other).toLowerCase()))
    const repository = this.#repository(tx, model) as Repository<Instance>
    if (gone.length > 0) await repository.unlink(key, relation.name, gone)
    await this.#tie(tx, model, record, tie)
  }

  /** @throws {HttpError} 403 where the record is there and none of the caller's */
  async #assertVisible(model: RecordModel, id: unknown): Promise<void> {
    if (!this.#isBound(model)) return
    const { table } = model
    const codec = this.#database.context.codecOf(table)
    const key = toKey(codec, id)
    if (key === undefined) throw notFound(model, String(id))
    const reader = this.#reader()
    const rows = reader.rows(table)
    const condition = keyCondition(codec.key, key, reader)
    const all = joined(condition, rows) ?? condition
    if ((await readFirst(table, all, reader, this.#database)) !== undefined) return
    const { statement } = this.#database.context.plansOf(table).find
    if ((await this.#database.runner().first(statement, [key])) === undefined)
      throw notFound(model, String(id))
    throw forbidden()
  }

  #read(model: RecordModel, input: unknown, path: string): ReadInput {
    return readInput(model, input, path, this.#caller)
  }

  #refuseNested({ owners, children }: ReadInput): void {
    const [nested] = [...owners, ...children]
    if (nested === undefined) return
    throw invalid(nested.path, 'readOnly', 'can only be given when its parent is created')
  }

  /** The rows that the caller may write: a filter, or all or none. */
  #rowsOf({ table }: RecordModel): object | boolean {
    return this.#caller.trusted ? true : visibleRows(table, this.#caller.user)
  }

  #isBound({ table }: RecordModel): boolean {
    return table.options.rows !== undefined && !this.#caller.trusted
  }

  #repository(source: Database | Transaction, { type }: RecordModel): Repository {
    return source.records(type)
  }

  #reader(): QuestionReader {
    const { context } = this.#database
    return new QuestionReader({ context, caller: this.#caller, listMax: Number.MAX_SAFE_INTEGER })
  }
}

function hasMore({ owners, children, ties }: ReadInput): boolean {
  return owners.length + children.length + ties.length > 0
}

/** A key that comes with the nesting, and which the input therefore may not name. */
function give(read: ReadInput, property: string, value: unknown, path: string): void {
  if (read.values[property] !== undefined)
    throw invalid(`${path}.${property}`, 'readOnly', 'is given by the record that it is nested in')
  read.values[property] = value
}

function refuseOwner({ owners }: ReadInput, foreign: string, path: string): void {
  for (const { relation } of owners) {
    if (relation.relation.local.property !== foreign) continue
    const at = `${path}.${relation.name}`
    throw invalid(at, 'readOnly', 'is the record that it is nested in')
  }
}

function notFound({ name }: RecordModel, id: string): HttpError {
  const shown = id.length <= 50 ? id : `${id.slice(0, 50)}…`
  return new HttpError(404, `There is no ${name} ${shown}.`, { code: 'NOT_FOUND' })
}

/** Faults of ties name the relation; clients wrote its ids. */
function renamed(error: unknown, relation: string, path: string): unknown {
  if (!(error instanceof HttpError) || error.errors === undefined) return error
  const errors = error.errors.map((fault) => ({
    ...fault,
    path: fault.path.startsWith(relation) ? path + fault.path.slice(relation.length) : path,
  }))
  return new HttpError(error.status, error.message, { code: error.code, errors, cause: error })
}
