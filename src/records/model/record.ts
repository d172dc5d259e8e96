/** `@Record`: makes a class a record, whose fields are the columns of a table. Source: public API, Records. */

import { declareOptions, type OptionsOf } from '../../options/declare-options.js'
import { option } from '../../options/option.js'
import type { Class } from '../../metadata/class.js'
import { createClassMetadata } from '../../metadata/class-metadata.js'
import { isMap } from '../../core/json.js'
import { isolations } from '../../core/transaction.js'
import type { Claims } from '../../http/request.js'
import { fieldMetadata, recordClass, writeFieldMetadata } from '../../fields/field.js'
import {
  decorate,
  toDecorator,
  type AnyDecorator,
  type DecoratorTarget,
} from '../../metadata/dialect.js'
import { isWriteRule, writeRuleRemedy, type WriteRule } from '../../fields/rules.js'
import { partitionUnits, readPartitionAge } from './partition-periods.js'
import type { OrderTerms, Where } from './record-types.js'

const addedRecords = createClassMetadata<readonly Class[]>('companions')

/**
 * For decorators of packages that store data in tables of their own. The tables of `records` are created together with
 * the record's table, also in programs that do not import the package's module.
 */
export function addRecords(type: Class, records: readonly Class[]): void {
  addedRecords.write(type, [...(addedRecords.readOwn(type) ?? []), ...records])
}

export function addedRecordsOf(type: Class): readonly Class[] {
  return addedRecords.read(type) ?? []
}

/** The caller for `rows`, and the application's providers. */
export interface RowsCaller {
  /** How the caller was authenticated: by the static key, by a token, or not at all. */
  readonly by?: 'key' | 'token'
  /** A provider of the application, by its class or token. */
  readonly get: <P>(token: Class<P> | string | symbol) => P
}

/** The filter of a record whose type is not given: any plain object, but no promises, maps or class instances. */
export type AnyRowFilter = Readonly<globalThis.Record<string, unknown>>

/** The result of `rows`: a filter, `true` for all rows, `false` for none. */
export type RowsAnswer<T> = boolean | (unknown extends T ? AnyRowFilter : Where<T>)

const operationRule = option.of<WriteRule>(isWriteRule, writeRuleRemedy)

export const writeRules = declareOptions({
  create: operationRule,
  /** Also links and unlinks rows: `connect`, `disconnect`. */
  update: operationRule,
  delete: operationRule,
})

/** The rules for creating, updating and deleting. An operation without a rule behaves as without `writes`. */
export interface WriteRules extends OptionsOf<typeof writeRules> {}

const nameOption = option.text('Write a name.').shown()

/** The maximum number of matches that a client's search ranks. */
export const searchLimitOption = option
  .of<number>(
    (value) => Number.isSafeInteger(value) && Number(value) > 0,
    'Set a positive integer: the maximum number of matches that a search ranks.',
  )
  .shown()

export const partitionOptions = declareOptions({
  /** The field of kind `datetime` with the time of a row. It is required and never changes. */
  field: option.text("Name the field with the time of a row: 'at'.").required('at'),
  /** The period of one partition, in UTC. Weeks begin on Mondays. */
  every: option.oneOf(...partitionUnits).required('month'),
  /** The age after which `filigree partitions` detaches a partition: `'24mo'`. Default: never. */
  keep: option
    .of<string>(
      (value) => readPartitionAge(value) !== undefined,
      "Write '90d', '24mo' or '2y'. Units: h, d, w, mo, y.",
    )
    .shown(),
})

/** How the table of a record is partitioned by time. */
export interface RecordPartitions<T = unknown> extends OptionsOf<typeof partitionOptions> {
  /** The field of kind `datetime` with the time of a row. It is required and never changes. */
  field: keyof T & string extends never ? string : keyof T & string
}

export const recordOptions = declareOptions({
  /** The table's name. Default: the class's name in snake_case. */
  table: nameOption,
  /**
   * PostgreSQL's schema of the table: `'billing'`. Default: the first one of the connection's `search_path`. On SQLite,
   * which has no schemas, the table is called `billing_orders`.
   */
  schema: nameOption,
  key: option.of<readonly string[] | false>(
    (value) => value === false || Array.isArray(value),
    "Write a list of fields: ['orderId', 'line'], or false for a view or table without a key.",
  ),
  /** An earlier name of the record or its table, so that a migration renames the table. */
  was: nameOption,
  /** The name of the query for one record. Default: the class's name in lower case. */
  name: nameOption,
  /** The name of the query for a list. Default: the English plural of the name. */
  plural: nameOption,
  /**
   * `delete` marks rows as deleted in the column `deleted_at`. Reads skip these rows unless they set `{ withDeleted:
   * true }`. Unique fields only compare rows that are not deleted. Default false.
   */
  softDelete: option.flag(),
  /**
   * The rules for writing rows, for all interfaces, also nested in other records: `'desk'`, `['desk', 'admin']`, or a
   * rule for each operation: `{ create: ['patient', 'desk'], update: 'desk', delete: false }`. `false` excludes all
   * clients, including the static key: there is no REST route and no mutation. Reading is not affected. Default: the
   * rule of `@Secured` or `@NoAuth` on the class, otherwise every caller with a token.
   */
  writes: option
    .of<WriteRule>(
      isWriteRule,
      "Write false, a role, a list of roles, or rules for operations: { create: 'desk', delete: false }.",
    )
    .or(writeRules),
  /**
   * The isolation of the transactions that PostgreSQL needs because the record has `@BeforeWrite`, `@AfterWrite` or
   * `@BeforeDelete`. An open transaction keeps its own level. Default `'serializable'`: the rows that a hook reads for
   * a decision cannot change without a conflict, after which the hooks run again.
   */
  isolation: option.oneOf(...isolations).shown(),
  /**
   * `false`: GraphQL has no subscription for the record. Use it for rows that only external SQL writes, which publishes
   * no changes. Default true.
   */
  subscriptions: option.flag(),
  constraints: option.of<object>(isMap, "Write { no_overlap: { message: 'The room is taken.' } }."),
  indexes: option.of<readonly unknown[]>(Array.isArray, "Write a list: [{ fields: ['name'] }]."),
  search: option.of<readonly string[]>(Array.isArray, "Write a list of fields: ['name']."),
  /**
   * The maximum number of matches that a client's search ranks. A page beyond it is 400 `TOO_COSTLY`. Counts, and lists
   * with their own order, include all matches. Default: the value of `bootstrap` or `connect`, otherwise 10,000.
   */
  searchLimit: searchLimitOption,
  /**
   * Counts the writes of a row in the field `version`: from 1, read-only. An update for an older version is refused
   * with 409. Default false.
   */
  version: option.flag(),
  shardBy: nameOption,
  partitionBy: option.object(
    partitionOptions,
    "Write partitionBy: { field: 'at', every: 'month', keep: '24mo' }.",
  ),
  /**
   * `false`: another program makes and changes the table. Neither the start nor a migration touches it, and the start
   * stops if it, or a column of a field, is missing. Default true.
   */
  managed: option.flag(),
  /** Adds `createdAt` and `updatedAt`, both read-only. Default false. */
  timestamps: option.flag(),
  rows: option.of<(...args: never[]) => unknown>(
    (value) => typeof value === 'function',
    'Write a function: (user) => …',
  ),
})

export interface RecordOptions<T = unknown> extends OptionsOf<typeof recordOptions> {
  /**
   * The fields that are the primary key together: `['orderId', 'line']`. They are required, and never change. The key of a row
   * is an object of them: `find({ orderId: '7', line: 2 })`. Default: the field of kind `id`.
   *
   * `false`: a view, or a table without a key. Its rows can be listed, counted and aggregated, but not found one by one or
   * written.
   */
  key?: readonly (keyof T & string extends never ? string : keyof T & string)[] | false
  /**
   * Errors for clients when a constraint of the application's own SQL is violated, by the constraint's name: `{
   * no_overlap: { status: 409, message: 'The room is taken.', path: 'startsAt' } }`. Without an entry, the violation of
   * a unique or exclusion constraint is a general 409, and of a check a general 400.
   */
  constraints?: Readonly<globalThis.Record<string, RecordConstraint<T>>>
  /**
   * Indexes in addition to the indexes of fields: `[{ fields: ['status', '-createdAt'], where: { active: true } }]`. They are
   * created at the start outside production, and by `migrate make`.
   */
  indexes?: readonly RecordIndex<T>[]
  /**
   * Text fields for full-text search: `where: { search: 'blue lamp' }`, `?search=`. Matches in earlier fields
   * rank higher. Hidden fields are left out. Default none.
   */
  search?: readonly (keyof T & string extends never ? string : keyof T & string)[]
  /**
   * The field by which rows are distributed over the machines of a sharded database, `'tenantId'`. It is required and
   * never changes. The primary key consists of it and the key, and every statement about one row names both: `find(id,
   * { tenantId })`. Records that refer to each other are sharded by the same field. Default: the table is on one
   * machine.
   */
  shardBy?: keyof T & string extends never ? string : keyof T & string
  /**
   * Partitions the table by time on PostgreSQL: `{ field: 'at', every: 'month', keep: '24mo' }`. The key contains the field,
   * or is a UUID, which then begins with the time of the field. Lists with a range of the field, and rows by key, read only
   * the partitions that can have them. `filigree partitions` creates the next partitions, and detaches the ones that are
   * older than `keep`. SQLite ignores it. Default: one table.
   */
  partitionBy?: RecordPartitions<T>
  /**
   * The rows that a caller may see and write: a `where` with at least one condition, `true` for all, `false` for none.
   * For any other result, also a promise or an error, no row is visible or written, and the application's error is
   * logged. A result that contains undefined, such as `{ owner: user.sub }` for a token without `sub`, matches no row.
   * Claims are only used as values: an object from a token is never a condition. Called for clients, never for the
   * program's own reads.
   *
   * @param user the claims of the token; null for visitors and for the operator's key
   * @param caller `by` is `'key'`, `'token'` or undefined; `get` returns a provider of the application
   */
  rows?: (user: Claims | null, caller: RowsCaller) => RowsAnswer<T>
}

export const constraintOptions = declareOptions({
  /** From 400 to 499. Default 409 for a unique or exclusion constraint, 400 for a check. */
  status: option.any<number>(),
  /** The error's text. Default a general one. */
  message: option.any<string>(),
  path: option.any<unknown>(),
})

/** The error for a client whose write violates a constraint of the database. */
export interface RecordConstraint<T = unknown> extends OptionsOf<typeof constraintOptions> {
  /** The field that the error names. Clients that may not read it get neither the name nor the message. Default none. */
  path?: keyof T & string extends never ? string : keyof T & string
}

export const indexOptions = declareOptions({
  fields: option.any<unknown>(),
  /** Only rows that match: values, or `{ gt, gte, lt, lte, ne, in, isNull }`; all must hold. */
  where: option.any<Readonly<globalThis.Record<string, unknown>>>(),
  /**
   * No two rows have the same values; with `where`, only matching rows are compared. Nulls are never equal. Default
   * false.
   */
  unique: option.flag(),
  /**
   * For `like`, `ilike`, `contains` and `endsWith` on text fields: a trigram index, on PostgreSQL with the extension
   * pg_trgm. Other databases make no such index.
   */
  like: option.flag(),
})

/** An index over fields of a record. */
export interface RecordIndex<T = unknown> extends OptionsOf<typeof indexOptions> {
  /**
   * `'-createdAt'` is descending. `{ price: { direction: 'desc', nulls: 'first' } }`, as in `orderBy`, sets where nulls
   * come.
   */
  fields: readonly (string | OrderTerms<T>)[]
}

const recordMetadata = createClassMetadata<RecordOptions>('record')

/**
 * Makes a class a record: a table whose columns are its fields. Can be used without parentheses, or with options.
 *
 * ```ts
 * @Record({ timestamps: true })
 * class Product {
 *   @Field('id') id!: number                                  // id          integer primary key
 *   @Field('string', { unique: true }) name!: string          // name        text not null, unique
 *   @Field('integer') categoryId!: number                     // category_id integer not null, references category
 *   @BelongsTo(() => Category) category!: Rel<Category>
 * }
 * ```
 *
 * Problems are reported at the start. `@Record<Product>({ rows })` checks the filter of `rows` against the class's
 * fields.
 */
export function Record<T = unknown>(options?: RecordOptions<NoInfer<T>>): AnyDecorator
export function Record(target: Class): void
export function Record(value: unknown, context: DecoratorContext): void
export function Record(...args: unknown[]): AnyDecorator | undefined {
  const setOptions =
    (options: RecordOptions) =>
    ({ owner, member }: DecoratorTarget): void => {
      if (member !== undefined)
        throw new TypeError(`@Record on ${owner.name}.${member}: it can only be used on a class.`)
      addRecordMetadata(owner, options)
    }
  if (decorate(args, setOptions({}))) return undefined
  return toDecorator(setOptions({ ...(args[0] as RecordOptions | undefined) }))
}

/** @returns `undefined` for a class without its own `@Record`: a subclass does not share its base's table */
export function readRecord(owner: Class): RecordOptions | undefined {
  return recordMetadata.readOwn(owner)
}

function addRecordMetadata(owner: Class, options: RecordOptions): void {
  recordMetadata.write(owner, options)
  // Keys are generated, so clients must not send one.
  recordClass.write(owner, true)
  const timestamp = { default: 'now', readOnly: true }
  if (options.timestamps === true) {
    addField(owner, 'createdAt', timestamp)
    addField(owner, 'updatedAt', timestamp)
  }
  if (options.version === true)
    addField(owner, 'version', { default: 1, readOnly: true }, 'integer')
  if (options.softDelete === true) {
    addField(owner, 'deletedAt', { optional: true, nullable: true, hidden: true })
  }
}

/** A field that the class itself declares takes precedence. */
function addField(
  owner: Class,
  name: string,
  rules: globalThis.Record<string, unknown>,
  kind = 'datetime',
): void {
  if (fieldMetadata.read(owner, name) === undefined)
    writeFieldMetadata(owner, name, { kind, rules })
}
