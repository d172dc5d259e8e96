/**
 * How rows are copied between databases of different engines. Every value is exchanged as text, in one form for all engines:
 * `5`, `true`, `15.50`, `2026-11-20T10:00:00.000Z`, `\x0aff`, JSON as it is stored, a list as JSON. Null stays null.
 */
import type { ActualColumn } from './table-schema.js'
import type { Runner } from './runner.js'
import type { SqlWrapper } from './sql-text.js'
import type { Column } from './table.js'

/** A column of one of the databases. */
export interface ExchangedColumn {
  readonly column: ActualColumn
  /** The digits of the fractions of seconds, for timestamps: 3 or 6. */
  readonly digits: number
  /** The field's column, if it is an array of the database where the database has arrays, and JSON elsewhere. */
  readonly list: Column | undefined
}

/** Reads a column. */
export interface ExchangeReader {
  /** SQL around the column. Undefined: the column as it is. */
  readonly sql: SqlWrapper | undefined
  /** Converts the driver's value, never null. Undefined if it is the exchanged text already. */
  readonly toText: ((value: unknown) => string) | undefined
}

export interface ExchangeSql {
  readonly reader: (column: ExchangedColumn) => ExchangeReader
  /** Converts the exchanged text to the driver's value. Undefined if the driver takes the text. */
  readonly writer: (
    column: Pick<ExchangedColumn, 'column' | 'list'>,
  ) => ((text: string) => unknown) | undefined
  /** SQL around the placeholder of a value of the column. */
  readonly typed: (column: ActualColumn) => SqlWrapper
  /** The digits of the fractions of seconds that a column of timestamps can hold. Undefined for other columns. */
  readonly digitsOf: (column: ActualColumn) => number | undefined
  /** Whether the database formats the JSON or list of a column anew, so that texts of equal values differ. */
  readonly formatsJson: (column: ActualColumn) => boolean
  /** SQL over the column `{c}` of its size in bytes. Undefined for columns with small values. */
  readonly sizeOf: (column: ActualColumn) => string | undefined
  /** Whether texts can contain the character NUL. */
  readonly holdsNul: boolean
  /** The SQL name of the order of rows without a key. Undefined if a cursor reads them. */
  readonly rowOrder: string | undefined
  /** The column that every table has, by whose value people find a row without a key: `ctid`. */
  readonly rowPlace: ActualColumn
  /** @returns the last generated number of a column; undefined if the column or its counter has none */
  readonly readCounter: (
    runner: Runner,
    table: string,
    column: string,
  ) => Promise<string | undefined>
  /** Lets generated numbers continue after this one, and after the largest one in the table. */
  readonly writeCounter: (
    runner: Runner,
    table: string,
    column: string,
    last: string,
  ) => Promise<void>
  /** A statement that updates the statistics of a table, whose name is quoted, after many rows were written. */
  readonly analyze: (table: string) => string
}

/** One consistent state of a database. Writers do not wait for it. */
export interface DatabaseSnapshot extends Runner {
  close(): Promise<void>
}

/** What an engine can do for copies of all rows. */
export interface EngineCopying {
  readonly snapshot: () => Promise<DatabaseSnapshot>
  /** Begins a transaction for copied rows. If possible, it does not check references, and runs no triggers of PostgreSQL. */
  readonly begin: () => Promise<CopyTransaction>
}

export interface CopyTransaction extends Runner {
  /** Whether each statement must leave all references intact. */
  readonly checksReferences: boolean
  commit(): Promise<void>
  rollback(): Promise<void>
}

/** The shortest text that is read as the same double. */
export function toDoubleText(value: number): string {
  return Object.is(value, -0) ? '-0' : String(value)
}

/**
 * Appends the digits after the milliseconds that a timestamp in ISO form has lost.
 *
 * @param iso `2026-11-20T10:00:00.123Z`
 * @param text the timestamp as it is stored, `2026-11-20 10:00:00.123456+00`
 */
export function withMicroseconds(iso: string, text: string, digits: number): string {
  if (digits <= 3) return iso
  const rest = /\.\d{3}(\d{1,3})/.exec(text)?.[1]?.padEnd(3, '0') ?? '000'
  return rest === '000' ? iso : `${iso.slice(0, -1)}${rest}Z`
}
