/** Sums and averages, in each engine's form. */

/** How a database computes one number from a column's numbers. */
export interface Total {
  /** SQL with the column `{c}`. It compares and sorts as the numbers do. */
  readonly sql: string
  /** A statement must return it as text, otherwise it loses digits. */
  readonly isText: boolean
  /** The property's values are text. */
  readonly isExact: boolean
  /** Converts the statement's value, which is never null, to that of the storage class. */
  decode(value: unknown): unknown
  /** Converts a number to the operand of a comparison; exact numbers are text with the column's scale. */
  encode(operand: unknown): unknown
}

/** An integer; as text if a number would lose digits. */
export function toWhole(value: unknown): number | string {
  const number = Number(value)
  return Number.isSafeInteger(number) ? number : String(value)
}
