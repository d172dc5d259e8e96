/**
 * Creates, updates and deletes records for clients, with nested records and links. Reads the input, and writes through
 * the record's policy. Source: decisions, GraphQL.
 */
import { type MaybePromise, after } from '../../core/maybe-promise.js'
import type { Database } from '../../records/database.js'
import type { Caller } from '../../records/rights/caller.js'
import { ClientWriter } from '../../records/clients/client-writer.js'
import { noSuchRow } from '../../records/statements/write-many.js'
import { refuseWithoutOperation, type WriteTree } from '../../records/statements/write-tree.js'
import type { RecordModel } from './model.js'
import type { Instance } from './read-rows.js'
import { readInput } from './read-input.js'

/** Writes of one mutation. */
export class RecordWriter {
  readonly #writer: ClientWriter

  constructor(database: Database, caller: Caller) {
    this.#writer = new ClientWriter(database, caller)
  }

  /** @throws {HttpError} 400 `VALIDATION` and 409 `CONFLICT` with paths below `input`; 403 `FORBIDDEN` outside the caller's rows */
  create(model: RecordModel, input: unknown): MaybePromise<Instance> {
    return this.#writer.create(readInput(model, input, 'input'))
  }

  /**
   * Reads the input of a creation.
   *
   * @returns `undefined` if it needs more than one statement
   * @throws {HttpError} as `create`
   */
  prepareCreate(model: RecordModel, input: unknown): (() => MaybePromise<Instance>) | undefined {
    const tree = readInput(model, input, 'input')
    return this.#writer.isOneStatement(tree) ? () => this.#writer.create(tree) : undefined
  }

  /** @throws {HttpError} as `create`; 404 `NOT_FOUND` if the row does not exist or the caller may not see it */
  update(
    model: RecordModel,
    id: string,
    input: unknown,
    expectedVersion?: unknown,
  ): MaybePromise<Instance> {
    const { key, tree } = readChange(model, id, input)
    return after(this.#writer.update(key, tree, toExpected(expectedVersion)), (changed) =>
      found(changed, model, id),
    )
  }

  /** As `prepareCreate`. */
  prepareUpdate(
    model: RecordModel,
    id: string,
    input: unknown,
  ): (() => MaybePromise<Instance>) | undefined {
    const { key, tree } = readChange(model, id, input)
    if (!this.#writer.isOneStatement(tree)) return undefined
    return () => after(this.#writer.update(key, tree), (changed) => found(changed, model, id))
  }

  /** @returns false if the record does not exist or the caller may not see it */
  delete(model: RecordModel, id: string, expectedVersion?: unknown): MaybePromise<boolean> {
    const key = model.ids.read(id) as string | undefined
    if (key === undefined) return false
    return this.#writer.delete(model.table, key, toExpected(expectedVersion))
  }
}

/** @throws {HttpError} 404 `NOT_FOUND` if no row was updated */
function found(changed: Instance | null, model: RecordModel, id: string): Instance {
  if (changed === null) throw noSuchRow(model.name, id)
  return changed
}

function readChange(
  model: RecordModel,
  id: string,
  input: unknown,
): { readonly key: string; readonly tree: WriteTree } {
  const tree = readInput(model, input, 'input')
  refuseWithoutOperation(tree)
  const key = model.ids.read(id) as string | undefined
  if (key === undefined) throw noSuchRow(model.name, id)
  return { key, tree }
}

/** Null means no expected version, like a missing argument. */
function toExpected(version: unknown): readonly number[] | undefined {
  return typeof version === 'number' ? [version] : undefined
}
