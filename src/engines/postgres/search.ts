/**
 * Full-text search by PostgreSQL: an index on an expression, which every statement repeats, so that no column is
 * needed. Texts are split into words before, because PostgreSQL's parser makes one word of an address or a path. Text
 * after the first 200,000 characters is not searched, because the words of a row must fit into a megabyte.
 * Sources: PostgreSQL, Full Text Search; Regular Expressions.
 */
import { quote } from '../contract/ddl.js'
import type { SearchParts, SearchSql } from '../contract/dialect.js'
import type { Column } from '../contract/table.js'
import { raw, sql, wrap, type Sql } from '../contract/sql-text.js'

const maxCharacters = 200_000
const weights = ['A', 'B', 'C', 'D'] as const

/**
 * @param fold SQL that converts to lower case
 * @param hasIcu whether the server knows the letters of all languages
 * @param uuidText SQL that converts a UUID to text
 */
export function createPostgresSearch(
  fold: readonly [before: string, after: string],
  hasIcu: boolean,
  uuidText: readonly [before: string, after: string],
): SearchSql {
  // Otherwise every character outside ASCII counts as a letter.
  const noLetters = hasIcu
    ? '[^[:alnum:]]+'
    : '[\\u0001-\\u002f\\u003a-\\u0040\\u005b-\\u0060\\u007b-\\u007f]+'
  const normalized = [`regexp_replace(${fold[0]}`, `${fold[1]}, '${noLetters}', ' ', 'g')`] as const
  const vector = (columns: readonly string[]): string => {
    const maxLength = Math.floor(maxCharacters / columns.length)
    const parts = columns.map((column, index) => {
      const text = normalized.join(`left(coalesce(${column}, ''), ${maxLength})`)
      return `setweight(to_tsvector('pg_catalog.simple', ${text}), '${weights[index] ?? 'D'}')`
    })
    return `(${parts.join(' || ')})`
  }
  const textOf = ({ name, isUuid }: Column, of = ''): string =>
    isUuid ? uuidText.join(of + quote(name)) : of + quote(name)
  const vectorOf = ({ search, alias }: SearchParts): Sql =>
    raw(vector(search.columns.map((column) => textOf(column, `${quote(alias)}.`))))
  const queryOf = ({ value }: SearchParts): Sql =>
    sql`plainto_tsquery('pg_catalog.simple', ${wrap(normalized, sql`cast(${value} as text)`)})`
  const test = (parts: SearchParts): Sql => sql`${vectorOf(parts)} @@ ${queryOf(parts)}`
  return {
    schema: (_table, { name, columns }) => ({
      name,
      columns: [],
      over: columns.map((column) => column.name),
      unique: false,
      whereNull: undefined,
      using: 'gin',
      parts: [vector(columns.map((column) => textOf(column)))],
    }),
    drop: (name) => [`drop index if exists ${quote(name)}`],
    operand: (list) => list.join(' '),
    test,
    some: (parts) => ({
      test: test(parts),
      rank: sql`- ts_rank(${vectorOf(parts)}, ${queryOf(parts)}, 1)`,
    }),
    rank: (parts) => ({
      test: test(parts),
      by: sql`ts_rank(${vectorOf(parts)}, ${queryOf(parts)}, 1) desc, `,
    }),
  }
}
