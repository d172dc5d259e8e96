/** Functions that compiled checks call: rare cases, and parts too long for the generated code. */
import { isMap } from '../core/json.js'
import { didYouMean } from '../errors/did-you-mean.js'
import { addRuleViolation, type ConstraintRule, type DeferredCheck } from './constraint-runner.js'
import { addViolation, maxViolations, prefixPaths, type Violation } from './violations.js'
import { maxDepth } from './kinds/json.js'

/** The compiled function of a class. */
export type CheckFunction = (
  input: Record<string, unknown>,
  violations: Violation[],
  deferred: DeferredCheck[],
  depth: number,
) => unknown

export function addDepthViolation(violations: Violation[]): void {
  addViolation(violations, '', 'depth', `is nested deeper than ${maxDepth} levels`)
}

/** Reports unknown keys, with a suggestion for misspelt ones. */
export function addUnknownKeys(
  input: Record<string, unknown>,
  knownKeys: ReadonlySet<string>,
  suggested: readonly string[],
  violations: Violation[],
): void {
  for (const key in input) {
    if (violations.length >= maxViolations) return
    if (knownKeys.has(key) || !Object.hasOwn(input, key)) continue
    const suggestion = key.length <= 50 ? didYouMean(key, suggested) : ''
    addViolation(
      violations,
      key === '' ? '""' : key,
      'unknown',
      `is unknown${suggestion && `. ${suggestion}`}`,
    )
  }
}

/** For constructors that define every declared property: removes properties that were not sent. */
export function dropUndefined(instance: Record<string, unknown>): void {
  // eslint-disable-next-line @typescript-eslint/no-dynamic-delete -- the keys are the class's own
  for (const key in instance) if (instance[key] === undefined) delete instance[key]
}

/** The check of the nested values of a property, and the target of its results. */
export interface NestedCheck {
  readonly check: CheckFunction
  readonly rule: ConstraintRule
  readonly object: Record<string, unknown>
  readonly violations: Violation[]
  readonly deferred: DeferredCheck[]
}

/**
 * Builds the value of a property with `@ValidateNested()`: an object, a list of objects, or lists of lists. Undefined
 * passes. Anything else, null included, is a violation, as in class-validator. Added paths are relative to `value`.
 */
export function checkNested(value: unknown, nesting: NestedCheck, depth: number): unknown {
  const { violations, deferred } = nesting
  if (value === undefined) return value
  if (depth > maxDepth) {
    addDepthViolation(violations)
    return value
  }
  if (isMap(value)) return nesting.check(value, violations, deferred, depth)
  if (!Array.isArray(value)) {
    addRuleViolation(violations, nesting.rule, value, nesting.object, '')
    return value
  }
  const list: unknown[] = []
  for (let index = 0; index < value.length && violations.length < maxViolations; index++) {
    const before = violations.length
    const deferredBefore = deferred.length
    list.push(checkNested(value[index], nesting, depth + 1))
    prefixPaths(violations, before, String(index))
    prefixPaths(deferred, deferredBefore, String(index))
  }
  return list
}
