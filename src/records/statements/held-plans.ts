/** Statements that lock rows before they are written, or write all rows that match a filter. */
import { Slot, type Builder, type Plan, type RawBuilder } from './builder.js'
import { Kept } from '../../core/kept.js'
import type { Dialect } from '../../engines/contract/engine.js'
import { FilterWriter } from '../filters/filter-sql.js'
import type { Column } from '../../engines/contract/table.js'
import type { Table } from '../model/table.js'
import { counted, namesOf } from './plan-parts.js'
import type { Selection } from './plans.js'
import { selected } from './selected.js'

type Fragment = RawBuilder<unknown>

const mostPlans = 200

export class HeldPlans {
  readonly #table: Table
  readonly #builder: Builder
  readonly #dialect: Dialect
  readonly #kept = new Kept<Plan>(mostPlans)

  constructor(table: Table, builder: Builder, dialect: Dialect) {
    this.#table = table
    this.#builder = builder
    this.#dialect = dialect
  }

  /**
   * The undeleted rows of a selection by their keys, locked until the transaction ends. Values: the selection's, then
   * limit.
   */
  hold(selection: Selection): Plan {
    return this.#kept.get(`h${selection.key}`, () => {
      const { sql } = this.#builder
      const { name, key, columns } = this.#table
      const parts = { sql, dialect: this.#dialect }
      const read = sql.join(columns.map((column) => selected(column, parts, name)))
      const writer = this.#writer()
      const where = this.#where(selection, writer)
      const limit = writer.limit(selection.count)
      const fragment = sql`select ${read} from ${sql.table(name)}${where} order by ${sql.ref(`${name}.${key.name}`)}${limit}${sql.raw(this.#dialect.lock)}`
      return this.#builder.compile(fragment, { table: name, mayWait: this.#dialect.lock !== '' })
    })
  }

  /** Values: the selection's, then those of the columns. */
  update(selection: Selection, columns: readonly Column[]): Plan {
    return this.#kept.get(`u${namesOf(columns)}|${selection.key}`, () => {
      const { sql } = this.#builder
      const { name } = this.#table
      const sets = columns.map(
        (column, index) => sql`${sql.ref(column.name)} = ${new Slot(selection.count + index)}`,
      )
      sets.push(...counted(this.#table, sql))
      const where = this.#where(selection, this.#writer())
      const fragment = sql`update ${sql.table(name)} set ${sql.join(sets)}${where}`
      return this.#builder.compile(fragment, { table: name, kind: 'update' })
    })
  }

  /** Values: the selection's, then the time if the table soft-deletes. */
  remove(selection: Selection): Plan {
    return this.#kept.get(`d${selection.key}`, () => {
      const { sql } = this.#builder
      const { name, deletedAt } = this.#table
      const where = this.#where(selection, this.#writer())
      const fragment =
        deletedAt === undefined
          ? sql`delete from ${sql.table(name)}${where}`
          : sql`update ${sql.table(name)} set ${sql.ref(deletedAt.name)} = ${new Slot(selection.count)}${where}`
      return this.#builder.compile(fragment, { table: name, kind: 'delete' })
    })
  }

  #where({ condition }: Selection, writer: FilterWriter): Fragment {
    const { sql } = this.#builder
    const { name, deletedAt } = this.#table
    const parts: Fragment[] = []
    if (condition !== undefined) parts.push(writer.write(condition, name))
    if (deletedAt !== undefined) parts.push(sql`${sql.ref(`${name}.${deletedAt.name}`)} is null`)
    return parts.length === 0 ? sql`` : sql` where ${sql.join(parts, sql` and `)}`
  }

  #writer(): FilterWriter {
    return new FilterWriter(this.#builder.sql, this.#dialect)
  }
}
