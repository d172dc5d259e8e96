/**
 * Full-text search by PostgreSQL: an index on an expression, which every statement repeats, so that no column is
 * needed. Texts are split into words before, because PostgreSQL's parser makes one word of an address or a path. Text
 * after the first 200,000 characters is not searched, because the words of a row must fit into a megabyte.
 * Sources: PostgreSQL, Full Text Search; Regular Expressions.
 */
import { unicodeForms } from '../../core/text.js'
import type { SearchParts, SearchSql } from '../contract/search-sql.js'
import { quote, quoteInSchemaOf } from '../contract/quote.js'
import { raw, sql, wrap, type Sql, type SqlWrapper } from '../contract/sql-text.js'
import type { Column } from '../contract/table.js'

const maxCharacters = 200_000
const weights = ['A', 'B', 'C', 'D'] as const

/**
 * @param fold SQL that converts to lower case
 * @param hasIcu whether the server knows the letters of all languages
 * @param uuidText SQL that converts a UUID to text
 */
export function createPostgresSearch(
  fold: SqlWrapper,
  hasIcu: boolean,
  uuidText: SqlWrapper,
): SearchSql {
  // Without ICU, every character outside ASCII counts as a letter. A space divides words already, and to replace it costs most.
  const noLetters = hasIcu
    ? '[^[:alnum:]\\u0300-\\u0331 ]+'
    : '[\\u0001-\\u001f\\u0021-\\u002f\\u003a-\\u0040\\u005b-\\u0060\\u007b-\\u007f]+'
  const normalized = [`regexp_replace(${fold[0]}`, `${fold[1]}, '${noLetters}', ' ', 'g')`] as const
  const vector = (columns: readonly string[]): string => {
    const maxLength = Math.floor(maxCharacters / columns.length)
    const parts = columns.map((column, index) => {
      const text = normalized.join(`left(coalesce(${column}, ''), ${maxLength})`)
      return `setweight(to_tsvector('pg_catalog.simple', ${text}), '${weights[index] ?? 'D'}')`
    })
    return `(${parts.join(' || ')})`
  }
  const textOf = ({ name, isUuid, type }: Column, of = ''): string =>
    isUuid || type !== undefined ? uuidText.join(of + quote(name)) : of + quote(name)
  const vectorOf = ({ search, alias }: SearchParts): Sql =>
    raw(vector(search.columns.map((column) => textOf(column, `${quote(alias)}.`))))
  const queryOf = ({ value }: SearchParts): Sql =>
    sql`to_tsquery('pg_catalog.simple', ${wrap(fold, sql`cast(${value} as text)`)})`
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
    drop: (name, table) => [`drop index if exists ${quoteInSchemaOf(table, name)}`],
    operand: (terms) => terms.map((term) => toQuery(term, hasIcu)).join(' & '),
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

/** Characters that divide words: marks other than accents. PostgreSQL without ICU divides at none of them. */
const dividers = /[^\p{L}\p{Nd}\u0300-\u0331]+/gu

/**
 * `Café` → `('Café' | 'Café')`: a word in its two forms of Unicode, because rows may contain either. A word that is divided
 * in the index is a phrase.
 *
 * @param term letters, digits and marks only
 */
function toQuery(term: string, hasIcu: boolean): string {
  const forms = unicodeForms(term).map((form) => (hasIcu ? form.replace(dividers, ' ') : form))
  const words = [...new Set(forms)].map((form) => `'${form}'`)
  return words.length === 1 ? words.join('') : `(${words.join(' | ')})`
}
