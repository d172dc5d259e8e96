/** Reads all rows of a table in batches, in the order of its key, as exchanged texts. */
import { setImmediate } from 'node:timers/promises'
import { quote, quoteTable } from '../../engines/contract/quote.js'
import type {
  ExchangedColumn,
  ExchangeReader,
  DatabaseSnapshot,
} from '../../engines/contract/exchange.js'
import type { Dialect } from '../../engines/contract/dialect.js'
import type { Row, Statement } from '../../engines/contract/engine.js'
import { frameworkQuery, frameworkScript } from '../../engines/contract/statement.js'
import { copyError } from './copy-error.js'

/** The values of a row, in the order of the columns. */
export type CopiedRow = readonly (string | null)[]

export interface RowBatch {
  readonly rows: readonly CopiedRow[]
  /** The values of the key of the last row. Empty for a table without a key. */
  readonly last: readonly (string | null)[]
}

interface ReadOptions {
  readonly dialect: Dialect
  readonly table: string
  readonly columns: readonly ExchangedColumn[]
  /** The names of the columns of the key. */
  readonly key: readonly string[]
  /** The bytes of the largest row, for the size of the batches. */
  readonly rowSize: number
  /** The key of the row after which reading begins. */
  readonly after?: readonly (string | null)[] | undefined
}

/** Rows of a batch. Batches of large rows, and the last one, have fewer. */
export const maxRows = 1000
const maxBytes = 16_000_000

/** The size of a table. */
export interface TableExtent {
  readonly rows: number
  /** The bytes of the values of variable length in its largest row. */
  readonly rowSize: number
}

export async function measureTable(
  snapshot: DatabaseSnapshot,
  {
    dialect: {
      bulk: { exchange },
    },
    table,
    columns,
  }: Pick<ReadOptions, 'dialect' | 'table' | 'columns'>,
): Promise<TableExtent> {
  const sizes = columns.flatMap(({ column }) => {
    const sizeOf = exchange.sizeOf(column)
    return sizeOf === undefined ? [] : [sizeOf.replaceAll('{c}', () => quote(column.name))]
  })
  const largest = sizes.length === 0 ? '0' : `coalesce(max(${sizes.join(' + ')}), 0)`
  const sql = `select count(*), ${largest} from ${quoteTable(table)}`
  const [rows, rowSize] = (await snapshot.run(frameworkQuery(sql), [], 'first')) ?? []
  return { rows: Number(rows), rowSize: Number(rowSize) }
}

/** @throws {DeclarationError} `COPY_FAILED` if not all rows were read, for example because a part of a key is null */
export function checkRead(table: string, rows: number, extent: TableExtent): void {
  if (rows === extent.rows) return
  throw copyError(
    `Table ${table}: ${rows} of ${extent.rows} rows were read. A part of a key may be null.`,
  )
}

/** Other work runs between the batches, such as sending rows to a server. */
export async function* readRows(
  snapshot: DatabaseSnapshot,
  options: ReadOptions,
): AsyncGenerator<RowBatch, void> {
  const { dialect, table, columns, key, rowSize } = options
  const limit = Math.max(1, Math.min(maxRows, Math.floor(maxBytes / (rowSize + 1))))
  const readers = columns.map((column) => dialect.bulk.exchange.reader(column))
  const positions = key.map((name) => columns.findIndex(({ column }) => column.name === name))
  const pages =
    key.length > 0
      ? readByKey(snapshot, options, readers, limit)
      : readUnordered(snapshot, options, readers, limit)
  for await (const page of pages) {
    const rows = page.map((row) => toTexts(row, readers, { table, columns, positions }))
    const lastRow = rows.at(-1) ?? []
    yield { rows, last: positions.map((position) => lastRow[position] ?? null) }
    await setImmediate()
  }
}

function selected(columns: readonly ExchangedColumn[], readers: readonly ExchangeReader[]): string {
  const list = columns.map(({ column: { name } }, index) => {
    const [before, after] = readers[index]?.sql ?? ['', '']
    return before + quote(name) + after
  })
  return list.join(', ')
}

async function* readByKey(
  snapshot: DatabaseSnapshot,
  { dialect, table, columns, key, after }: ReadOptions,
  readers: readonly ExchangeReader[],
  limit: number,
): AsyncGenerator<readonly Row[]> {
  const { exchange } = dialect.bulk
  const parts = key.map((name) => columns.findIndex(({ column }) => column.name === name))
  const keyColumns = parts.map((index) => columns[index] as ExchangedColumn)
  // With the name of the table, the column is meant, not its text in the result.
  const list = keyColumns.map(({ column }) => `t.${quote(column.name)}`).join(', ')
  const statementOf = (where: string): Statement =>
    frameworkQuery(
      `select ${selected(columns, readers)} from ${quoteTable(table)} t${where} order by ${list} limit ${limit}`,
    )
  const values = keyColumns.map(({ column }, index) => {
    const [before, end] = exchange.typed(column)
    return `${before}${dialect.statements.placeholder(index + 1)}${end}`
  })
  const first = statementOf('')
  const following = statementOf(` where (${list}) > (${values.join(', ')})`)
  const writers = keyColumns.map((column) => exchange.writer(column))
  const read = async (last: RowBatch['last'] | undefined): Promise<readonly Row[]> => {
    const bound = last?.map((text, index) =>
      text === null ? null : (writers[index]?.(text) ?? text),
    )
    return snapshot.run(bound === undefined ? first : following, bound ?? [], 'rows')
  }
  let reading = read(after)
  for (;;) {
    const rows = await reading
    const lastRow = rows.at(-1)
    if (lastRow === undefined) return
    const isLast = rows.length < limit
    if (!isLast) {
      // A server reads the next rows while these are processed.
      reading = read(
        parts.map((index) => {
          const value = lastRow[index]
          return value === null ? null : (readers[index]?.toText?.(value) ?? (value as string))
        }),
      )
      reading.catch(() => undefined)
    }
    yield rows
    if (isLast) return
  }
}

/** For tables without a key: by the number of the row, or with a cursor. */
async function* readUnordered(
  snapshot: DatabaseSnapshot,
  { dialect, table, columns }: ReadOptions,
  readers: readonly ExchangeReader[],
  limit: number,
): AsyncGenerator<readonly Row[]> {
  const list = selected(columns, readers)
  const { rowOrder } = dialect.bulk.exchange
  if (rowOrder === undefined) {
    const declare = `declare filigree_copy no scroll cursor for select ${list} from ${quoteTable(table)}`
    await snapshot.run(frameworkScript(declare), [], 'nothing')
    const fetch = frameworkQuery(`fetch ${limit} from filigree_copy`)
    for (;;) {
      const { rows } = await snapshot.run(fetch, [], 'all')
      if (rows.length > 0) yield rows
      if (rows.length < limit) break
    }
    await snapshot.run(frameworkScript('close filigree_copy'), [], 'nothing')
    return
  }
  const placeholder = dialect.statements.placeholder(1)
  const query = frameworkQuery(
    `select ${list}, ${rowOrder} from ${quoteTable(table)} where ${rowOrder} > ${placeholder} order by ${rowOrder} limit ${limit}`,
  )
  for (let last: unknown = Number.MIN_SAFE_INTEGER; ;) {
    const rows = await snapshot.run(query, [last], 'rows')
    last = rows.at(-1)?.at(-1)
    if (rows.length > 0) yield rows
    if (rows.length < limit) return
  }
}

/** Where a row comes from, for errors. */
interface RowOrigin {
  readonly table: string
  readonly columns: readonly ExchangedColumn[]
  /** The positions of the columns of the key. */
  readonly positions: readonly number[]
}

function toTexts(row: Row, readers: readonly ExchangeReader[], origin: RowOrigin): CopiedRow {
  // The row is new, so that its values can be replaced. It may end with its position.
  const texts = row as (string | null)[]
  texts.length = readers.length
  for (let index = 0; index < readers.length; index++) {
    const value = row[index]
    const toText = readers[index]?.toText
    if (value !== null && toText !== undefined) {
      try {
        texts[index] = toText(value)
      } catch (cause) {
        const { table, columns, positions } = origin
        const name = columns[index]?.column.name ?? ''
        const key = positions.map((position) => String(row[position]))
        throw copyError(
          `${describeCell(table, name, key)} cannot be read: ${messageOf(cause)}.`,
          cause,
        )
      }
    }
  }
  return texts
}

/** `Table lamp, row 7, column name` */
export function describeCell(
  table: string,
  column: string,
  key: readonly (string | null)[],
): string {
  return `Table ${table}, row ${key.join(', ') || '(without a key)'}, column ${column}`
}

export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
