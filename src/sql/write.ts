/** Makes statements of trees. Written once for each shape of question; plans are kept by those who ask. */
import type { Dialect } from '../engines/contract/dialect.js'
import type {
  OneNewRow,
  OneRowChange,
  RowsChange,
  Statement,
} from '../engines/contract/statement.js'
import { join, name, raw, slot, sql, toText, type Sql } from '../engines/contract/sql-text.js'
import { quote } from '../engines/contract/ddl.js'
import {
  insertHead,
  insertTail,
  passOf,
  updateHead,
  writeChange,
  writeUpdateCalls,
} from './changes.js'
import { areOwn, factsOf, keyPlaceOf, rowTestOf } from './facts.js'
import { writeFigures } from './figures.js'
import { ObjectWriter } from './objects.js'
import { PageWriter } from './page.js'
import { writeRows } from './related.js'
import { answeredOf, RowsWriter } from './rows.js'
import type { Change, Question } from './tree.js'
import { Writing } from './writing.js'

/** A statement, and where its values come from. Keep it: engines remember by the statement what they have prepared. */
export interface Plan {
  readonly statement: Statement
  /** For each placeholder the place of its value; `undefined` if they are in that order. */
  readonly order: readonly number[] | undefined
}

/** A run's values in the order of the plan's placeholders. */
export function arrange(plan: Plan, values: readonly unknown[]): readonly unknown[] {
  return plan.order === undefined ? values : plan.order.map((place) => values[place])
}

export function write(tree: Question | Change, dialect: Dialect): Plan {
  const writer = new RowsWriter(new Writing(dialect))
  const text = 'change' in tree ? writeChange(tree, writer) : writeQuestion(tree, writer)
  const { sql: written, order } = toText(text, dialect.placeholder)
  const { table, ...facts } = factsOf(tree, dialect, (place) => order.indexOf(place))
  const statement: Statement = {
    sql: written,
    tables: Object.freeze([...new Set([table, ...writer.writing.tables])]),
    for: 'client',
    ...facts,
    only: rowTestOf(
      tree,
      (place) => order.indexOf(place),
      (name) => writer.writing.namesOnce(name),
    ),
    oneRow: 'change' in tree ? oneRowOf(tree, dialect, order) : undefined,
    rows: 'change' in tree ? rowsOf(tree, dialect) : undefined,
    newRow: 'change' in tree ? newRowOf(tree, dialect) : undefined,
  }
  const isInOrder = order.every((place, index) => place === index)
  return Object.freeze({
    statement: Object.freeze(statement),
    order: isInOrder ? undefined : order,
  })
}

function writeQuestion(question: Question, writer: RowsWriter): Sql {
  switch (question.ask) {
    case 'rows':
      return writeRows(question, writer)
    case 'count':
      return writer.count(question)
    case 'behind':
      return writer.behind(question)
    case 'objects':
    case 'object':
      return new ObjectWriter(writer).write(question)
    case 'page':
      return new PageWriter(question, writer, new ObjectWriter(writer)).write()
    case 'figures':
      return writeFigures(question.rows, question.figures, writer)
    case 'match': {
      const alias = writer.writing.alias()
      const row = [...question.known].map(
        ([column, place]) =>
          sql`${slot(place)}${raw(writer.writing.dialect.typed(column))} as ${name(column.name)}`,
      )
      const test = writer.conditions.writeForOne(question.where, alias)
      return sql`select 1 from (select ${join(row)}) as ${name(alias)} where ${test}`
    }
  }
}

/** What an engine needs to write new rows of several calls by one statement; not where that moves the key's sequence. */
function newRowOf(change: Change, dialect: Dialect): OneNewRow | undefined {
  if (change.change !== 'insert' || change.of !== 1 || change.answers !== 'row') return undefined
  const { table, columns, or } = change
  const isAlone = dialect.isLocal || table.shard !== undefined || or !== undefined
  if (isAlone || columns.length === 0 || passOf(change, dialect) !== undefined) return undefined
  const lengthOf = (text: Sql | undefined): number =>
    text === undefined ? 0 : toText(text, dialect.placeholder).sql.length
  const writing = new Writing(dialect)
  return {
    head: lengthOf(insertHead(change, writing)),
    tail: lengthOf(insertTail(change, writing)),
  }
}

/** What an engine needs to change rows of several calls by one statement. */
function oneRowOf(
  change: Change,
  dialect: Dialect,
  order: readonly number[],
): OneRowChange | undefined {
  if (change.change !== 'update' || change.answers !== 'row' || dialect.isLocal) return undefined
  const { table, columns, before = [], sums = [] } = change
  const key = keyPlaceOf(change)
  if (
    before.length + sums.length > 0 ||
    key === undefined ||
    table.shard !== undefined ||
    !areOwn(table, columns)
  )
    return undefined
  const writing = new Writing(dialect)
  const head = toText(updateHead(change, new RowsWriter(writing)), dialect.placeholder)
  const tail = toText(
    sql` returning ${answeredOf(table, table.name, writing)}`,
    dialect.placeholder,
  )
  return {
    table: quote(table.name),
    key: quote(table.key.name),
    keyPlace: order.indexOf(key) + 1,
    head: head.sql.length,
    tail: tail.sql.length,
  }
}

/** What an engine needs to change several rows of each of several calls by one statement. */
function rowsOf(change: Change, dialect: Dialect): RowsChange | undefined {
  if (change.change !== 'updateEach' || dialect.isLocal) return undefined
  const { table, columns, types, sums = [], hasVersions } = change
  if (sums.length > 0 || hasVersions === true) return undefined
  if (table.shard !== undefined || !areOwn(table, columns)) return undefined
  const together = writeUpdateCalls(change, new RowsWriter(new Writing(dialect)))
  return {
    together: toText(together, dialect.placeholder).sql,
    lists: types.length,
    keys: 0,
    sizeOf: (values) => Number(values.at(-1)),
  }
}
