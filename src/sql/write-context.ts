/** What all parts of one statement are written with: the dialect, names for its tables, and what is said of it. */
import type { Dialect } from '../engines/contract/dialect.js'
import { name, raw, slot, sql, within, type Sql } from '../engines/contract/sql-text.js'
import type { Column } from '../engines/contract/table.js'
import type { SqlTable, SqlRelation } from './table.js'

export class WriteContext {
  readonly dialect: Dialect
  /** The tables that it names, that of its rows first. */
  readonly tables = new Set<string>()
  readonly #repeatedTables = new Set<string>()
  #aliases = 0

  constructor(dialect: Dialect) {
    this.dialect = dialect
  }

  /** A name that no other part has. What an update or a deletion changes keeps its own name, which may look like one. */
  alias(): string {
    const alias = `t${this.#aliases++}`
    return this.tables.has(alias) || this.tables.has(`${alias}j`) ? this.alias() : alias
  }

  /** `"product" as "t0"` */
  table(table: string, alias: string): Sql {
    return sql`${this.tableName(table)} as ${name(alias)}`
  }

  tableName(table: string): Sql {
    if (this.tables.has(table)) this.#repeatedTables.add(table)
    this.tables.add(table)
    return name(table)
  }

  /** True where one part alone names it. */
  isNamedOnce(table: string): boolean {
    return !this.#repeatedTables.has(table)
  }

  /** A column as a statement answers it: some engines must return a value as text, or it loses digits. */
  returned(alias: string, column: Column): Sql {
    return within(this.dialect.answered(column), ref(alias, column))
  }

  /** ` limit …`, with the number in a slot. */
  limit(limitSlot: number): Sql {
    return sql` limit ${slot(limitSlot)}${raw(this.dialect.limit.behind)}`
  }

  /**
   * The target's rows, tied to other rows. Every relation is joined here.
   *
   * @returns the tables; the column that leads there, which equals the other rows' `local`; and the target's shard, where
   *   there is one
   */
  joinTarget(
    { target, foreign, join }: SqlRelation,
    alias: string,
  ): { readonly from: Sql; readonly matchColumn: Sql } {
    const own = this.table(target.name, alias)
    const key = ref(alias, foreign)
    if (join === undefined) return { from: own, matchColumn: key }
    const pair = `${alias}j`
    return {
      from: sql`${this.table(join.name, pair)} inner join ${own} on ${key} = ${name(pair, join.to)}`,
      matchColumn: name(pair, join.from),
    }
  }

  /** The rows that a tie leads to from a row of another alias: by key, and within one shard. */
  isRelated(relation: SqlRelation, matchColumn: Sql, alias: string, outer: string): Sql {
    const { shards } = relation
    const sameShard =
      shards && sql` and ${ref(alias, shards.foreign)} = ${ref(outer, shards.local)}`
    return sql`${matchColumn} = ${this.localColumn(relation, outer)}${sameShard}`
  }

  /** A UUID key is compared as text with a field that nothing ties to it but a list of records: it may hold any text. */
  localColumn({ local: localColumn, foreign, join }: SqlRelation, alias: string): Sql {
    const isMixed = join === undefined && localColumn.isUuid && !foreign.isUuid
    return within(isMixed ? this.dialect.uuidText : undefined, ref(alias, localColumn))
  }
}

export function ref(alias: string, column: Column): Sql {
  return name(alias, column.name)
}

/** Rows that were deleted softly are left out here alone. `undefined` where all rows live. */
export function notDeleted({ deletedAt }: SqlTable, alias: string): Sql | undefined {
  return deletedAt && sql`${ref(alias, deletedAt)} is null`
}
