/** The name under which a row has the number of its related rows: `reviewsCount` for the relation `reviews`. */
import type { Shape, ShapeField } from './shape.js'

/** @returns undefined for fields that are no relation to many rows, and where the class has its own member of that name */
export function relationCountName(
  { byName, type }: Pick<Shape, 'byName' | 'type'>,
  { name, list, rules }: ShapeField,
): string | undefined {
  if (!list || rules.relation !== true) return undefined
  const count = `${name}Count`
  return byName.has(count) || count in (type.prototype as object) ? undefined : count
}
