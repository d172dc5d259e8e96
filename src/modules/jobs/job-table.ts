/** The table `jobs`: its database, its clock, and its statements, each prepared once. */
import {
  Clock,
  Database,
  type CustomSql,
  type CustomSqlOptions,
  type SqlFragments,
} from '../../index.js'

/** All times are the database's; `shift` is what a test has moved its clock by. */
export class JobTable {
  static readonly inject = [Database, Clock]
  readonly database: Database
  readonly #clock: Clock
  readonly #prepared = new Map<string, CustomSql>()

  constructor(database: Database, clock: Clock) {
    this.database = database
    this.#clock = clock
  }

  /** Milliseconds since 1970 by the database's clock. */
  get now(): number {
    return this.database.now(this.#clock)
  }

  /** Milliseconds by which a test has moved the clock. */
  get shift(): number {
    return Math.round(this.#clock.moved())
  }

  /** @param key statements of one key are the same */
  prepare(
    key: string,
    kind: CustomSqlOptions['kind'],
    write: (words: SqlFragments) => string,
  ): CustomSql {
    let prepared = this.#prepared.get(key)
    if (prepared === undefined) {
      prepared = this.database.prepare({ kind, tables: ['jobs'] }, write)
      this.#prepared.set(key, prepared)
    }
    return prepared
  }
}
