/** The statements of one table: each is written once for every form of query, then kept. */
import { Slot, type Builder, type Plan, type RawBuilder, type SlotBound } from './builder.js'
import type { TableCodec } from '../model/codec.js'
import type { Dialect } from '../../engines/contract/engine.js'
import { boundOfCount, factsOfList } from './statement-marks.js'
import type { Condition } from '../filters/condition.js'
import { lengthOf } from '../filters/by-key.js'
import { FilterWriter } from '../filters/filter-sql.js'
import { HeldPlans } from './held-plans.js'
import { Kept } from '../../core/kept.js'
import { ManyPlans } from './many-plans.js'
import { toNullPieces, writePieces } from '../filters/null-pieces.js'
import { writeOrder, type Order } from '../filters/order.js'
import { insertFacts, writeInsert, writeInsertLists, type InsertParts } from './insert-plan.js'
import { living, namesOf, selectionKey } from './plan-parts.js'
import type { ListParts } from './related-json.js'
import { selected } from './selected.js'
import { keyTest, shardTest } from './shard.js'
import { planUpdate } from './update-plan.js'
import type { RowsWithin } from './rows-within.js'
import type { Column } from '../../engines/contract/table.js'
import type { Relation, Table } from '../model/table.js'

type Fragment = RawBuilder<unknown>

/** The rows that a statement concerns. `key` identifies its form; `count` is the number of its values. */
export interface Selection {
  readonly condition: Condition | undefined
  readonly key: string
  readonly count: number
  readonly withDeleted: boolean
}

/** Counts and lists of which nobody knows how many rows they look at: whoever asks the same meanwhile gets the same answer. */
const same = { together: 'same' } as const

/** The most statements that are kept for a table. */
const mostPlans = 500

export class TablePlans {
  readonly table: Table
  readonly codec: TableCodec
  readonly #builder: Builder
  readonly #dialect: Dialect
  readonly #kept = new Kept<Plan>(mostPlans)
  readonly #columns: Fragment

  constructor(table: Table, codec: TableCodec, builder: Builder, dialect: Dialect) {
    this.table = table
    this.codec = codec
    this.#builder = builder
    this.#dialect = dialect
    this.#columns = builder.sql.join(table.columns.map((column) => this.#read(column)))
    this.find = this.#planFind('')
    this.held = new HeldPlans(table, builder, dialect)
    this.many = new ManyPlans(table, builder, dialect)
  }

  /** `select … where id = ?` */
  readonly find: Plan
  /** Statements that lock rows, or write rows that match a filter. */
  readonly held: HeldPlans
  /** Statements that write many rows at once. */
  readonly many: ManyPlans

  /** The same, but locks the row until the transaction ends. */
  get findToWrite(): Plan {
    const { lock } = this.#dialect
    return lock === '' ? this.find : this.#kept.get('F', () => this.#planFind(lock))
  }

  /** Values: the selection's, then limit, then offset. */
  list(
    selection: Selection,
    order: Order,
    { hasLimit = false, hasOffset = false, related }: ListParts,
  ): Plan {
    const key = `l${selectionKey(selection)}o${order.key}${hasLimit ? 'L' : ''}${hasOffset ? 'O' : ''}${related?.key ?? ''}`
    return this.#kept.get(key, () => {
      const { sql } = this.#builder
      const writer = this.#writer()
      const ranking = order.rank && writer.rank(order.rank, 't')
      const limit = hasLimit ? writer.limit(selection.count) : this.#noLimit(hasOffset)
      const behind = selection.count + (hasLimit ? 1 : 0)
      const offset = hasOffset ? sql` offset ${new Slot(behind)}` : sql``
      const rows = (condition: Condition | undefined): Fragment =>
        sql`${ranking?.from ?? sql``}${this.#aliased('t')}${this.#where({ ...selection, condition }, writer)}`
      const pieces = hasLimit && toNullPieces(this, order, selection.condition, this.#dialect)
      const from = pieces
        ? writePieces(pieces, {
            alias: 't',
            writer,
            rows,
            limit: selection.count,
            offset: hasOffset ? behind : undefined,
            isLocal: this.#dialect.isLocal,
          })
        : rows(selection.condition)
      const columns = related === undefined ? this.#selected('t') : sql`t.*`
      const listed = sql`select ${columns} from ${from} order by ${writeOrder(order.terms, writer, 't', ranking)}${limit}${offset}`
      const fragment = related?.around(listed, this.#selected('t')) ?? listed
      const facts = related
        ? same
        : factsOfList(this.table, selection, order, hasLimit && !hasOffset)
      return this.#builder.compile(fragment, { table: this.table.name, ...facts })
    })
  }

  count(selection: Selection): Plan {
    return this.#kept.get(`c${selectionKey(selection)}`, () => {
      const { sql } = this.#builder
      const fragment = sql`select count(*) from ${this.#aliased('t')}${this.#where(selection, this.#writer(), true)}`
      return this.#builder.compile(fragment, { table: this.table.name, ...same })
    })
  }

  /** Counts up to a number of rows. Values: the selection's, then that number. */
  countUpTo(selection: Selection): Plan {
    return this.#kept.get(`m${selectionKey(selection)}`, () => {
      const { sql } = this.#builder
      const writer = this.#writer()
      const rows = sql`select 1 from ${this.#aliased('t')}${this.#where(selection, writer, true)}${writer.limit(selection.count)}`
      const fragment = sql`select count(*) from (${rows}) as c`
      const facts = { table: this.table.name, ...same, ...boundOfCount(this.table, selection) }
      return this.#builder.compile(fragment, facts)
    })
  }

  /** Counts matches among the first and the last rows. Values: the selection's, then their number. */
  sample(selection: Selection): Plan {
    return this.#kept.get(`s${selectionKey(selection)}`, () => {
      const { sql } = this.#builder
      const writer = this.#writer()
      const { name, key } = this.table
      const end = (direction: string): Fragment =>
        sql`select * from (select * from ${sql.table(name)} order by ${sql.ref(key.name)} ${sql.raw(direction)}${writer.limit(selection.count)}) as ${sql.id(direction)}`
      const rows = sql`(${end('asc')} union all ${end('desc')}) as ${sql.id('t')}`
      const found = sql`select count(*) from ${rows}${this.#where(selection, writer)}`
      const bound: SlotBound = (values) => 2 * Number(values[selection.count])
      return this.#builder.compile(found, { table: name, bound })
    })
  }

  /** Values: those of `columns`, once for every row. */
  insert(columns: readonly Column[], rows: number, returns: 'nothing' | 'key' | 'row'): Plan {
    const key = `i${columns.length === this.table.columns.length ? 'k' : ''}${rows}${returns}`
    return this.#kept.get(key, () =>
      this.#builder.compile(
        writeInsert({ ...this.#parts(), columns, returns }, rows),
        insertFacts(this.table, columns),
      ),
    )
  }

  /** Values: a list for each of `columns`, of these types. */
  insertLists(columns: readonly Column[], types: readonly string[], returns: 'nothing' | 'key') {
    return this.#kept.get(`I${namesOf(columns)}|${types.join()}${returns}`, () =>
      this.#builder.compile(
        writeInsertLists({ ...this.#parts(), columns, returns }, types),
        insertFacts(this.table, columns),
      ),
    )
  }

  /** Values: those of `within`, those of `columns`, then the key. */
  update(columns: readonly Column[], within?: RowsWithin): Plan {
    return this.#kept.get(`u${within?.key ?? ''}|${namesOf(columns)}`, () => {
      const { sql } = this.#builder
      const { table } = this
      const first = within?.values.length ?? 0
      const isOne =
        within === undefined
          ? sql``
          : sql` and ${this.#writer().write(within.condition, table.name)}`
      const isMeant = sql`${keyTest(table, sql, first + columns.length)}${isOne}`
      const [builder, dialect, answered] = [this.#builder, this.#dialect, this.#columns]
      return planUpdate({ table, builder, dialect, columns, first, isMeant, answered })
    })
  }

  /**
   * Values: the key, after the time if the table soft-deletes.
   *
   * @param returned the columns of the deleted rows to return
   */
  remove(returned: readonly Column[] = []): Plan {
    return this.#kept.get(`d${namesOf(returned)}`, () => {
      const { sql } = this.#builder
      const { name, deletedAt } = this.table
      const fragment =
        deletedAt === undefined
          ? sql`delete from ${sql.table(name)} where ${keyTest(this.table, sql, 0)}`
          : sql`update ${sql.table(name)} set ${sql.ref(deletedAt.name)} = ${new Slot(0)} where ${keyTest(this.table, sql, 1)}`
      const facts = { table: name, kind: 'delete', bound: 1 } as const
      return this.#builder.compile(sql`${fragment}${this.#returning(returned)}`, facts)
    })
  }

  /** The undeleted rows of this table that refer to others by a `belongsTo`. Value: the others' keys as one list. */
  dependents(relation: Relation, columns: readonly Column[]): Plan {
    return this.#kept.get(`e${relation.name}:${namesOf(columns)}`, () => {
      const { sql } = this.#builder
      const [before, behind] = this.#dialect.listTest
      const chosen = sql.join(columns.map(({ name }) => sql.ref(`t.${name}`)))
      const test = sql`${sql.ref(`t.${relation.local.name}`)} ${sql.raw(before)}${sql.val(new Slot(0))}${sql.raw(behind)}`
      const same = relation.shards && shardTest(this.table, sql, 1, 't.')
      const fragment = sql`select ${chosen} from ${this.#aliased('t')} where ${test}${same ?? sql``}${living(this.table, sql)}`
      return this.#builder.compile(fragment, { table: this.table.name })
    })
  }

  /** Whether a row, deleted softly or not, has a value in this column. Value: that. */
  refers(column: Column): Plan {
    return this.#kept.get(`h${column.name}`, () => {
      const { sql } = this.#builder
      const fragment = sql`select 1 from ${sql.table(this.table.name)} where ${sql.ref(column.name)} = ${new Slot(0)}${column === this.table.shard ? sql`` : shardTest(this.table, sql, 1)} limit 1`
      return this.#builder.compile(fragment, { table: this.table.name })
    })
  }

  /**
   * The undeleted rows that a relation's keys lead to, each after the key that led there. Values: one packed list, or
   * `count` single keys.
   */
  related(relation: Relation, count: number | undefined): Plan {
    return this.#kept.get(`r${relation.name}:${count ?? 'packed'}`, () => {
      const { sql } = this.#builder
      const { target, foreign, join } = relation
      const slots = Array.from({ length: count ?? 1 }, (_, index) => sql.val(new Slot(index)))
      const [before, after] = count === undefined ? this.#dialect.listTest : ['in (', ')']
      const test = sql`${sql.raw(before)}${sql.join(slots)}${sql.raw(after)}`
      const columns = sql.join(target.columns.map((column) => this.#read(column, 't')))
      const same = relation.shards && shardTest(target, sql, slots.length, 't.')
      const by = join === undefined ? sql.ref(`t.${foreign.name}`) : sql.ref(`j.${join.from}`)
      const from =
        join === undefined
          ? sql`${sql.table(target.name)} as t`
          : sql`${sql.table(join.name)} as j inner join ${sql.table(target.name)} as t on ${sql.ref(`t.${foreign.name}`)} = ${sql.ref(`j.${join.to}`)}`
      const fragment = sql`select ${by}, ${columns} from ${from} where ${by} ${test}${same ?? sql``}${living(target, sql)} order by ${sql.ref(`t.${target.key.name}`)}`
      const isByKey = relation.kind === 'belongsTo' && same === undefined
      return this.#builder.compile(fragment, {
        table: relation.table.name,
        together: isByKey ? 'calls' : undefined,
        bound: isByKey ? (values) => count ?? lengthOf(values[0]) : undefined,
      })
    })
  }

  /** Values: this record's key, the other's. */
  link(relation: Relation, removes: boolean): Plan {
    return this.#kept.get(`${removes ? 'x' : 'k'}${relation.name}`, () => {
      const { sql } = this.#builder
      const { join } = relation
      if (join === undefined) throw new TypeError(`${relation.name} has no join table.`)
      const table = sql.table(join.name)
      const [from, to] = [sql.ref(join.from), sql.ref(join.to)]
      const fragment = removes
        ? sql`delete from ${table} where ${from} = ${new Slot(0)} and ${to} = ${new Slot(1)}`
        : sql`insert into ${table} (${from}, ${to}) values (${new Slot(0)}, ${new Slot(1)}) on conflict do nothing`
      const kind = removes ? 'delete' : 'insert'
      return this.#builder.compile(fragment, { table: join.name, kind, bound: 1 })
    })
  }

  #parts(): InsertParts {
    const { sql } = this.#builder
    return { table: this.table, sql, dialect: this.#dialect, answered: this.#columns }
  }

  #planFind(lock: string): Plan {
    const { sql } = this.#builder
    const fragment = sql`select ${this.#columns} from ${sql.table(this.table.name)} where ${keyTest(this.table, sql, 0)}${sql.raw(lock)}`
    const { name, shard } = this.table
    const together = lock === '' && shard === undefined ? 'calls' : undefined
    return this.#builder.compile(fragment, {
      table: name,
      together,
      mayWait: lock !== '',
      bound: 1,
    })
  }

  /** @param looksAtAll whether the statement reads all rows, without a limit */
  #where(selection: Selection, writer: FilterWriter, looksAtAll = false): Fragment {
    const { sql } = this.#builder
    const { deletedAt } = this.table
    const parts: Fragment[] = []
    const { condition } = selection
    if (condition !== undefined)
      parts.push(looksAtAll ? writer.writeForAll(condition, 't') : writer.write(condition, 't'))
    if (deletedAt !== undefined && !selection.withDeleted) {
      parts.push(sql`${sql.ref(`t.${deletedAt.name}`)} is null`)
    }
    return parts.length === 0 ? sql`` : sql` where ${sql.join(parts, sql` and `)}`
  }

  #returning(columns: readonly Column[]): Fragment {
    const { sql } = this.#builder
    if (columns.length === 0) return sql``
    return sql` returning ${sql.join(columns.map(({ name }) => sql.ref(name)))}`
  }

  /** The SQL before an offset without a limit. */
  #noLimit(hasOffset: boolean): Fragment {
    return this.#builder.sql.raw(hasOffset ? this.#dialect.limit.none : '')
  }

  #writer(): FilterWriter {
    return new FilterWriter(this.#builder.sql, this.#dialect)
  }

  #read(column: Column, alias?: string): Fragment {
    return selected(column, { sql: this.#builder.sql, dialect: this.#dialect }, alias)
  }

  #selected(alias: string): Fragment {
    const { sql } = this.#builder
    return sql.join(this.table.columns.map((column) => this.#read(column, alias)))
  }

  #aliased(alias: string): Fragment {
    const { sql } = this.#builder
    return sql`${sql.table(this.table.name)} as ${sql.id(alias)}`
  }
}
