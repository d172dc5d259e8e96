/** Functions that compiled checks call: rare cases, and parts too long for the generated code. */
import { isMap } from '../core/json.js'
import { didYouMean } from '../errors/did-you-mean.js'
import { addRuleViolation, type ConstraintRule } from './constraint-rule.js'
import { addViolation, maxViolations, prefixPaths, type Violation } from './faults.js'
import { maxDepth } from './kinds/json.js'
import type { DeferredCheck } from './late-constraints.js'

/** A compiled function of one class. */
export type CheckFunction = (
  input: Record<string, unknown>,
  violations: Violation[],
  deferred: DeferredCheck[],
  depth: number,
) => unknown

export function addDepthViolation(violations: Violation[]): void {
  addViolation(violations, '', 'depth', `is nested deeper than ${maxDepth} levels`)
}

/** Reports unknown keys, with a suggestion for a typing mistake. */
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

/** Where nested values of a property go, as class-validator sees it. */
export interface NestedCheck {
  readonly check: CheckFunction
  readonly rule: ConstraintRule
  readonly object: Record<string, unknown>
  readonly violations: Violation[]
  readonly deferred: DeferredCheck[]
}

/**
 * Builds what `@ValidateNested()` checks: an object, a list of them, lists of lists. Undefined passes; anything else is a
 * fault, null included, as there. The paths it leaves are relative to `value`.
 */
export function checkNested(value: unknown, nesting: NestedCheck, depth: number): unknown {
  const { violations: faults, deferred: late } = nesting
  if (value === undefined) return value
  if (depth > maxDepth) {
    addDepthViolation(faults)
    return value
  }
  if (isMap(value)) return nesting.check(value, faults, late, depth)
  if (!Array.isArray(value)) {
    addRuleViolation(faults, nesting.rule, value, nesting.object, '')
    return value
  }
  const list: unknown[] = []
  for (let index = 0; index < value.length && faults.length < maxViolations; index++) {
    const before = faults.length
    const deferredBefore = late.length
    list.push(checkNested(value[index], nesting, depth + 1))
    prefixPaths(faults, before, String(index))
    prefixPaths(late, deferredBefore, String(index))
  }
  return list
}
