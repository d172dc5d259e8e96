/** The contexts that hooks of a record receive. Source: public API, Records. */
import type { Claims } from '../http/request.js'
import type { Class } from '../metadata/class.js'
import type { RowOf } from './model/loaded-rows.js'
import type { Repository } from './repository.js'

/** The caller of a write. */
export interface HookCaller {
  /** The claims of the request's caller, also if a handler calls a repository. Otherwise null. */
  readonly caller: Claims | null
  /**
   * `'key'`: the operator's static key; `'token'`: any other caller of a request, also one without a token;
   * `'program'`: work outside requests.
   */
  readonly by: 'token' | 'key' | 'program'
  /** A provider of the application, by its class or token. */
  readonly get: <P>(token: Class<P> | string | symbol) => P
}

/** The argument of a method with `@BeforeWrite`. `this` is the row as it will be stored. */
// A hook says `WriteContext` or `WriteContext<Ticket>`; without the record's type its fields are of any type.
// eslint-disable-next-line @typescript-eslint/no-explicit-any
export interface WriteContext<T extends object = any> extends HookCaller {
  /** The stored row, read-only. Null for a new row. */
  readonly before: Readonly<RowOf<T>> | null
  /**
   * The properties that differ from `before`, including `updatedAt` and `version`. For a new row, the properties that
   * have a value.
   */
  readonly changed: ReadonlySet<string>
  /** The repository of a record, in this transaction. It has the rights of the program. */
  readonly records: <R extends object>(type: Class<R>) => Repository<R>
}

/** The argument of a method with `@BeforeDelete`. `this` is the stored row. */
export type DeleteContext = Omit<WriteContext, 'before' | 'changed'>

/** The argument of a method with `@AfterCommit` or `@AfterDelete`. */
// eslint-disable-next-line @typescript-eslint/no-explicit-any -- as for WriteContext
export interface CommitContext<T extends object = any> extends HookCaller {
  /** The row before the write. Null for a new row. */
  readonly before: Readonly<RowOf<T>> | null
  /** The row as stored. Null for a deleted row. */
  readonly after: Readonly<RowOf<T>> | null
}
