/**
 * Puts the faults of a class that only class-validator describes into its order: unknown keys first, then property by property, a
 * property's own rules as they were declared before what is wrong inside it, and what was found out later last.
 * Source: class-validator, src/validation/ValidationExecutor.ts.
 */
import { readConstraints, type Constraint } from './class-validator.js'
import type { Fault } from './faults.js'
import type { Shape } from './shape.js'
import { readShape } from './shape.js'

interface Property {
  readonly rank: number
  readonly rules: ReadonlyMap<unknown, number>
  readonly nested: (() => Shape) | undefined
}

/** By property; undefined for a class that says something by `@Field`. */
const orders = new WeakMap<Shape, ReadonlyMap<string, Property> | null>()

/**
 * @param atOnce how many of the faults were there before anything was waited for
 * @param isList the input is a list of such objects
 */
export function orderFaults(
  shape: Shape,
  faults: readonly Fault[],
  atOnce: number,
  isList: boolean,
): readonly Fault[] {
  if (faults.length < 2 || (!isList && orderOf(shape) === null)) return faults
  const ranked = faults.map((fault, index) => {
    const isLate = index >= atOnce
    return { fault, rank: rankOf(shape, fault, isLate, isList) }
  })
  return ranked.sort((one, other) => compare(one.rank, other.rank)).map(({ fault }) => fault)
}

function rankOf(root: Shape, { path, rule }: Fault, isLate: boolean, isList: boolean): number[] {
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
      const order = property.rules.get(rule) ?? property.rules.size
      return [...rank, 0, isLate ? 1 : 0, order]
    }
    rank.push(1)
    while (/^\d+$/.test(rest[0] ?? '')) rank.push(Number(rest.shift()))
    shape = property.nested?.()
  }
  return rank
}

function compare(one: readonly number[], other: readonly number[]): number {
  for (const [index, rank] of one.entries()) {
    const against = other[index]
    if (against === undefined) return 0
    if (rank !== against) return rank - against
  }
  return 0
}

function orderOf(shape: Shape): ReadonlyMap<string, Property> | null {
  let known = orders.get(shape)
  if (known === undefined) orders.set(shape, (known = readOrder(shape)))
  return known
}

function readOrder({ type, fields, byName }: Shape): ReadonlyMap<string, Property> | null {
  if (fields.some(({ declared }) => declared !== undefined)) return null
  const properties = new Map<string, Property>()
  for (const [name, constraints] of readConstraints(type)) {
    const nested = byName.get(name)?.nested
    properties.set(name, {
      rank: properties.size,
      rules: new Map(
        [...defined(constraints), ...others(constraints)].map((one, at) => [one.note, at]),
      ),
      nested: nested && (() => readShape(nested())),
    })
  }
  return properties
}

/** Asked before all others. */
function defined(constraints: readonly Constraint[]): Constraint[] {
  return constraints.filter(({ note }) => note.type === 'isDefined')
}

function others(constraints: readonly Constraint[]): Constraint[] {
  return constraints.filter(({ note }) => note.type !== 'isDefined')
}
