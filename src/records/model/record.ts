/** `@Record`: the note that makes a class's fields a table. Source: public face, Records. */
import type { Claims } from '../../http/request.js'
import { fieldNotes, givenKey, noteField } from '../../fields/field.js'
import {
  decorate,
  toDecorator,
  type AnyDecorator,
  type DecoratorTarget,
} from '../../metadata/dialect.js'
import { createClassNote, type Class } from '../../metadata/note.js'
import type { OrderTerms, Where } from '../filters/filter-types.js'

/** How somebody came that `rows` is asked for: by the operator's static key, by a token, or by neither. */
export interface RowsCaller {
  readonly by?: 'key' | 'token'
}

/** A filter of a record that is not named: any plain object. Promises, maps and objects of classes are none. */
export type AnyRowFilter = Readonly<globalThis.Record<string, unknown>>

/** What `rows` answers: a filter, `true` for all rows, `false` for none. */
export type RowsAnswer<T> = boolean | (unknown extends T ? AnyRowFilter : Where<T>)

export interface RecordOptions<T = unknown> {
  /** The table's name. Default: the class's name in snake_case. */
  table?: string
  /** The record's name before, or its table's, from which a migration renames the table. */
  was?: string
  /** The name of the query for one record. Default: the class's name in lower case. */
  name?: string
  /** The name of the query for a list. Default: the English plural of the name. */
  plural?: string
  /**
   * `delete` marks rows as deleted in the column `deleted_at`, and no reading finds them unless it says
   * `{ withDeleted: true }`. Unique fields count living rows only. Default false.
   */
  softDelete?: boolean
  /**
   * Who may create, update and delete it, by every door, nested in other records too: a role, several of which any will
   * do, or `false` for nobody, which makes no mutations and no writing routes. Reading stays as it is. Default: what
   * `@Secured` or `@NoAuth` before the class says, else whoever has a token.
   */
  mutations?: false | string | readonly string[]
  /**
   * Indexes beyond those that fields say: `[{ fields: ['status', '-createdAt'], where: { active: true } }]`. They are
   * made by the start outside production and by `migrate make`.
   */
  indexes?: readonly RecordIndex<T>[]
  /**
   * Texts that are searched by their words: `where: { search: 'blue lamp' }`, `?search=`. A word counts more in the field
   * that stands before the others. Hidden fields are left out. Default none.
   */
  search?: readonly (keyof T & string extends never ? string : keyof T & string)[]
  /**
   * Counts how often a row was written, in the field `version`: from 1, read-only. An update that was made for an older one
   * is refused with 409. Default false.
   */
  version?: boolean
  /**
   * The field by which rows are spread over the machines of a sharded database, `'tenantId'`: required, and never changed.
   * The primary key is made of it and the key, and every statement about one row names both: `find(id, { tenantId })`.
   * Records that refer to each other are sharded by the same field. Default: the table is on one machine.
   */
  shardBy?: keyof T & string extends never ? string : keyof T & string
  /** Keeps `createdAt` and `updatedAt`, both read-only. Default false. */
  timestamps?: boolean
  /**
   * The rows that somebody may see and write: a `where` with at least one condition, `true` for all, `false` for none.
   * Any other answer, a promise and a throw too, shows and writes nothing and is logged as the application's fault. An
   * answer with something undefined in it, `{ owner: user.sub }` of a token without `sub`, is none. Values of the claims
   * are values: an object out of a token is never a condition. Asked on behalf of clients, never for the program's own
   * reading.
   *
   * @param user the claims of the token, null for a visitor and for the operator's key
   * @param caller `{ by: 'key' }`, `{ by: 'token' }` or `{}`
   */
  rows?: (user: Claims | null, caller: RowsCaller) => RowsAnswer<T>
}

/** An index over fields of a record. */
export interface RecordIndex<T = unknown> {
  /** `'-createdAt'` is descending. `{ price: { direction: 'desc', nulls: 'first' } }`, as in `orderBy`, says where nulls stand. */
  fields: readonly (string | OrderTerms<T>)[]
  /** Only these rows are in it: values, or `{ gt, gte, lt, lte, ne, in, isNull }`, that must all hold. */
  where?: Readonly<globalThis.Record<string, unknown>>
  /**
   * For `like`, `ilike`, `contains` and `endsWith` on texts: trigrams, on PostgreSQL where the extension pg_trgm is
   * there. Elsewhere it makes nothing.
   */
  like?: boolean
}

const recordNote = createClassNote<RecordOptions>('record')

/**
 * Makes a class a record: a table whose columns are its fields. Written bare, or with options.
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
 * Its faults are reported by bootstrap. `@Record<Product>({ rows })` checks the filter of `rows` by the class's fields.
 */
export function Record<T = unknown>(options?: RecordOptions<NoInfer<T>>): AnyDecorator
export function Record(target: Class): void
export function Record(value: unknown, context: DecoratorContext): void
export function Record(...args: unknown[]): AnyDecorator | undefined {
  const noting =
    (options: RecordOptions) =>
    ({ owner, member }: DecoratorTarget): void => {
      if (member !== undefined)
        throw new TypeError(`@Record on ${owner.name}.${member}: it belongs before a class.`)
      note(owner, options)
    }
  if (decorate(args, noting({}))) return undefined
  return toDecorator(noting({ ...(args[0] as RecordOptions | undefined) }))
}

/** @returns `undefined` for a class that carries no `@Record` itself: a subclass is not its base's table */
export function readRecord(owner: Class): RecordOptions | undefined {
  return recordNote.readOwn(owner)
}

function note(owner: Class, options: RecordOptions): void {
  recordNote.write(owner, options)
  // The database counts keys up or the repository makes them: no client's input may name one.
  givenKey.write(owner, true)
  const moment = { default: 'now', readOnly: true }
  if (options.timestamps === true) {
    addField(owner, 'createdAt', moment)
    addField(owner, 'updatedAt', moment)
  }
  if (options.version === true)
    addField(owner, 'version', { default: 1, readOnly: true }, 'integer')
  if (options.softDelete === true) {
    addField(owner, 'deletedAt', { optional: true, nullable: true, hidden: true })
  }
}

/** A field that the class declares itself stays as it is. */
function addField(
  owner: Class,
  name: string,
  rules: globalThis.Record<string, unknown>,
  kind = 'datetime',
): void {
  if (fieldNotes.read(owner, name) === undefined) noteField(owner, name, { kind, rules })
}
