/**
 * Runs class-validator rules that are not written as code. Rules that need the complete object (conditions, custom and
 * asynchronous constraints) run after the input is built, as `validate()` runs after `plainToInstance()`. Source: class-validator, src/validation/ValidationExecutor.ts.
 */
import {
  addDepthViolation,
  maxViolations,
  prefixPaths,
  type Violation,
  type PathEntry,
} from './violations.js'
import { isThenable } from '../core/maybe-promise.js'
import {
  constraintsOf,
  enumValues,
  type Constraint,
  type ValidatorArguments,
  type ValidatorConstraint,
  type ValidatorMetadata,
} from './class-validator.js'
import { clip } from '../core/text.js'
import { isMap } from '../core/json.js'
import { maxDepth } from './kinds/table.js'

/** The deferred rules of a property. */
export interface DeferredProperty {
  readonly name: string
  /** The rules are checked only if all conditions are true. */
  readonly conditions: readonly ((object: unknown, value: unknown) => boolean)[]
  readonly rules: readonly ConstraintRule[]
}

/** A deferred check of one property of one object of the input. */
export interface DeferredCheck extends PathEntry {
  readonly property: DeferredProperty
  readonly object: Record<string, unknown>
  /** The violations of the value itself, reported only if the conditions hold: nested ones and `required`. */
  readonly conditionalResult?: ConditionalResult
}

interface ConditionalResult {
  readonly violations: Violation[]
  readonly deferred: DeferredCheck[]
}

/** Runs the deferred checks. Returns a promise only if a constraint did; when it resolves, `violations` is complete. */
export function runDeferred(
  deferred: readonly DeferredCheck[],
  violations: Violation[],
): Promise<unknown> | undefined {
  const pending: Promise<void>[] = []
  const queue = [...deferred]
  // The queue grows during the loop: conditional results add their own deferred checks.
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
  const { property, object, conditionalResult, path } = entry
  const value = object[property.name]
  // Every condition is called even after one returned false, as in class-validator.
  const conditionResults = property.conditions.map((condition) => condition(object, value))
  if (!conditionResults.every(Boolean)) return
  if (conditionalResult !== undefined) {
    prefixPaths(conditionalResult.violations, 0, path)
    prefixPaths(conditionalResult.deferred, 0, path)
    for (const violation of conditionalResult.violations)
      if (run.violations.length < maxViolations) run.violations.push(violation)
    run.queue.push(...conditionalResult.deferred)
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

/** A violation of the value itself that is reported only if the conditions hold. */
export function toConditionalResult(
  code: string,
  text: string,
  isMessage: boolean,
): ConditionalResult {
  return { violations: [{ path: '', code, text, isMessage }], deferred: [] }
}

export interface ConstraintRule {
  /** The constraint's name, which is the code of the violation. */
  readonly code: string
  readonly property: string
  readonly metadata: ValidatorMetadata
  /** `undefined` for nesting, which has no constraint object. */
  readonly constraint: ValidatorConstraint | undefined
}

/** Converts a rule to the rules that class-validator runs: usually one, several if several constraints share a class. */
export function toRules({ metadata, name }: Constraint): ConstraintRule[] {
  const property = metadata.propertyName
  if (metadata.type === 'nestedValidation')
    return [{ code: name, property, metadata, constraint: undefined }]
  return constraintsOf(metadata).map((constraint) => ({
    code: constraint.name === undefined || constraint.name === '' ? metadata.type : constraint.name,
    property,
    metadata,
    constraint:
      constraint.name === 'isEnum' ? acceptingMembersOnly(constraint, metadata) : constraint,
  }))
}

/** class-validator's own `isEnum` accepts the names of a numeric enum too, because the compiled enum has them as values. */
function acceptingMembersOnly(
  constraint: ValidatorConstraint,
  metadata: ValidatorMetadata,
): ValidatorConstraint {
  const [entity, values] = metadata.constraints ?? []
  if (typeof entity !== 'object' || entity === null || !Array.isArray(values)) return constraint
  const members = new Set(enumValues(entity))
  const { instance } = constraint
  const validate = (value: unknown): boolean => members.has(value)
  const defaultMessage = (args: ValidatorArguments): string => instance.defaultMessage?.(args) ?? ''
  return { ...constraint, instance: { validate, defaultMessage } }
}

/**
 * Adds the violation of a rule. Two rules of one name on one property are one violation with the later message, as in
 * class-validator.
 */
export function addRuleViolation(
  violations: Violation[],
  rule: ConstraintRule,
  value: unknown,
  object: unknown,
  path = rule.property,
): void {
  const sameRuleIndex = violations.findLastIndex(
    (other) => other.object === object && other.path === path && other.code === rule.code,
  )
  const violation: Violation = {
    path,
    code: rule.code,
    text: formatMessage(rule, value, object),
    property: rule.property,
    ruleValue: rule.metadata.constraints?.[0],
    metadata: violations[sameRuleIndex]?.metadata ?? rule.metadata,
    object,
  }
  if (sameRuleIndex >= 0) violations[sameRuleIndex] = violation
  else if (violations.length < maxViolations) violations.push(violation)
}

/**
 * Calls the constraint, for each item if the rule says `each` and the value has items.
 *
 * @returns a promise if the constraint returned one
 */
function passesRule(
  rule: ConstraintRule,
  value: unknown,
  object: unknown,
): boolean | Promise<boolean> {
  const { metadata, constraint } = rule
  if (constraint === undefined) return true
  if (metadata.validateIf !== undefined && !metadata.validateIf(object, value)) return true
  const { instance } = constraint
  const args = argumentsOf(rule, value, object)
  const items = metadata.each === true ? itemsOf(value) : undefined
  if (items === undefined) {
    const result = instance.validate(value, args)
    return isThenable(result) ? Promise.resolve(result).then(Boolean) : Boolean(result)
  }
  const results = items.map((item) => instance.validate(item, args))
  if (!results.some(isThenable)) return results.every(Boolean)
  return Promise.all(results).then((settled) => settled.every(Boolean))
}

/** The items of a value that class-validator treats as a list; `undefined` for other values, which `each` checks as one. */
export function itemsOf(value: unknown): readonly unknown[] | undefined {
  if (Array.isArray(value)) return value as unknown[]
  return value instanceof Set || value instanceof Map ? [...value.values()] : undefined
}

export function argumentsOf(
  { metadata }: ConstraintRule,
  value: unknown,
  object: unknown,
): ValidatorArguments {
  const objectClass = (object as { constructor?: { name: string } } | undefined)?.constructor
  return {
    targetName: objectClass?.name,
    property: metadata.propertyName,
    object,
    value,
    constraints: metadata.constraints,
  }
}

/** The rule's message. Replaces `$property`, `$value`, `$target` and `$constraint1` as class-validator does. */
function formatMessage(rule: ConstraintRule, value: unknown, object: unknown): string {
  const args = argumentsOf(rule, value, object)
  const customMessage = rule.metadata.message ?? ''
  const template =
    customMessage === '' ? (rule.constraint?.instance.defaultMessage?.(args) ?? '') : customMessage
  let text = typeof template === 'function' ? template(args) : template
  if (typeof text !== 'string' || text === '') return `${rule.property} is not valid`
  for (const [index, constraint] of (args.constraints ?? []).entries()) {
    text = text.replaceAll(`$constraint${index + 1}`, () => toText(constraint))
  }
  if (['string', 'boolean', 'number'].includes(typeof value)) {
    text = text.replaceAll('$value', () => clip(String(value)))
  }
  text = text.replaceAll('$property', () => rule.property)
  return text.replaceAll('$target', () => args.targetName ?? '')
}

function toText(constraint: unknown): string {
  if (Array.isArray(constraint)) return constraint.join(', ')
  return typeof constraint === 'symbol' ? (constraint.description ?? '') : String(constraint)
}

/** The compiled function of a class. */
export type CheckFunction = (
  input: Record<string, unknown>,
  violations: Violation[],
  deferred: DeferredCheck[],
  depth: number,
) => unknown

/** The check of the nested values of a property, and the target of its results. */
interface NestedCheck {
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
