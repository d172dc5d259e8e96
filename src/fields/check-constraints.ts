/** Writes class-validator's rules of a field: simple rules as code, all others as deferred checks of the complete object. */
import { quote, type FunctionSet } from './function-set.js'
import type { Problems } from '../errors/problems.js'
import {
  checkNested,
  addRuleViolation,
  itemsOf,
  toRules,
  type ConstraintRule,
  type DeferredProperty,
} from './constraint-runner.js'
import { isSent, type Constraint } from './class-validator.js'
import { writeConstraint } from './constraint-code.js'
import { addViolation, prefixPaths } from './violations.js'
import { patternCost } from './pattern-cost.js'
import { readShape, type Shape, type ShapeField } from './shape.js'

/** The writer of the functions that the code calls. */
export interface FunctionWriter {
  readonly functions: FunctionSet
  readonly options: { readonly problems: Problems | undefined }
  /** True once a rule was written that runs after the object is complete. */
  hasDeferredRules: boolean
  /** The name of the function that checks a shape. */
  functionFor(shape: Shape): string
}

export interface WrittenConstraints {
  /** True if a condition of the application decides: `@ValidateIf`. */
  readonly isConditional: boolean
  /** Statements that check `v` and add deferred checks. */
  readonly code: string
  /** Statements that turn what `@ValidateNested` checks into instances. */
  readonly build: (type: NonNullable<ShapeField['nested']>) => string
  /**
   * A statement for a missing value. The argument is code for the violation that is reported only if the conditions
   * hold.
   */
  readonly defer: (isNestingConditional: string) => string
}

/**
 * Which rules are checked: `field` leaves out the rules that need the whole object, `object` checks only them. Nested
 * objects are always checked completely.
 */
export type RuleScope = 'all' | 'field' | 'object'

type RuleCondition = (object: unknown, value: unknown) => boolean

export function writeClassValidator(
  field: ShapeField,
  constraints: readonly Constraint[],
  writer: FunctionWriter,
  scope: RuleScope = 'all',
): WrittenConstraints {
  const conditions = constraints.filter(({ metadata }) => metadata.type === 'conditionalValidation')
  const isConditional = conditions.some((one) => !isKnownCondition(one))
  const rules = constraints.filter(isChecked).flatMap(toRules)
  const property = {
    name: field.name,
    conditions: conditions.map(toCondition),
    rules: [] as ConstraintRule[],
  }
  // A missing value has one violation, if its conditions hold; its rules do not run.
  const missing = { ...property, rules: [] }
  const defer = (deferred: DeferredProperty, conditionalResult: string): string => {
    writer.hasDeferredRules = true
    const entry = `property: ${writer.functions.constant(deferred)}, object: o, path: ${quote(field.name)}`
    return `deferred.push({ ${entry}, conditionalResult: ${conditionalResult} })`
  }
  const written = rules.map((rule) => ({
    rule,
    code: isConditional ? undefined : limitLength(rule, field, writeRule(rule, writer.functions)),
  }))
  const deferredCodes = new Set(
    written.filter(({ code }) => code === undefined).map(({ rule }) => rule.code),
  )
  // Rules with the same name have one common violation, of the last rule. They run together to stay in their order.
  const immediate =
    scope === 'object'
      ? []
      : written.filter(({ rule }) => !deferredCodes.has(rule.code)).map(({ code }) => code)
  property.rules.push(...rules.filter(({ code }) => deferredCodes.has(code)))
  const nesting = constraints.find(({ metadata }) => metadata.type === 'nestedValidation')
  const isNestingConditional =
    isConditional && nesting !== undefined && field.declared === undefined
  const deferStatement =
    scope !== 'field' && (property.rules.length > 0 || isNestingConditional)
      ? defer(property, isNestingConditional ? 'conditionalResult' : 'undefined')
      : ''
  const guard = isConditional ? '' : writeGate(conditions)
  return {
    isConditional,
    code:
      deferStatement === '' && immediate.length === 0
        ? ''
        : `${guard} { if (${writer.functions.constant(isUnstorable)}(v)) { ${writeInvalidText(field, writer.functions)} } else { ${immediate.join('\n')} ${deferStatement} } }`,
    build: (type) =>
      nesting === undefined
        ? ''
        : writeNesting({ type, nesting, writer, guard, isNestingConditional, field }),
    defer: (code) => defer(missing, code),
  }
}

/** The violation of text that no database accepts, whatever the rules are. */
function writeInvalidText({ name }: ShapeField, functions: FunctionSet): string {
  const violation = `${quote(name)}, 'type', 'must be text without NUL and lone surrogates'`
  return `${functions.constant(addViolation)}(violations, ${violation})`
}

const unstorable = /[\0\p{Surrogate}]/u

/** Whether the value is such a text, or a list that contains one. */
function isUnstorable(value: unknown): boolean {
  if (typeof value === 'string') return unstorable.test(value)
  return (
    Array.isArray(value) && value.some((item) => typeof item === 'string' && isUnstorable(item))
  )
}

function isChecked({ metadata }: Constraint): boolean {
  return ['customValidation', 'isDefined'].includes(metadata.type)
}

/** Conditions that can be written as code: IsOptional, and the condition that `partial` adds. */
function isKnownCondition({ name, metadata }: Constraint): boolean {
  return name === 'isOptional' || metadata.constraints?.[0] === isSent
}

function toCondition({ metadata }: Constraint): RuleCondition {
  return metadata.constraints?.[0] as RuleCondition
}

function writeGate(conditions: readonly Constraint[]): string {
  if (conditions.length === 0) return ''
  const optional = conditions.some(({ name }) => name === 'isOptional')
  return optional ? 'if (v !== undefined && v !== null)' : 'if (v !== undefined)'
}

/** Skips a slow pattern for text that is too long, which is reported already. A character may have two units. */
function limitLength(
  { code, metadata }: ConstraintRule,
  { rules: { maxLength } }: ShapeField,
  written: string | undefined,
): string | undefined {
  if (written === undefined || code !== 'matches' || maxLength === undefined) return written
  const [pattern] = metadata.constraints ?? []
  if (pattern instanceof RegExp && patternCost(pattern) === 'linear') return written
  return `if (typeof v !== 'string' || v.length <= ${2 * maxLength}) { ${written} }`
}

function writeRule(rule: ConstraintRule, functions: FunctionSet): string | undefined {
  const code = writeConstraint(rule, functions)
  if (code === undefined) return undefined
  const addViolationCall = `${functions.constant(addRuleViolation)}(violations, ${functions.constant(rule)}, v, o);`
  if (rule.metadata.each !== true) return `if (!(${code})) ${addViolationCall}`
  return [
    `{ const items = ${functions.constant(itemsOf)}(v)`,
    `let valid = true`,
    `if (items === undefined) valid = ${code}`,
    `else for (let i = 0; i < items.length && valid; i++) { const v = items[i]; valid = ${code} }`,
    `if (!valid) ${addViolationCall} }`,
  ].join('\n')
}

interface NestingPlan {
  readonly type: NonNullable<ShapeField['nested']>
  readonly nesting: Constraint
  readonly writer: FunctionWriter
  readonly guard: string
  readonly isNestingConditional: boolean
  readonly field: ShapeField
}

function writeNesting({
  type,
  nesting,
  writer,
  guard,
  isNestingConditional,
  field,
}: NestingPlan): string {
  const { functions } = writer
  const check = writer.functionFor(readShape(type(), writer.options.problems))
  const rule = functions.constant(toRules(nesting)[0])
  const build = `v = ${functions.constant(checkNested)}(v, { check: ${check}, rule: ${rule}, object: o, violations: target.violations, deferred: target.deferred }, depth + 1)`
  if (isNestingConditional)
    return `const conditionalResult = { violations: [], deferred: [] }\n{ const target = conditionalResult; ${build} }`
  const prefix = functions.constant(prefixPaths)
  const path = quote(field.name)
  return [
    `${guard} { const target = { violations, deferred }, before = violations.length, deferredBefore = deferred.length`,
    build,
    `if (violations.length > before) ${prefix}(violations, before, ${path})`,
    `if (deferred.length > deferredBefore) ${prefix}(deferred, deferredBefore, ${path}) }`,
  ].join('\n')
}
