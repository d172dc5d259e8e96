/**
 * One class-validator rule of a property, ready to run. Source: class-validator, src/validation/ValidationExecutor.ts.
 */
import { isThenable } from '../core/maybe-promise.js'
import {
  constraintsOf,
  type Constraint,
  type ValidatorArguments,
  type ValidatorConstraint,
  type ValidatorMetadata,
} from './class-validator.js'
import { clip } from '../core/text.js'
import { maxViolations, type Violation } from './faults.js'

export interface ConstraintRule {
  /** The constraint's name, the fault's code. */
  readonly code: string
  readonly property: string
  readonly metadata: ValidatorMetadata
  /** `undefined` for nesting, which has no constraint object. */
  readonly constraint: ValidatorConstraint | undefined
}

/** A property's rule as class-validator runs it: usually one, more where several constraints share a class. */
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

/** The values of an enum, without the names that a compiled numeric enum has in addition: `{ 0: 'Red', Red: 0 }` → `[0]`. */
export function enumValues(entity: unknown): unknown[] {
  const members = Object(entity) as Readonly<Record<string, unknown>>
  return Object.entries(members)
    .filter(([key, value]) => typeof value !== 'string' || !isReverseMapping(key, members[value]))
    .map(([, value]) => value)
}

function isReverseMapping(key: string, value: unknown): boolean {
  return typeof value === 'number' && String(value) === key
}

/** Adds the rule's fault; two rules of one name on one property are one fault, the later message, as there. */
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
 * Asks the constraint itself, for each item where the rule says `each` and the value has items.
 *
 * @returns a promise where the constraint answered with one
 */
export function passesRule(
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

/** The items of what class-validator treats as a list; `undefined` for anything else, which `each` then checks as one value. */
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

/** The rule's message, its `$property`, `$value`, `$target` and `$constraint1` filled in as class-validator does. */
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
