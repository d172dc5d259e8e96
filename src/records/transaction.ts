/** The open transaction, for the function that `database.transaction` calls. */
import type { Class } from '../metadata/class.js'
import type { Table } from './model/table.js'
import { Repository } from './repository.js'
import type { QueryBuilder } from './statements/builder.js'
import type { Scope } from './statements/scope.js'

/** The part of a database that its transactions use. */
interface TransactionDatabase {
  readonly kysely: QueryBuilder
  table<T extends object>(type: Class<T>): Table<T>
}

/** The argument of the function that `transaction` calls. */
export class Transaction {
  readonly #database: TransactionDatabase
  readonly #scope: Scope

  constructor(database: TransactionDatabase, scope: Scope) {
    this.#database = database
    this.#scope = scope
  }

  /** The query builder, in this transaction while its work runs. */
  get kysely(): QueryBuilder {
    return this.#database.kysely
  }

  /** The repository of a record class, in this transaction. */
  records<T extends object>(type: Class<T>): Repository<T> {
    return new Repository(this.#database.table(type), this.#scope)
  }

  /** A savepoint: a part of this transaction that can fail alone. */
  transaction<R>(work: (tx: Transaction) => Promise<R>): Promise<R> {
    return this.#scope.nested((scope) => work(new Transaction(this.#database, scope)))
  }
}
