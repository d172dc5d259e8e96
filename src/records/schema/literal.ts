/** Writes values as literals for the SQL that creates tables. */
import { toProperty } from '../../fields/kinds/table.js'
import type { Dialect } from '../../engines/contract/dialect.js'
import { toStoredJson } from '../model/codec.js'
import type { Column } from '../../engines/contract/table.js'

/** The literal of a property's value as the column stores it; `undefined` if there is none. */
export function toLiteral(value: unknown, column: Column, dialect: Dialect): string | undefined {
  if (value === null) return 'null'
  const { entry } = column.field
  if (column.storage === 'json') return quoteText(toStoredJson(column.field, value))
  const property = toProperty(value, entry)
  const encoded = entry.encode === undefined ? property : entry.encode(property)
  const encode = dialect.encoder(column)
  const written = encode === undefined ? encoded : encode(encoded)
  if (['number', 'bigint', 'boolean'].includes(typeof written)) return String(written)
  return typeof written === 'string' ? quoteText(written) : undefined
}

function quoteText(text: string): string {
  return `'${text.replaceAll("'", "''")}'`
}
