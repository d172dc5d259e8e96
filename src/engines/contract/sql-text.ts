/**
 * SQL as text. It is put together from SQL alone: names are quoted by `name`, and a value is never among it, but a slot,
 * which says where each run's value stands.
 *
 * ```ts
 * toText(sql`${name('t', 'price')} > ${slot(1)} and ${name('t', 'sold')} = ${slot(0)}`, (place) => `$${place}`)
 * // { sql: '"t"."price" > $1 and "t"."sold" = $2', order: [1, 0] }
 * ```
 */
import { quote } from './ddl.js'
import type { SqlWrapper } from './dialect.js'

declare const mark: unique symbol

/** A piece of a statement. */
export type Sql = string & { readonly [mark]: true }

/** What no statement has in it: a slot stands between two of them. */
const edge = '\0'

/** Puts pieces together; `undefined` leaves nothing. */
export function sql(texts: TemplateStringsArray, ...pieces: readonly (Sql | undefined)[]): Sql {
  let text = texts[0] as string
  for (const [index, piece] of pieces.entries()) text += (piece ?? '') + (texts[index + 1] ?? '')
  return text as Sql
}

/** Words of the framework and of an engine's dialect, never of a client. */
export function raw(text: string): Sql {
  if (text.includes(edge)) throw new TypeError('SQL cannot contain the character with the code 0.')
  return text as Sql
}

/** `"t"."price"` */
export function name(...path: readonly string[]): Sql {
  return raw(path.map(quote).join('.'))
}

/** A literal text. */
export function literal(text: string): Sql {
  return raw(`'${text.replaceAll("'", "''")}'`)
}

/** The value at this place of each run's values. */
export function slot(position: number): Sql {
  return `${edge}${position}${edge}` as Sql
}

export function join(pieces: readonly Sql[], between = ', '): Sql {
  return pieces.join(between) as Sql
}

/** With an engine's words before and behind it, where there are any. */
export function wrap(text: SqlWrapper | undefined, piece: Sql): Sql {
  return text === undefined ? piece : (`${text[0]}${piece}${text[1]}` as Sql)
}

/** An engine's words, with pieces in the place of `{c}` and the like. */
export function filled(text: string, pieces: Readonly<Record<string, Sql>>): Sql {
  return text.replace(/\{(\w)\}/g, (found, letter: string) => pieces[letter] ?? found) as Sql
}

/**
 * The text for a database.
 *
 * @param placeholder as `Dialect.placeholder`
 * @returns with, for each placeholder, the place of its value
 */
export function toText(
  piece: Sql,
  placeholder: (position: number) => string,
): { readonly sql: string; readonly order: readonly number[] } {
  const order: number[] = []
  const parts = piece.split(edge)
  let text = parts[0] as string
  for (let at = 1; at < parts.length; at += 2) {
    text += placeholder(order.push(Number(parts[at]))) + (parts[at + 1] as string)
  }
  return { sql: text, order }
}
