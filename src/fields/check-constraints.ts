/** Writes class-validator's part of a field's check: plain rules as code, the others as entries that wait for the object. */
import { quote, type FunctionSet } from './function-set.js'
import type { Problem } from '../errors/declaration-error.js'
import { checkNested } from './check-runtime.js'
import { isSent, type Constraint } from './class-validator.js'
import { writeConstraint } from './constraint-code.js'
import { addBroken, itemsOf, toRules, type ConstraintRule } from './constraint-rule.js'
import { addFault, prefixPaths } from './faults.js'
import { patternCost } from './pattern-cost.js'
import type { LateProperty } from './late-constraints.js'
import { readShape, type Shape, type ShapeField } from './shape.js'

/** Who writes the functions that this code calls. */
export interface FunctionWriter {
  readonly functions: FunctionSet
  readonly options: { readonly problems: Problem[] | undefined }
  /** True once a rule was written that runs after the object is complete. */
  waits: boolean
  /** The name of the function that checks a shape. */
  functionFor(shape: Shape): string
}

export interface WrittenConstraints {
  /** A condition of the application's own decides: `@ValidateIf`. */
  readonly conditional: boolean
  /** Statements that check `v` and note what waits. */
  readonly code: string
  /** Statements that turn what `@ValidateNested` checks into instances. */
  readonly build: (type: NonNullable<ShapeField['nested']>) => string
  /** A statement for a missing value: `held` is code for the fault told if the conditions hold. */
  readonly wait: (held: string) => string
}

/**
 * Which rules are asked: `own` leaves out what looks at the whole object, `row` is just that. Nested objects are always
 * asked whole.
 */
export type RulePart = 'all' | 'own' | 'row'

type Condition = (object: unknown, value: unknown) => boolean

export function writeClassValidator(
  field: ShapeField,
  constraints: readonly Constraint[],
  writer: FunctionWriter,
  part: RulePart = 'all',
): WrittenConstraints {
  const conditions = constraints.filter(({ note }) => note.type === 'conditionalValidation')
  const conditional = conditions.some((one) => !isPlain(one))
  const rules = constraints.filter(isChecked).flatMap(toRules)
  const property = {
    name: field.name,
    conditions: conditions.map(toCondition),
    rules: [] as ConstraintRule[],
  }
  // A missing value has one fault, if its conditions hold; its rules do not run.
  const missing = { ...property, rules: [] }
  const wait = (waiting: LateProperty, held: string): string => {
    writer.waits = true
    const entry = `property: ${writer.functions.constant(waiting)}, object: o, path: ${quote(field.name)}`
    return `late.push({ ${entry}, held: ${held} })`
  }
  const written = rules.map((rule) => ({
    rule,
    code: conditional ? undefined : withinLength(rule, field, writeRule(rule, writer.functions)),
  }))
  const asked = new Set(
    written.filter(({ code }) => code === undefined).map(({ rule }) => rule.code),
  )
  // Rules of one name answer with one fault, the last one's: they keep their order by running together.
  const straight =
    part === 'row'
      ? []
      : written.filter(({ rule }) => !asked.has(rule.code)).map(({ code }) => code)
  property.rules.push(...rules.filter(({ code }) => asked.has(code)))
  const nesting = constraints.find(({ note }) => note.type === 'nestedValidation')
  const held = conditional && nesting !== undefined && field.declared === undefined
  const waiting =
    part !== 'own' && (property.rules.length > 0 || held)
      ? wait(property, held ? 'held' : 'undefined')
      : ''
  const gate = conditional ? '' : writeGate(conditions)
  return {
    conditional,
    code:
      waiting === '' && straight.length === 0
        ? ''
        : `${gate} { if (${writer.functions.constant(isUnstorable)}(v)) { ${refuseText(field, writer.functions)} } else { ${straight.join('\n')} ${waiting} } }`,
    build: (type) =>
      nesting === undefined ? '' : writeNesting({ type, nesting, writer, gate, held, field }),
    wait: (code) => wait(missing, code),
  }
}

/** Refused whatever the rules say: text that no store accepts and no rule expects. */
function refuseText({ name }: ShapeField, functions: FunctionSet): string {
  const fault = `${quote(name)}, 'type', 'must be text without NUL and halves of characters'`
  return `${functions.constant(addFault)}(faults, ${fault})`
}

const unstorable = /[\0\p{Surrogate}]/u

/** True for such a text, and a list with one. */
function isUnstorable(value: unknown): boolean {
  if (typeof value === 'string') return unstorable.test(value)
  return (
    Array.isArray(value) && value.some((item) => typeof item === 'string' && isUnstorable(item))
  )
}

function isChecked({ note }: Constraint): boolean {
  return ['customValidation', 'isDefined'].includes(note.type)
}

/** Conditions whose meaning is known beforehand: IsOptional, and that of `partial`. */
function isPlain({ name, note }: Constraint): boolean {
  return name === 'isOptional' || note.constraints?.[0] === isSent
}

function toCondition({ note }: Constraint): Condition {
  return note.constraints?.[0] as Condition
}

function writeGate(conditions: readonly Constraint[]): string {
  if (conditions.length === 0) return ''
  const optional = conditions.some(({ name }) => name === 'isOptional')
  return optional ? 'if (v !== undefined && v !== null)' : 'if (v !== undefined)'
}

/**
 * A slow pattern does not run on text that is too long, which has its fault already. A character may have two units.
 */
function withinLength(
  { code, note }: ConstraintRule,
  { rules: { maxLength } }: ShapeField,
  written: string | undefined,
): string | undefined {
  if (written === undefined || code !== 'matches' || maxLength === undefined) return written
  const [pattern] = note.constraints ?? []
  if (pattern instanceof RegExp && patternCost(pattern) === 'linear') return written
  return `if (typeof v !== 'string' || v.length <= ${2 * maxLength}) { ${written} }`
}

function writeRule(rule: ConstraintRule, functions: FunctionSet): string | undefined {
  const code = writeConstraint(rule, functions)
  if (code === undefined) return undefined
  const broken = `${functions.constant(addBroken)}(faults, ${functions.constant(rule)}, v, o);`
  if (rule.note.each !== true) return `if (!(${code})) ${broken}`
  return [
    `{ const items = ${functions.constant(itemsOf)}(v)`,
    `let kept = true`,
    `if (items === undefined) kept = ${code}`,
    `else for (let i = 0; i < items.length && kept; i++) { const v = items[i]; kept = ${code} }`,
    `if (!kept) ${broken} }`,
  ].join('\n')
}

interface NestingPlan {
  readonly type: NonNullable<ShapeField['nested']>
  readonly nesting: Constraint
  readonly writer: FunctionWriter
  readonly gate: string
  readonly held: boolean
  readonly field: ShapeField
}

function writeNesting({ type, nesting, writer, gate, held, field }: NestingPlan): string {
  const { functions } = writer
  const check = writer.functionFor(readShape(type(), writer.options.problems))
  const rule = functions.constant(toRules(nesting)[0])
  const build = `v = ${functions.constant(checkNested)}(v, { check: ${check}, rule: ${rule}, object: o, faults: at.faults, late: at.late }, depth + 1)`
  if (held) return `const held = { faults: [], late: [] }\n{ const at = held; ${build} }`
  const prefix = functions.constant(prefixPaths)
  const path = quote(field.name)
  return [
    `${gate} { const at = { faults, late }, before = faults.length, waiting = late.length`,
    build,
    `if (faults.length > before) ${prefix}(faults, before, ${path})`,
    `if (late.length > waiting) ${prefix}(late, waiting, ${path}) }`,
  ].join('\n')
}
