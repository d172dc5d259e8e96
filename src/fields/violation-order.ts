/**
 * Sorts the violations of a class that only class-validator describes into class-validator's order: unknown keys first,
 * then property by property, the rules of a property in the order of declaration before violations inside its value.
 * Source: class-validator, src/validation/ValidationExecutor.ts.
 */
import { readConstraints, type Constraint } from './class-validator.js'
import { readShape, type Shape } from './shape.js'
import type { Violation } from './violations.js'

interface PropertyOrder {
  readonly rank: number
  readonly ruleRanks: ReadonlyMap<unknown, number>
  readonly nested: (() => Shape) | undefined
}

/** By property; null for a class with `@Field` declarations. */
const orders = new WeakMap<Shape, ReadonlyMap<string, PropertyOrder> | null>()

/**
 * @param immediateCount how many violations were found before anything was awaited
 * @param isList the input is a list of such objects
 */
export function orderViolations(
  shape: Shape,
  violations: readonly Violation[],
  immediateCount: number,
  isList: boolean,
): readonly Violation[] {
  if (violations.length < 2 || (!isList && orderOf(shape) === null)) return violations
  const ranked = violations.map((violation, index) => {
    const isDeferred = index >= immediateCount
    return { violation, rank: rankOf(shape, violation, isDeferred, isList) }
  })
  return ranked
    .sort((one, other) => compare(one.rank, other.rank))
    .map(({ violation }) => violation)
}

function rankOf(
  root: Shape,
  { path, metadata }: Violation,
  isDeferred: boolean,
  isList: boolean,
): number[] {
  const rank: number[] = []
  let shape: Shape | undefined = root
  let rest = path.split('.')
  if (isList) rank.push(Number(rest.shift()))
  while (shape !== undefined) {
    const properties = orderOf(shape)
    if (properties === null) return rank
    const property = properties.get(rest[0] ?? '')
    if (property === undefined) return [...rank, -1]
    rank.push(property.rank)
    rest = rest.slice(1)
    if (rest.length === 0) {
      const order = property.ruleRanks.get(metadata) ?? property.ruleRanks.size
      return [...rank, 0, isDeferred ? 1 : 0, order]
    }
    rank.push(1)
    while (/^\d+$/.test(rest[0] ?? '')) rank.push(Number(rest.shift()))
    shape = property.nested?.()
  }
  return rank
}

function compare(one: readonly number[], other: readonly number[]): number {
  for (const [index, rank] of one.entries()) {
    const otherRank = other[index]
    if (otherRank === undefined) return 0
    if (rank !== otherRank) return rank - otherRank
  }
  return 0
}

function orderOf(shape: Shape): ReadonlyMap<string, PropertyOrder> | null {
  let cached = orders.get(shape)
  if (cached === undefined) orders.set(shape, (cached = readOrder(shape)))
  return cached
}

function readOrder({ type, fields, byName }: Shape): ReadonlyMap<string, PropertyOrder> | null {
  if (fields.some(({ declared }) => declared !== undefined)) return null
  const properties = new Map<string, PropertyOrder>()
  for (const [name, constraints] of readConstraints(type)) {
    const nested = byName.get(name)?.nested
    properties.set(name, {
      rank: properties.size,
      ruleRanks: new Map(
        [...isDefinedRules(constraints), ...otherRules(constraints)].map((one, index) => [
          one.metadata,
          index,
        ]),
      ),
      nested: nested && (() => readShape(nested())),
    })
  }
  return properties
}

/** class-validator runs these rules first. */
function isDefinedRules(constraints: readonly Constraint[]): Constraint[] {
  return constraints.filter(({ metadata }) => metadata.type === 'isDefined')
}

function otherRules(constraints: readonly Constraint[]): Constraint[] {
  return constraints.filter(({ metadata }) => metadata.type !== 'isDefined')
}
