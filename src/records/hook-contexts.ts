/** What the hooks of a record are given. Source: public API, Records. */
import type { Claims } from '../http/request.js'
import type { Class } from '../metadata/class-metadata.js'
import type { Repository } from './repository.js'

/** Who writes. */
export interface HookCaller {
  /** The claims of the request's caller, also where a handler calls a repository; null for everybody else. */
  readonly caller: Claims | null
  /**
   * `'key'`: the operator's static key; `'token'`: any other caller of a request, also one without a token; `'program'`:
   * work outside of requests.
   */
  readonly by: 'token' | 'key' | 'program'
  /** A provider of the application, by its class or token. */
  readonly get: <P>(token: Class<P> | string | symbol) => P
}

/** What a method with `@BeforeWrite` is given. `this` is the row as it will be. */
// A hook says `WriteContext` or `WriteContext<Ticket>`; without the record's type its fields are of any type.
// eslint-disable-next-line @typescript-eslint/no-explicit-any
export interface WriteContext<T extends object = any> extends HookCaller {
  /** The row as it is; null for a new one. It cannot be changed. */
  readonly before: Readonly<T> | null
  /** The properties whose values will differ from those of `before`, `updatedAt` and `version` too; for a new row those that have a value. */
  readonly changed: ReadonlySet<string>
  /** The repository of a record, in this transaction. It has the program's rights. */
  readonly records: <R extends object>(type: Class<R>) => Repository<R>
}

/** What a method with `@BeforeDelete` is given. `this` is the row as it is. */
export type DeleteContext = Omit<WriteContext, 'before' | 'changed'>

/** What a method with `@AfterCommit` or `@AfterDelete` is given. */
// eslint-disable-next-line @typescript-eslint/no-explicit-any -- as for WriteContext
export interface CommitContext<T extends object = any> extends HookCaller {
  /** The row as it was; null for a new one. */
  readonly before: Readonly<T> | null
  /** The row as stored; null for a deleted one. */
  readonly after: Readonly<T> | null
}
