/** Types of columns as catalogues name them, and which of them hold the same values. */
import type { ActualColumn } from './catalogue.js'
import type { ColumnSchema } from './schema.js'

/** Types that hold the same values, so that tables made by others can be used. */
const alike: Readonly<Record<string, readonly string[]>> = {
  bigint: ['integer', 'smallint'],
  'double precision': ['real', 'numeric'],
  numeric: ['bigint', 'integer', 'smallint'],
  text: ['character varying', 'character', 'varchar', 'uuid'],
  json: ['jsonb'],
  integer: ['int', 'bigint'],
}

/** Whether the records can work with a column as it is. */
export function sameType(column: ColumnSchema, known: ActualColumn): boolean {
  const wanted = toBareType(column)
  // SQLite tells the length that somebody wrote, and does not heed it.
  const type = known.type.replace(/ *\(.*\)$/, '')
  return type === wanted || (alike[wanted]?.includes(type) ?? false)
}

/** As the catalogue writes them. */
const longNames: Readonly<Record<string, string>> = {
  timestamptz: 'timestamp with time zone',
  time: 'time without time zone',
}

/** As the catalogue writes it: without collation and length. */
export function toBareType({ type }: ColumnSchema): string {
  const bare = (type.split(' collate ')[0] ?? type).replace(/\(.*\)$/, '')
  return longNames[bare] ?? bare
}

/** Moments were text before they were moments to the database. */
export function wasMoment(column: ColumnSchema, known: ActualColumn): boolean {
  return toBareType(column) === longNames.timestamptz && known.type === 'text'
}
