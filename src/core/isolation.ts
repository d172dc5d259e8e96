/** The isolation levels of transactions. Source: PostgreSQL, Transaction Isolation. */

/** From the lowest to the highest. */
export const isolations = ['read committed', 'repeatable read', 'serializable'] as const

export type Isolation = (typeof isolations)[number]

/** The higher one of two levels; undefined is lower than all. */
export function higherIsolation(
  one: Isolation | undefined,
  other: Isolation | undefined,
): Isolation | undefined {
  if (one === undefined || other === undefined) return one ?? other
  return isolations.indexOf(one) < isolations.indexOf(other) ? other : one
}
