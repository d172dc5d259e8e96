/**
 * A record's rows as somebody may see and write them: hidden fields do not exist, and `@Record({ rows })` holds before and
 * after every write. For everything that clients reach: `crud`, GraphQL. Source: decisions, Small print: GraphQL, `rows`.
 */
import { HttpError } from '../../errors/http-error.js'
import type { Claims } from '../../http/request.js'
import type { Database } from '../database.js'
import { type Later, after } from '../../core/later.js'
import type { Where } from '../filters/filter-types.js'
import type { Id, ListOptions } from '../filters/list-options.js'
import type { Repository } from '../repository.js'
import { rowsWithin } from '../statements/rows-within.js'
import { visibleRows } from './visible-rows.js'

export class ClientRecords<T extends object> {
  readonly #database: Database
  readonly #records: Repository<T>
  readonly #rows: object | boolean

  /** @param user the claims of the token; null for a visitor and for the operator's key */
  constructor(database: Database, records: Repository<T>, user: Claims | null) {
    this.#database = database
    this.#records = records
    this.#rows = visibleRows(records.table, user)
  }

  async find(id: Id): Promise<T | null> {
    if (this.#rows === true) return this.#records.find(id)
    const known = await this.#records.find(id)
    return known !== null && (await this.#mayReach(known)) ? known : null
  }

  list(options: Omit<ListOptions<T>, 'rows' | 'from'>): Promise<T[]> {
    return this.#records.list({ ...options, rows: this.#rows, from: 'client' })
  }

  count(where?: Where<T>): Promise<number> {
    return this.#records.count(where, { rows: this.#rows, from: 'client' })
  }

  /** @throws {HttpError} 403 where the new row would not be theirs; nothing is written then */
  create(values: Partial<T>): Later<T> {
    if (this.#rows === true) return this.#records.createNow(values)
    return this.#guarded(() => this.#records.create(values))
  }

  /** @returns null where there is no such row, or none of theirs */
  update(id: Id, values: Partial<T>): Later<T | null> {
    if (this.#rows === true) return this.#records.updateNow(id, values)
    const within = rowsWithin(this.#records.table, this.#database.context, this.#rows)
    if (within === undefined) return this.#updateGuarded(id, values)
    return after(
      this.#records.updateNow(id, values, within),
      (updated) => updated ?? this.#updateGuarded(id, values),
    )
  }

  #updateGuarded(id: Id, values: Partial<T>): Promise<T | null> {
    return this.#guarded(async () =>
      (await this.find(id)) === null ? null : this.#records.update(id, values),
    )
  }

  /** @returns false where there is no such row, or none of theirs */
  delete(id: Id): Later<boolean> {
    if (this.#rows === true) return this.#records.deleteNow(id)
    return this.#database.transaction(
      async () => (await this.find(id)) !== null && this.#records.delete(id),
    )
  }

  /** Writes, and takes it back where the row is not theirs afterwards. */
  #guarded<R extends T | null>(write: () => Promise<R>): Promise<R> {
    return this.#database.transaction(async () => {
      const written = await write()
      if (written !== null && !(await this.#mayReach(written))) throw new HttpError(403)
      return written
    })
  }

  async #mayReach(record: T): Promise<boolean> {
    const { property } = this.#records.table.key
    const where = { [property]: (record as Record<string, unknown>)[property] } as Where<T>
    return (await this.#records.count(where, { rows: this.#rows })) > 0
  }
}
