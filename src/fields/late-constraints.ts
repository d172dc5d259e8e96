/**
 * class-validator's rules that need the finished object: conditions, custom and asynchronous constraints, and every rule
 * that is not written as code. They run after the whole input is built, as `validate()` runs after `plainToInstance()`.
 * Source: class-validator, src/validation/ValidationExecutor.ts.
 */
import { addRuleViolation, passesRule, type ConstraintRule } from './constraint-rule.js'
import {
  addViolation,
  maxViolations,
  prefixPaths,
  type Violation,
  type PathEntry,
} from './faults.js'

/** A property's late rules, planned once. */
export interface DeferredProperty {
  readonly name: string
  /** All must be true for anything to be checked. */
  readonly conditions: readonly ((object: unknown, value: unknown) => boolean)[]
  readonly rules: readonly ConstraintRule[]
}

/** One property of one object of an input, waiting. */
export interface DeferredCheck extends PathEntry {
  readonly property: DeferredProperty
  readonly object: Record<string, unknown>
  /** What the value itself broke, told only if the conditions hold: nested faults, `required`. */
  readonly conditionalResult?: ConditionalResult
}

export interface ConditionalResult {
  readonly violations: Violation[]
  readonly deferred: DeferredCheck[]
}

/** Runs what waits. Answers a promise only where a constraint did; by then `faults` is complete. */
export function runDeferred(
  deferred: readonly DeferredCheck[],
  violations: Violation[],
): Promise<unknown> | undefined {
  const pending: Promise<void>[] = []
  const queue = [...deferred]
  // The queue grows while it is walked: held objects bring their own.
  for (const entry of queue) {
    if (violations.length >= maxViolations) break
    runDeferredCheck(entry, { violations, pending, queue })
  }
  return pending.length === 0 ? undefined : Promise.all(pending)
}

interface DeferredRun {
  readonly violations: Violation[]
  readonly pending: Promise<void>[]
  readonly queue: DeferredCheck[]
}

function runDeferredCheck(entry: DeferredCheck, run: DeferredRun): void {
  const { property, object, conditionalResult: held, path } = entry
  const value = object[property.name]
  // Each is asked, as there, even after one said no.
  const conditionResults = property.conditions.map((condition) => condition(object, value))
  if (!conditionResults.every(Boolean)) return
  if (held !== undefined) {
    prefixPaths(held.violations, 0, path)
    prefixPaths(held.deferred, 0, path)
    for (const violation of held.violations)
      if (run.violations.length < maxViolations) run.violations.push(violation)
    run.queue.push(...held.deferred)
  }
  for (const rule of property.rules) {
    const result = passesRule(rule, value, object)
    if (result === false) addRuleViolation(run.violations, rule, value, object, path)
    if (typeof result === 'boolean') continue
    const pending = result.then((isValid) => {
      if (!isValid) addRuleViolation(run.violations, rule, value, object, path)
    })
    run.pending.push(pending)
  }
}

/** Holds back one fault of the value itself until the conditions are known. */
export function toConditionalResult(code: string, text: string): ConditionalResult {
  const violations: Violation[] = []
  addViolation(violations, '', code, text)
  return { violations, deferred: [] }
}
