/** SQL text that is composed of pieces: names, literals, and slots for values. */
import { quote } from './quote.js'
import type { AnyOfSql } from './statement.js'

declare const mark: unique symbol

/**
 * A piece of a statement. Names are quoted by `name`. Values are never part of the text: a slot refers to the position
 * of a value.
 *
 * ```ts
 * toText(sql`${name('t', 'price')} > ${slot(1)} and ${name('t', 'sold')} = ${slot(0)}`, (position) => `$${position}`)
 * // { sql: '"t"."price" > $1 and "t"."sold" = $2', order: [1, 0] }
 * ```
 */
export type Sql = string & { readonly [mark]: true }

/** Delimits slots. No SQL statement contains it. */
const edge = '\0'

/** SQL before and after a piece. */
export type SqlWrapper = readonly [before: string, after: string]

/** Joins pieces. `undefined` adds nothing. */
export function sql(texts: TemplateStringsArray, ...pieces: readonly (Sql | undefined)[]): Sql {
  let text = texts[0] as string
  for (const [index, piece] of pieces.entries()) text += (piece ?? '') + (texts[index + 1] ?? '')
  return text as Sql
}

/** SQL of the framework or of a dialect, never of a client. */
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

/** A placeholder for the value at this position. */
export function slot(position: number): Sql {
  return `${edge}${position}${edge}` as Sql
}

/** A placeholder for a part of the value at this position, which is the text of a key of several columns. */
export function partSlot(position: number, part: number): Sql {
  return `${edge}${position}/${part}${edge}` as Sql
}

/**
 * A piece for statements that combine several calls: an `and`, and a test that the column has the value of any of them. Other
 * statements lack it.
 */
export function inBatches(value: Sql, column: Sql): Sql {
  return `${edge}${value.slice(1, -1)}${batchEdge}${column}${edge}` as Sql
}

const batchEdge = '\u0001'

/** A part of a value. */
export interface SlotPart {
  readonly slot: number
  readonly part: number
}

function readSlot(text: string): number | SlotPart {
  const [position, part] = text.split('/')
  return part === undefined ? Number(position) : { slot: Number(position), part: Number(part) }
}

export function join(pieces: readonly Sql[], between = ', '): Sql {
  return pieces.join(between) as Sql
}

/** Adds the dialect's SQL before and after a piece, if there is any. */
export function wrap(text: SqlWrapper | undefined, piece: Sql): Sql {
  return text === undefined ? piece : (`${text[0]}${piece}${text[1]}` as Sql)
}

/** Replaces `{c}` and similar names in the dialect's SQL by pieces. */
export function filled(text: string, pieces: Readonly<Record<string, Sql>>): Sql {
  return text.replace(/\{(\w)\}/g, (found, letter: string) => pieces[letter] ?? found) as Sql
}

/**
 * Converts the pieces to the text for a database.
 *
 * @param placeholder as `Dialect.placeholder`
 * @param isAnyOf for a statement that combines several calls
 * @returns the text, and for each placeholder the position of its value, or a part of a value
 */
export function toText(
  piece: Sql,
  placeholder: (position: number) => string,
  isAnyOf?: AnyOfSql,
): { readonly sql: string; readonly order: readonly (number | SlotPart)[] } {
  const order: (number | SlotPart)[] = []
  const parts = piece.split(edge)
  let text = parts[0] as string
  for (let at = 1; at < parts.length; at += 2) {
    const [value = '', column] = (parts[at] as string).split(batchEdge)
    if (column === undefined) text += placeholder(order.push(readSlot(value)))
    else if (isAnyOf !== undefined)
      text += ` and ${isAnyOf(column, positionIn(order, readSlot(value)))}`
    text += parts[at + 1] as string
  }
  return { sql: text, order }
}

/** The placeholder of a value that was written before, from 1. */
function positionIn(order: readonly (number | SlotPart)[], value: number | SlotPart): number {
  return (
    order.findIndex((one) =>
      typeof one === 'object' && typeof value === 'object'
        ? one.slot === value.slot && one.part === value.part
        : one === value,
    ) + 1
  )
}
