/** Writes aggregates: groups of rows, and figures of each group. */
import { filled, join, raw, slot, sql, within, type Sql } from '../engines/contract/sql-text.js'
import type { Dialect } from '../engines/contract/dialect.js'
import type { Column } from '../engines/contract/table.js'
import { operatorOf, type Operator } from './operators.js'
import { directed } from './order.js'
import type { RowsWriter } from './rows.js'
import type { Rows } from './tree.js'
import { ref, type Writing } from './writing.js'

/** One figure of a group: the number of its rows, a field that they share, or a function of a field's values. */
export interface Figure {
  /** None counts the rows. */
  readonly column: Column | undefined
  /** SQL with the column `{c}`, which compares and sorts as the figure does. Default: the column itself. */
  readonly words?: string
  /** It is answered as text, otherwise it loses digits; default as the column is. */
  readonly isText?: boolean
  /** By what its groups are ordered, with `{c}`, if their text is not in the order of time. A function of the group's value. */
  readonly order?: string
}

export interface Figures {
  readonly groups: readonly Figure[]
  readonly measures: readonly Figure[]
  readonly having: readonly FigureTest[]
  readonly order: readonly {
    readonly measure: Figure
    readonly descending: boolean
    readonly nullsFirst: boolean
  }[]
}

export interface FigureTest {
  readonly measure: Figure
  readonly operator: Operator
  readonly slot: number
  /** Set for tests of null: what must hold. Of `in`: whether null is one of the values. */
  readonly isNull?: boolean | undefined
  /** The values of `in`. */
  readonly slots?: readonly number[]
}

export function writeFigures(
  rows: Rows,
  { groups, measures, having, order }: Figures,
  writer: RowsWriter,
): Sql {
  const { writing } = writer
  const alias = writing.alias()
  const write = (figure: Figure): Sql => writeFigure(figure, alias)
  const answers = [...groups, ...measures].map((figure) => answerFigure(figure, alias, writing))
  const from = sql`select ${join(answers)} from ${writing.table(rows.table.name, alias)}${writer.where(rows, alias)}`
  // A computed group is named by its place in the result, so that its expression is computed once.
  const writeGroup = (figure: Figure, index: number): Sql =>
    figure.words === undefined ? write(figure) : raw(String(index + 1))
  const writeOrder = (figure: Figure): Sql => {
    const { column, order: words } = figure
    if (words !== undefined) return write({ column, words })
    const place = groups.indexOf(figure)
    return place === -1 ? write(figure) : writeGroup(figure, place)
  }
  const by = groups.length === 0 ? undefined : sql` group by ${join(groups.map(writeGroup))}`
  const tests = having.map((test) => writeTest(test, write(test.measure), writing.dialect))
  const tested = tests.length === 0 ? undefined : sql` having ${join(tests, ' and ')}`
  const terms = order.map(({ measure, descending, nullsFirst }) =>
    directed(writeOrder(measure), descending, nullsFirst),
  )
  const ordered = terms.length === 0 ? undefined : sql` order by ${join(terms)}`
  const most = typeof rows.limit === 'number' ? writing.limit(rows.limit) : undefined
  return sql`${from}${by}${tested}${ordered}${most}`
}

function writeTest(
  { operator, slot: place, isNull, slots }: FigureTest,
  figure: Sql,
  dialect: Dialect,
): Sql {
  if (slots !== undefined) {
    const parts = slots.map((one) => sql`${figure} = ${slot(one)}`)
    if (isNull === true) parts.push(sql`${figure} is null`)
    return parts.length === 0 ? sql`1 = 0` : sql`(${join(parts, ' or ')})`
  }
  const write = operatorOf(operator).sql
  if (isNull !== undefined || write === undefined)
    return sql`${figure} ${raw(isNull === true ? 'is null' : 'is not null')}`
  return write({ dialect, column: figure, isNullable: true, value: slot(place) })
}

function writeFigure({ column, words = '{c}' }: Figure, alias: string): Sql {
  return column === undefined ? sql`count(*)` : filled(words, { c: ref(alias, column) })
}

function answerFigure(figure: Figure, alias: string, { dialect }: Writing): Sql {
  const written = writeFigure(figure, alias)
  const { column, isText } = figure
  if (column === undefined || isText === false) return written
  return isText === true ? sql`cast(${written} as text)` : within(dialect.answered(column), written)
}
