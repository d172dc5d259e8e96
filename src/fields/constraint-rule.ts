/**
 * One class-validator rule of a property, ready to run. Source: class-validator, src/validation/ValidationExecutor.ts.
 */
import { isThenable } from '../core/maybe-promise.js'
import {
  constraintsOf,
  type Constraint,
  type ValidatorArguments,
  type ValidatorConstraint,
  type ValidatorNote,
} from './class-validator.js'
import { clip } from '../core/text.js'
import { mostFaults, type Fault } from './faults.js'

export interface ConstraintRule {
  /** The constraint's name, the fault's code. */
  readonly code: string
  readonly property: string
  readonly note: ValidatorNote
  /** `undefined` for nesting, which has no constraint object. */
  readonly constraint: ValidatorConstraint | undefined
}

/** A property's rule as class-validator runs it: usually one, more where several constraints share a class. */
export function toRules({ note, name }: Constraint): ConstraintRule[] {
  const property = note.propertyName
  if (note.type === 'nestedValidation')
    return [{ code: name, property, note, constraint: undefined }]
  return constraintsOf(note).map((constraint) => ({
    code: constraint.name === undefined || constraint.name === '' ? note.type : constraint.name,
    property,
    note,
    constraint: constraint.name === 'isEnum' ? byMembers(constraint, note) : constraint,
  }))
}

/** class-validator's own `isEnum` accepts the names of a numeric enum too, because the compiled enum has them as values. */
function byMembers(constraint: ValidatorConstraint, note: ValidatorNote): ValidatorConstraint {
  const [entity, values] = note.constraints ?? []
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
    .filter(([key, value]) => typeof value !== 'string' || !isReverse(key, members[value]))
    .map(([, value]) => value)
}

function isReverse(key: string, value: unknown): boolean {
  return typeof value === 'number' && String(value) === key
}

/** Adds the rule's fault; two rules of one name on one property are one fault, the later message, as there. */
export function addBroken(
  faults: Fault[],
  rule: ConstraintRule,
  value: unknown,
  object: unknown,
  path = rule.property,
): void {
  const same = faults.findLastIndex(
    (other) => other.of === object && other.path === path && other.code === rule.code,
  )
  const fault: Fault = {
    path,
    code: rule.code,
    text: messageOf(rule, value, object),
    property: rule.property,
    value: rule.note.constraints?.[0],
    rule: faults[same]?.rule ?? rule.note,
    of: object,
  }
  if (same >= 0) faults[same] = fault
  else if (faults.length < mostFaults) faults.push(fault)
}

/**
 * Asks the constraint itself, for each item where the rule says `each` and the value has items.
 *
 * @returns a promise where the constraint answered with one
 */
export function holds(
  rule: ConstraintRule,
  value: unknown,
  object: unknown,
): boolean | Promise<boolean> {
  const { note, constraint } = rule
  if (constraint === undefined) return true
  if (note.validateIf !== undefined && !note.validateIf(object, value)) return true
  const { instance } = constraint
  const args = argumentsOf(rule, value, object)
  const items = note.each === true ? itemsOf(value) : undefined
  if (items === undefined) {
    const answer = instance.validate(value, args)
    return isThenable(answer) ? Promise.resolve(answer).then(Boolean) : Boolean(answer)
  }
  const answers = items.map((item) => instance.validate(item, args))
  if (!answers.some(isThenable)) return answers.every(Boolean)
  return Promise.all(answers).then((settled) => settled.every(Boolean))
}

/** The items of what class-validator treats as a list; `undefined` for anything else, which `each` then checks as one value. */
export function itemsOf(value: unknown): readonly unknown[] | undefined {
  if (Array.isArray(value)) return value as unknown[]
  return value instanceof Set || value instanceof Map ? [...value.values()] : undefined
}

export function argumentsOf(
  { note }: ConstraintRule,
  value: unknown,
  object: unknown,
): ValidatorArguments {
  const maker = (object as { constructor?: { name: string } } | undefined)?.constructor
  return {
    targetName: maker?.name,
    property: note.propertyName,
    object,
    value,
    constraints: note.constraints,
  }
}

/** The rule's message, its `$property`, `$value`, `$target` and `$constraint1` filled in as class-validator does. */
function messageOf(rule: ConstraintRule, value: unknown, object: unknown): string {
  const args = argumentsOf(rule, value, object)
  const own = rule.note.message ?? ''
  const written = own === '' ? (rule.constraint?.instance.defaultMessage?.(args) ?? '') : own
  let text = typeof written === 'function' ? written(args) : written
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
