/**
 * Violations are the failed checks of one input. This file collects them with their paths, orders them and converts
 * them to the 400 response. Classes that only class-validator describes have its order: unknown keys first, then
 * property by property, the rules of a property in the order of declaration before violations inside its value.
 * Sources: decisions, Validation and fields; class-validator, src/validation/ValidationExecutor.ts.
 */
import { readConstraints, type Constraint } from './class-validator.js'
import { readShape, type Shape } from './shape.js'
import { clip } from '../core/text.js'
import { withRuleValue } from '../errors/field-errors.js'
import { HttpError, type FieldError } from '../errors/http-error.js'

/** The most violations that a response contains. */
export const maxViolations = 50

/** A failed check. Its path grows from the inside out. */
export interface Violation {
  path: string
  readonly code: string
  /** Follows the path (`must be a number`), or is the complete message if `property` is set. */
  readonly text: string
  /** The value of the rule: 3 for `min: 3`. */
  readonly ruleValue?: unknown
  /** class-validator's messages name the property themselves. */
  readonly property?: string
  /** The metadata of the class-validator decorator, of the first rule of this name that failed. */
  readonly metadata?: unknown
  /** The object that violates the rule, while paths are not complete yet. */
  readonly object?: unknown
}

/** An entry with a path that grows until its object is complete. */
export interface PathEntry {
  path: string
}

/** @param value the rule's value, if it has one */
export function addViolation(
  violations: Violation[],
  path: string,
  code: string,
  text: string,
  value?: unknown,
): void {
  if (violations.length < maxViolations)
    violations.push({ path: clip(path), code, text, ruleValue: value })
}

/** Adds a parent's name to the paths of all entries from index `from` on. */
export function prefixPaths(entries: PathEntry[], from: number, parent: string): void {
  for (let index = from; index < entries.length; index++) {
    const entry = entries[index]
    if (entry !== undefined) entry.path = entry.path === '' ? parent : `${parent}.${entry.path}`
  }
}

/**
 * The response to an invalid input: 400 `VALIDATION`, all messages in one sentence and one by one in `errors`.
 *
 * @param inputName the name of the input in messages about the input itself: `the body`
 */
export function toHttpError(
  violations: readonly Violation[],
  inputName: string,
  cause?: unknown,
): HttpError {
  const errors = violations
    .slice(0, maxViolations)
    .map((violation) => toFieldError(violation, inputName))
  const sentence = errors.map(({ message }) => message).join('; ')
  return new HttpError(400, sentence, { code: 'VALIDATION', errors, cause })
}

function toFieldError(violation: Violation, inputName: string): FieldError {
  return withRuleValue(describeViolation(violation, inputName), violation.ruleValue)
}

function describeViolation(
  { path, code, text, property }: Violation,
  inputName: string,
): FieldError {
  if (property === undefined)
    return { path, code, message: `${path === '' ? inputName : path} ${text}` }
  const parent = path.slice(0, Math.max(0, path.lastIndexOf(property) - 1))
  const nested = parent !== '' && text.startsWith(property)
  return { path, code, message: nested ? `${parent}.${text}` : text }
}

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
    return { fault: violation, rank: rankOf(shape, violation, isDeferred, isList) }
  })
  return ranked
    .sort((one, other) => compare(one.rank, other.rank))
    .map(({ fault: violation }) => violation)
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
    const against = other[index]
    if (against === undefined) return 0
    if (rank !== against) return rank - against
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
        [...isDefinedRules(constraints), ...otherRules(constraints)].map((one, at) => [
          one.metadata,
          at,
        ]),
      ),
      nested: nested && (() => readShape(nested())),
    })
  }
  return properties
}

/** These rules run first. */
function isDefinedRules(constraints: readonly Constraint[]): Constraint[] {
  return constraints.filter(({ metadata }) => metadata.type === 'isDefined')
}

function otherRules(constraints: readonly Constraint[]): Constraint[] {
  return constraints.filter(({ metadata }) => metadata.type !== 'isDefined')
}
