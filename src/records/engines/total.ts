/** Sums and means, as each engine makes them. */

/** How a database makes one number of a column's numbers. */
export interface Total {
  /** SQL over the column `{c}`. It compares and sorts as the numbers do. */
  readonly sql: string
  /** A statement must answer it as text, or it loses digits. */
  readonly isText: boolean
  /** Its values are text outside. */
  readonly isExact: boolean
  /** From the statement's answer, never null, to what the storage class keeps. */
  decode(value: unknown): unknown
  /** From a number, exact ones being text with the column's scale, to what the SQL is compared with. */
  encode(operand: unknown): unknown
}

/** A whole number; its text where a number would lose digits. */
export function toWhole(value: unknown): number | string {
  const number = Number(value)
  return Number.isSafeInteger(number) ? number : String(value)
}
