/** The statements that write many rows at once, or one by a unique value. See plans.ts. */
import type { ColumnTypes } from './column-types.js'
import { Kept } from '../../core/kept.js'
import type { Dialect } from '../../engines/contract/engine.js'
import type { Column } from '../../engines/contract/table.js'
import type { Table } from '../model/table.js'
import { Slot, type Builder, type Plan, type RawBuilder } from './builder.js'
import { insertFacts, writeInsert, writeInsertLists, type InsertParts } from './insert-plan.js'
import { counted, namesOf } from './plan-parts.js'
import { selected } from './selected.js'

type Fragment = RawBuilder<unknown>

const mostPlans = 200
/** The name for the lists of values; no table has it. */
const rowsName = 'filigree_rows'
const heldName = 'filigree_held'

export class ManyPlans {
  /** The types of the table's columns in the database, by name: read once, and again after a failed statement. */
  types: Promise<ColumnTypes> | undefined
  readonly #table: Table
  readonly #builder: Builder
  readonly #dialect: Dialect
  readonly #kept = new Kept<Plan>(mostPlans)

  constructor(table: Table, builder: Builder, dialect: Dialect) {
    this.#table = table
    this.#builder = builder
    this.#dialect = dialect
  }

  /** Returns the rows. Values: a list for each of `columns`, of these types. */
  insert(columns: readonly Column[], types: readonly string[]): Plan {
    return this.#kept.get(`i${namesOf(columns)}|${types.join()}`, () => {
      const parts = { ...this.#parts(), columns, returns: 'row' } as const
      const facts = insertFacts(this.#table, columns)
      return this.#builder.compile(writeInsertLists(parts, types), facts)
    })
  }

  /**
   * Changes all rows or, where one is not there, none; answers them. Values: a list of keys, then one for each of `columns`,
   * then the number of keys. The rows are held in the order of their keys first, so that two that change the same rows do
   * not wait for each other.
   *
   * @param types the type of the key, then those of `columns`
   */
  update(columns: readonly Column[], types: readonly string[]): Plan {
    return this.#kept.get(`u${namesOf(columns)}|${types.join()}`, () => {
      const { sql } = this.#builder
      const { name, key, deletedAt } = this.#table
      const { lists } = this.#dialect
      if (lists === undefined) throw new TypeError('The database does not accept lists.')
      const sets = columns.map(
        (column, place) => sql`${sql.ref(column.name)} = ${sql.ref(`${rowsName}.c${place}`)}`,
      )
      sets.push(...counted(this.#table, sql))
      const list = (place: number): Fragment => {
        const [before, behind] = lists.list(types[place] ?? '')
        return sql`${sql.raw(before)}${new Slot(place)}${sql.raw(behind)}`
      }
      const values = types.map((_, place) => list(place))
      const names = ['k', ...columns.map((_, place) => `c${place}`)].map((one) => sql.id(one))
      const rows = sql`${sql.raw(lists.rows[0])}${sql.join(values)}${sql.raw(lists.rows[1])} as ${sql.id(rowsName)} (${sql.join(names)})`
      const keyed = sql.ref(`${name}.${key.name}`)
      const alive =
        deletedAt === undefined ? sql`` : sql` and ${sql.ref(`${name}.${deletedAt.name}`)} is null`
      const held = sql`select 1 from ${sql.table(name)} where ${keyed} = any(${list(0)})${alive} order by ${keyed} ${sql.raw(lists.held)}`
      const areThere = sql`(select count(*) from (${held}) as ${sql.id(heldName)}) = ${new Slot(types.length)}`
      const fragment = sql`update ${sql.table(name)} set ${sql.join(sets)} from ${rows} where ${keyed} = ${sql.ref(`${rowsName}.k`)}${alive} and ${areThere} returning ${this.#answered(name)}`
      return this.#builder.compile(fragment, { table: name, kind: 'update' })
    })
  }

  /** Returns the keys. Values: the keys as one packed list, after the time if the table soft-deletes. */
  remove(): Plan {
    return this.#kept.get('d', () => {
      const { sql } = this.#builder
      const { name, key, deletedAt } = this.#table
      const [before, behind] = this.#dialect.listTest
      const test = (slot: number): Fragment =>
        sql`${sql.ref(key.name)} ${sql.raw(before)}${sql.val(new Slot(slot))}${sql.raw(behind)}`
      const fragment =
        deletedAt === undefined
          ? sql`delete from ${sql.table(name)} where ${test(0)}`
          : sql`update ${sql.table(name)} set ${sql.ref(deletedAt.name)} = ${new Slot(0)} where ${test(1)} and ${sql.ref(deletedAt.name)} is null`
      const facts = { table: name, kind: 'delete' } as const
      return this.#builder.compile(sql`${fragment} returning ${sql.ref(key.name)}`, facts)
    })
  }

  /**
   * `insert … on conflict (by) do update`: returns the row. Values: those of `columns`.
   *
   * @param changed the columns that an existing row takes over
   */
  upsert(by: Column, columns: readonly Column[], changed: readonly Column[]): Plan {
    return this.#kept.get(`o${by.name}|${namesOf(columns)}|${namesOf(changed)}`, () => {
      const { sql } = this.#builder
      const { name, version } = this.#table
      const sets = changed.map(
        (column) => sql`${sql.ref(column.name)} = ${sql.ref(`excluded.${column.name}`)}`,
      )
      // Both rows have the column, so the table must be named.
      if (version !== undefined)
        sets.push(sql`${sql.ref(version.name)} = ${sql.ref(`${name}.${version.name}`)} + 1`)
      const insert = writeInsert({ ...this.#parts(), columns, returns: 'nothing' }, 1)
      const fragment = sql`${insert} on conflict (${sql.ref(by.name)}) do update set ${sql.join(sets)} returning ${this.#answered()}`
      return this.#builder.compile(fragment, { table: name, kind: 'upsert', bound: 1 })
    })
  }

  #parts(): InsertParts {
    const { sql } = this.#builder
    return { table: this.#table, sql, dialect: this.#dialect, answered: this.#answered() }
  }

  #answered(alias?: string): Fragment {
    const parts = { sql: this.#builder.sql, dialect: this.#dialect }
    return parts.sql.join(this.#table.columns.map((column) => selected(column, parts, alias)))
  }
}
