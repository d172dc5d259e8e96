/** The value of the rule that an input breaks (`min: 3` → 3): for error forms of applications, and in no JSON. */
import type { FieldError } from './http-error.js'

/** Enumerable, so that a fault that is copied with another path keeps it. */
const ruleValue = Symbol('rule value')

interface FaultOfRule extends FieldError {
  readonly [ruleValue]?: unknown
}

export function withRuleValue(fault: FieldError, value: unknown): FieldError {
  if (value === undefined) return fault
  const withValue: FaultOfRule = { ...fault, [ruleValue]: value }
  return withValue
}

export function ruleValueOf(fault: FaultOfRule): unknown {
  return fault[ruleValue]
}
