/** State shared by all parts of a statement while it is written: the dialect, its tables and their aliases. */
import type { Dialect } from '../engines/contract/dialect.js'
import { nameInSchema, quoteTable } from '../engines/contract/quote.js'
import { filled, name, raw, slot, sql, wrap, type Sql } from '../engines/contract/sql-text.js'
import type { Column } from '../engines/contract/table.js'
import type { SqlTable, SqlRelation } from './table.js'

export class WriteContext {
  readonly dialect: Dialect
  /** The tables that the statement uses, the main table first. */
  readonly tables = new Set<string>()
  readonly #repeatedTables = new Set<string>()
  /** The names of the tables, by which an update or a deletion names its own columns. */
  readonly #names = new Set<string>()
  #aliases = 0

  constructor(dialect: Dialect) {
    this.dialect = dialect
  }

  /** A new alias. Updates and deletions use the name of the table, so the alias must differ from table names. */
  alias(): string {
    const alias = `t${this.#aliases++}`
    return this.#names.has(alias) || this.#names.has(`${alias}j`) ? this.alias() : alias
  }

  /** `"product" as "t0"` */
  table(table: string, alias: string): Sql {
    return sql`${this.tableName(table)} as ${name(alias)}`
  }

  tableName(table: string): Sql {
    if (this.tables.has(table)) this.#repeatedTables.add(table)
    this.tables.add(table)
    this.#names.add(this.changedName(table))
    return raw(quoteTable(this.dialect.tables.nameOf(table)))
  }

  /** The alias of the table that a statement writes: its name without the schema. */
  changedName(table: string): string {
    return nameInSchema(this.dialect.tables.nameOf(table))
  }

  /** Whether only one part of the statement uses the table. */
  isNamedOnce(table: string): boolean {
    return !this.#repeatedTables.has(table)
  }

  /** A column as it is compared, ordered and grouped. */
  comparable(alias: string, column: Column): Sql {
    const template = this.dialect.values.comparable?.(column)
    const value = ref(alias, column)
    return template === undefined ? value : filled(template, { c: value })
  }

  /** A column as the statement returns it. Some engines must return a number as text, or it loses digits. */
  returned(alias: string, column: Column): Sql {
    return wrap(this.dialect.values.returned(column), ref(alias, column))
  }

  /** Writes ` limit …`. */
  limit(limitSlot: number): Sql {
    return sql` limit ${slot(limitSlot)}${raw(this.dialect.statements.limit.suffix)}`
  }

  /**
   * Writes the tables that lead to the target of a relation.
   *
   * @returns `matchColumn`: the column that equals `local` of the other side
   */
  joinTarget(
    { target, foreign, join }: SqlRelation,
    alias: string,
  ): { readonly from: Sql; readonly matchColumn: Sql } {
    const targetTable = this.table(target.name, alias)
    const key = ref(alias, foreign)
    if (join === undefined) return { from: targetTable, matchColumn: key }
    const pair = `${alias}j`
    return {
      from: sql`${this.table(join.name, pair)} inner join ${targetTable} on ${key} = ${name(pair, join.to)}`,
      matchColumn: name(pair, join.from),
    }
  }

  /** Writes the condition that a target row is related to the row of another alias, in the same shard. */
  isRelated(relation: SqlRelation, matchColumn: Sql, alias: string, outer: string): Sql {
    const { shards } = relation
    const sameShard =
      shards && sql` and ${ref(alias, shards.foreign)} = ${ref(outer, shards.local)}`
    return sql`${matchColumn} = ${this.localColumn(relation, outer)}${sameShard}`
  }

  /** Compares a UUID key as text if the foreign field is not a UUID and may contain any text. */
  localColumn({ local: localColumn, foreign, join }: SqlRelation, alias: string): Sql {
    const isMixed = join === undefined && localColumn.isUuid && !foreign.isUuid
    return wrap(isMixed ? this.dialect.values.uuidText : undefined, ref(alias, localColumn))
  }
}

export function ref(alias: string, column: Column): Sql {
  return name(alias, column.name)
}

/** The condition that leaves out soft-deleted rows. `undefined` if the table does not soft-delete. */
export function notDeleted({ deletedAt }: SqlTable, alias: string): Sql | undefined {
  return deletedAt && sql`${ref(alias, deletedAt)} is null`
}
