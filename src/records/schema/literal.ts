/** Values as they stand in SQL that makes tables. */
import { toProperty } from '../../fields/kinds/table.js'
import type { Dialect } from '../engines/engine.js'
import { toStoredJson } from '../model/stored-json.js'
import type { Column } from '../model/table.js'

/** SQL of a property's value as the column keeps it; `undefined` where it has none. */
export function toLiteral(value: unknown, column: Column, dialect: Dialect): string | undefined {
  if (value === null) return 'null'
  const { entry } = column.field
  if (column.storage === 'json') return quoteText(toStoredJson(column.field, value))
  const property = toProperty(value, entry)
  const kept = entry.encode === undefined ? property : entry.encode(property)
  const encode = dialect.encoder(column)
  const written = encode === undefined ? kept : encode(kept)
  if (['number', 'bigint', 'boolean'].includes(typeof written)) return String(written)
  return typeof written === 'string' ? quoteText(written) : undefined
}

function quoteText(text: string): string {
  return `'${text.replaceAll("'", "''")}'`
}
