/** State shared by all parts of a statement while it is written: the dialect, its tables and their aliases. */
import type { Dialect } from '../engines/contract/dialect.js'
import { nameInSchema, quoteTable } from '../engines/contract/quote.js'
import { filled, join, name, raw, slot, sql, wrap, type Sql } from '../engines/contract/sql-text.js'
import { storedColumnsOf, type Column } from '../engines/contract/table.js'
import { areEqual, keyColumns, rowOf } from './key-columns.js'
import type { Condition } from './condition.js'
import type { SqlTable, SqlRelation } from './table.js'
import type { Rows } from './tree.js'

export class WriteContext {
  readonly dialect: Dialect
  /** The tables that the statement uses, the main table first. */
  readonly tables = new Set<string>()
  readonly #repeatedTables = new Set<string>()
  /** The names of the tables, by which an update or a deletion names its own columns. */
  readonly #names = new Set<string>()
  /** The names of the columns that values are compared with or written to, by the slot. */
  readonly valueColumns = new Map<number, string>()
  /** By alias: the slot of the shard of its rows. */
  readonly #shards = new Map<string, number>()
  #aliases = 0

  constructor(dialect: Dialect) {
    this.dialect = dialect
  }

  /** A new alias. Updates and deletions use the name of the table, so the alias must differ from table names. */
  alias(): string {
    const alias = `t${this.#aliases++}`
    return this.#names.has(alias) || this.#names.has(`${alias}j`) ? this.alias() : alias
  }

  /** A new alias for rows, whose related rows are then found in the shard that their condition names. */
  aliasOf({ table, where }: Pick<Rows, 'table' | 'where'>): string {
    const alias = this.alias()
    const shard = table.shard && shardSlotIn(where, table.shard)
    if (shard !== undefined) this.setShard(alias, shard)
    return alias
  }

  /**
   * Lets the rows of an alias be in the shard of a slot, and the rows that are related to them within it. Some databases send a
   * statement to one machine only if it compares the shard of each of its tables with a value.
   */
  setShard(alias: string, shard: number): void {
    if (!this.dialect.can.subqueriesInShards) this.#shards.set(alias, shard)
  }

  /** A new alias for the related rows of the row of another alias. */
  aliasOfRelated({ shards }: SqlRelation, outer: string): string {
    const alias = this.alias()
    if (shards !== undefined) this.keepShard(alias, outer)
    return alias
  }

  /** Gives an alias the shard of the rows of another one. */
  keepShard(alias: string, of: string): void {
    const shard = this.#shards.get(of)
    if (shard !== undefined) this.#shards.set(alias, shard)
  }

  /** The condition that the rows of an alias are in its shard, if it is known. */
  isInShard(alias: string, column: Column): Sql | undefined {
    const shard = this.#shards.get(alias)
    return shard === undefined ? undefined : sql` and ${ref(alias, column)} = ${slot(shard)}`
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

  /** A placeholder for a value of the column. */
  valueOf({ name: columnName }: Column, position: number): Sql {
    this.valueColumns.set(position, columnName)
    return slot(position)
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
   * @returns `matchColumns`: the columns that equal `local` of the other side
   */
  joinTarget(
    { target, foreign, join: links }: SqlRelation,
    alias: string,
  ): { readonly from: Sql; readonly matchColumns: readonly Sql[] } {
    const targetTable = this.table(target.name, alias)
    const key = keyColumns(alias, foreign)
    if (links === undefined) return { from: targetTable, matchColumns: key }
    const pair = `${alias}j`
    const [from, to] = [links.from, links.to].map((end) =>
      end.columns.map((column) => name(pair, column)),
    ) as [Sql[], Sql[]]
    return {
      from: sql`${this.table(links.name, pair)} inner join ${targetTable} on ${areEqual(key, to)}`,
      matchColumns: from,
    }
  }

  /** Writes the condition that a target row is related to the row of another alias, in the same shard. */
  isRelated(
    relation: SqlRelation,
    matchColumns: readonly Sql[],
    alias: string,
    outer: string,
  ): Sql {
    const { shards } = relation
    const areRelated = areEqual(matchColumns, this.localColumns(relation, outer))
    if (shards === undefined) return areRelated
    const sameShard = sql` and ${ref(alias, shards.foreign)} = ${ref(outer, shards.local)}`
    return sql`${areRelated}${sameShard}${this.isInShard(alias, shards.foreign)}`
  }

  /** Compares a UUID key as text if the foreign field is not a UUID and may contain any text. */
  localColumns({ local, foreign, join: links }: SqlRelation, alias: string): readonly Sql[] {
    const foreignColumns = storedColumnsOf(foreign)
    return storedColumnsOf(local).map((column, index) => {
      const isMixed =
        links === undefined && column.isUuid && foreignColumns[index]?.isUuid === false
      return wrap(isMixed ? this.dialect.values.uuidText : undefined, ref(alias, column))
    })
  }
}

/** A column of an alias. Of a key of several columns: a row of them, for comparisons. */
export function ref(alias: string, column: Column): Sql {
  return column.parts === undefined ? name(alias, column.name) : rowOf(keyColumns(alias, column))
}

/** Whether a column is null. A foreign key of several columns is null if any of them is. */
export function isNullSql(alias: string, column: Column, isNull: boolean): Sql {
  const tests = keyColumns(alias, column).map(
    (one) => sql`${one} ${raw(isNull ? 'is null' : 'is not null')}`,
  )
  return tests.length === 1 ? (tests[0] as Sql) : sql`(${join(tests, isNull ? ' or ' : ' and ')})`
}

/** The slot of the shard that a condition names for all of its rows. */
function shardSlotIn(condition: Condition | undefined, shard: Column): number | undefined {
  if (condition?.kind === 'all')
    return condition.parts.map((part) => shardSlotIn(part, shard)).find((one) => one !== undefined)
  const isNamed =
    condition?.kind === 'compare' &&
    condition.operator === 'eq' &&
    condition.path === undefined &&
    condition.column === shard
  return isNamed ? condition.slot : undefined
}

/** The condition that leaves out soft-deleted rows. `undefined` if the table does not soft-delete. */
export function notDeleted({ deletedAt }: SqlTable, alias: string): Sql | undefined {
  return deletedAt && sql`${ref(alias, deletedAt)} is null`
}
