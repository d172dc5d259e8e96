/** Which comparisons look into a text, and what their patterns weigh by their length. */

export const patternOperators: ReadonlySet<string> = new Set([
  'like',
  'ilike',
  'startsWith',
  'endsWith',
  'contains',
  'has',
  'path',
])
/** Signs that a pattern may have for nothing. */
const freeSigns = 50

/** @returns how many signs of a pattern count */
export function signsBeyond(operator: string, operand: unknown): number {
  const isPattern = operator === 'like' || operator === 'ilike'
  return isPattern && typeof operand === 'string' ? Math.max(0, operand.length - freeSigns) : 0
}
