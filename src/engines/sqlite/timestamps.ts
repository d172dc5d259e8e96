/**
 * Timestamps in SQLite are text. The framework stores one form, `2026-11-20T10:00:00.000Z`. Other programs store others:
 * without a fraction, with six digits, with an offset, with a space instead of `T`. All of them count as the same form,
 * cut to milliseconds. Source: SQLite, Date And Time Functions.
 */
import { toTimestamp } from '../../fields/kinds/dates.js'

const toStored = (text: string): string => `strftime('%Y-%m-%dT%H:%M:%fZ', ${text})`

/** An offset is the last six characters. The 23 characters before it end with the milliseconds. */
const withOffset = toStored('substr(substr({c}, 1, length({c}) - 6), 1, 23) || substr({c}, -6)')
const withoutOffset = toStored("substr(rtrim({c}, 'Zz'), 1, 23)")

/**
 * SQL of a timestamp `{c}` in the framework's form. A deterministic expression of built-in functions, for indexes. It has
 * no question mark, because drivers count them.
 */
export const storedTimestamp = `iif({c} glob '*T*.*Z' and length({c}) = 24, {c}, iif(length({c}) > 21 and substr({c}, -6, 1) in ('+', '-'), ${withOffset}, ${withoutOffset}))`

/** The column of an index part that is `storedTimestamp` of it. */
const timestampPart = /iif\("((?:[^"]|"")+)" glob '/g

/** The columns of such parts in the SQL of an index, in order. */
export function timestampColumnsOf(indexSql: string): string[] {
  return [...indexSql.matchAll(timestampPart)].map(([, column = '']) =>
    column.replaceAll('""', '"'),
  )
}

/** Converts a stored text as the SQL does. Other texts stay. */
export function readStoredTimestamp(value: unknown): unknown {
  if (typeof value !== 'string' || isStoredForm(value)) return value
  return toTimestamp(value) ?? value
}

function isStoredForm(text: string): boolean {
  return text.length === 24 && text[10] === 'T' && text[19] === '.' && text[23] === 'Z'
}
