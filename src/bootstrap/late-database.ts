/**
 * The database of an application that is being planned. The routes of records are declared before the database is opened, and
 * before it is known whether the application provides another one.
 */
import type { Database } from '../records/database.js'

export class LateDatabase {
  #opened: Database | undefined

  /** Called when the providers are created, before a request arrives. */
  set(opened: Database): void {
    this.#opened = opened
  }

  /** @throws {Error} before the application has started */
  get(): Database {
    if (this.#opened === undefined) throw new Error('The application has not started yet.')
    return this.#opened
  }
}
