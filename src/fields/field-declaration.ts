/** Checks the declaration of a field. Every problem names the class and the property. */
import type { ErrorCode } from '../errors/error-codes.js'
import type { Problem } from '../errors/declaration-error.js'
import type { Problems } from '../errors/problems.js'
import { type FieldMetadata, type FieldClass, isApplicationClass, resolveType } from './field.js'
import { isOfKind, kindOf, type KindName, kinds } from './kinds/table.js'
import { isMap } from '../core/json.js'
import { didYouMean } from '../errors/did-you-mean.js'
import type { Constraint } from './class-validator.js'
import { formats } from './formats.js'
import type { Kind, ValueRule } from './kinds/kind.js'
import {
  ruleValues,
  valueRules,
  type RuleName,
  type RuleValue,
  isWriteRule,
  writeRuleProblem,
} from './rules.js'

const ranges = [
  ['min', 'max'],
  ['minLength', 'maxLength'],
  ['minItems', 'maxItems'],
] as const

/** @param rules each is valid by itself */
function checkContradictions(
  kind: KindName | undefined,
  rules: FieldMetadata['rules'],
  problems: Problems,
): void {
  const addProblem = (message: string, remedy: string): void => {
    problems.add({ code: 'FIELD_RULE_VALUE', message: `${message}.`, remedy })
  }
  for (const [lower, upper] of ranges) {
    if (isAbove(rules[lower], rules[upper], kind, rules))
      addProblem(
        `rule "${lower}" is above rule "${upper}"`,
        'No value can satisfy both. Correct one.',
      )
  }
  if (rules.lowercase === true && rules.uppercase === true)
    addProblem('rules "lowercase" and "uppercase" contradict each other', 'Remove one.')
}

function isAbove(
  lower: unknown,
  upper: unknown,
  kind: KindName | undefined,
  rules: FieldMetadata['rules'],
): boolean {
  if (lower === undefined || upper === undefined) return false
  const [a, b] = [comparableOf(lower, kind, rules), comparableOf(upper, kind, rules)]
  return (a as number) > (b as number)
}

/** The form in which values are compared: the same for `1.5` and `1.50` of a decimal. */
function comparableOf(
  value: unknown,
  kind: KindName | undefined,
  rules: FieldMetadata['rules'],
): unknown {
  const entry = kind === undefined ? undefined : kindOf(kind, rules)
  if (entry?.comparable === undefined || !isOfKind(value, entry)) return value
  return entry.comparable(value)
}

export interface UncheckedField {
  readonly name: string
  readonly metadata: FieldMetadata | undefined
  readonly constraints: readonly Constraint[]
  /** The property's type, if the compiler emits it. */
  readonly emittedType: unknown
  /** Returns the class of class-transformer's `@Type`. Called only if nothing else determines the class. */
  readonly transformerType: () => FieldClass | undefined
}

export interface FieldType {
  /** `undefined` if class-validator's rules determine it. */
  readonly kind: KindName | undefined
  readonly nested: FieldClass | undefined
  readonly list: boolean
}

export interface CheckedDeclaration extends FieldType {
  /** The valid rules of `@Field`. Invalid ones are left out, so that later steps do not fail. */
  readonly rules: FieldMetadata['rules']
}

/** @returns `undefined` if the field has no usable type; the reason is added to `problems`, which are those of the field */
export function checkDeclaration(
  declaration: UncheckedField,
  problems: Problems,
): CheckedDeclaration | undefined {
  const { name, metadata } = declaration
  const nameProblem = findNameProblem(name)
  if (nameProblem !== undefined) {
    problems.add({ code: 'FIELD_NAME', message: nameProblem, remedy: 'Rename it.' })
    return undefined
  }
  const type =
    metadata === undefined
      ? readUndeclaredType(declaration, problems)
      : readKind(declaration, metadata, problems)
  if (type === undefined) return undefined
  const rules = metadata === undefined ? {} : validRules(type.kind, metadata.rules, problems)
  checkContradictions(type.kind, rules, problems)
  return { ...type, rules }
}

function findNameProblem(name: string): string | undefined {
  if (['__proto__', 'prototype'].includes(name)) return 'this name is refused in every input.'
  // An object without the field would inherit a value.
  return name in Object.prototype ? `every object already has a property "${name}".` : undefined
}

function readKind(
  declaration: UncheckedField,
  metadata: FieldMetadata,
  problems: Problems,
): FieldType | undefined {
  const { kind } = metadata
  if (kind === undefined) return readEmittedType(declaration, problems)
  if (typeof kind !== 'string') return { kind: 'json', nested: kind, list: isListThunk(kind) }
  if (Object.hasOwn(kinds, kind)) return { kind: kind as KindName, nested: undefined, list: false }
  const names = Object.keys(kinds)
  problems.add(
    toProblem(
      'FIELD_KIND_UNKNOWN',
      `unknown kind "${kind}".`,
      `${didYouMean(kind, names)} Kinds: ${names.join(', ')}, or a class by thunk.`.trim(),
    ),
  )
  return undefined
}

/** The type of a property without `@Field`: its kind is only a guess, but nested values need a class. */
function readUndeclaredType(
  declaration: UncheckedField,
  problems: Problems,
): FieldType | undefined {
  const { constraints, emittedType: emitted } = declaration
  const isNested = constraints.some(({ metadata }) => metadata.type === 'nestedValidation')
  if (!isNested) return { kind: undefined, nested: undefined, list: false }
  if (isApplicationClass(emitted)) return { kind: 'json', nested: emitted, list: false }
  const transformerType = declaration.transformerType()
  if (transformerType !== undefined)
    return { kind: 'json', nested: transformerType, list: emitted === Array }
  problems.add(
    toProblem(
      'FIELD_TYPE_MISSING',
      '@ValidateNested() needs the class of the value.',
      'Add @Field(() => Line), @Field(() => Line, { list: true }) for a list, or @Type(() => Line) of class-transformer.',
    ),
  )
  return undefined
}

/** The type of a `@Field()` without arguments. Only strings, booleans and classes determine the kind. */
function readEmittedType(
  { emittedType: emitted }: UncheckedField,
  problems: Problems,
): FieldType | undefined {
  if (emitted === String) return { kind: 'string', nested: undefined, list: false }
  if (emitted === Boolean) return { kind: 'boolean', nested: undefined, list: false }
  if (isApplicationClass(emitted)) return { kind: 'json', nested: emitted, list: false }
  const [reason, remedy] = ambiguousTypes.get(emitted) ?? ambiguousTypes.get(Object) ?? ['', '']
  problems.add({ code: 'FIELD_TYPE_MISSING', message: `@Field() ${reason}.`, remedy })
  return undefined
}

const ambiguousTypes: ReadonlyMap<unknown, readonly [reason: string, remedy: string]> = new Map<
  unknown,
  readonly [string, string]
>([
  [
    undefined,
    ['has no kind, and this compiler emits no types', "Write the kind: @Field('string')."],
  ],
  [
    Number,
    [
      'cannot distinguish integers from other numbers',
      "Write @Field('integer') or @Field('numeric').",
    ],
  ],
  [
    Date,
    [
      'cannot be a Date, since timestamps are ISO 8601 text',
      "Write @Field('datetime') and type it string.",
    ],
  ],
  [
    Array,
    [
      'cannot determine the type of the list items',
      "Write @Field('string', { list: true }) or @Field(() => Line, { list: true }).",
    ],
  ],
  [
    Object,
    [
      'has no kind, and its type does not determine one',
      "Write the kind, @Field('json') say, or the class, @Field(() => Line).",
    ],
  ],
])

function validRules(
  kind: KindName | undefined,
  rules: FieldMetadata['rules'],
  problems: Problems,
): FieldMetadata['rules'] {
  const valid = Object.entries(rules).filter(([rule, value]) => {
    const problem = findRuleProblem(rule, value, kind, rules)
    if (problem !== undefined && rule === 'writes')
      problems.add({ code: problem.code, ...writeRuleProblem('writes') })
    else if (problem !== undefined) problems.add(problem)
    return problem === undefined
  })
  const missing = kind === undefined ? [] : missingRules(kind, rules)
  for (const rule of missing) {
    const message = `kind "${String(kind)}" needs rule "${rule}".`
    problems.add(toProblem('FIELD_RULE_MISSING', message, `Add it: { ${rule}: … }.`))
  }
  return Object.fromEntries(valid)
}

function missingRules(kind: KindName, rules: FieldMetadata['rules']): readonly string[] {
  return kindOf(kind, rules).needs?.filter((rule) => rules[rule] === undefined) ?? []
}

function findRuleProblem(
  rule: string,
  value: unknown,
  kind: KindName | undefined,
  rules: FieldMetadata['rules'],
): Problem | undefined {
  if (!Object.hasOwn(ruleValues, rule)) {
    const names = Object.keys(ruleValues)
    return toProblem(
      'FIELD_RULE_UNKNOWN',
      `unknown rule "${rule}".`,
      `${didYouMean(rule, names)} Rules: ${names.join(', ')}.`.trim(),
    )
  }
  if (value === undefined) return undefined
  const requirement = ruleValues[rule as RuleName]
  if (!satisfies[requirement](value, rules))
    return toProblem(
      'FIELD_RULE_VALUE',
      `rule "${rule}" needs ${requirement}.`,
      suggestFormat(rule, value),
    )
  if (rule === 'default' && kind !== undefined && !isDefault(value, kind, rules)) {
    const { label } = kindOf(kind, rules)
    const expected = rules.list === true ? `a list, each ${label}` : label
    return toProblem('FIELD_DEFAULT', `default ${toText(value)} is not ${expected}.`, 'Correct it.')
  }
  if (kind !== undefined && !appliesTo(rule, kind, rules)) {
    const allowed = kindOf(kind, rules).rules
    const remedy =
      allowed.length === 0 ? 'Remove it.' : `Rules about its values: ${allowed.join(', ')}.`
    return toProblem('FIELD_RULE_UNFIT', `rule "${rule}" does not apply to kind "${kind}".`, remedy)
  }
  if (rule === 'labels') return findUnknownLabel(value as object, rules)
  const problem =
    kind === undefined ? undefined : findInvalidBound(rule, value, kindOf(kind, rules))
  if (kind !== undefined && problem !== undefined) {
    const remedy = `${toText(problem)} is not ${kindOf(kind, rules).label}.`
    return toProblem(
      'FIELD_RULE_VALUE',
      `rule "${rule}" needs ${requirement} of kind "${kind}".`,
      remedy,
    )
  }
  return undefined
}

/** Only values of `oneOf` have labels. */
function findUnknownLabel(labels: object, { oneOf }: FieldMetadata['rules']): Problem | undefined {
  const values = [oneOf].flat().map(String)
  const unknown = Object.keys(labels).find((value) => !values.includes(value))
  if (unknown === undefined) return undefined
  const message = `labels: "${unknown}" is not a value of oneOf.`
  const remedy = `${didYouMean(unknown, values)} Values: ${values.join(', ')}.`.trim()
  return toProblem('FIELD_RULE_VALUE', message, remedy)
}

/** A bound must be a value of the kind to be compared with values. */
function findInvalidBound(rule: string, value: unknown, entry: Kind): unknown {
  if (rule !== 'min' && rule !== 'max') return undefined
  return isOfKind(value, entry) ? undefined : value
}

function appliesTo(rule: string, kind: KindName, rules: FieldMetadata['rules']): boolean {
  if (rule === 'key') return kind === 'id'
  if (rule === 'precision' || rule === 'scale') return kind === 'decimal'
  if (rule === 'minItems' || rule === 'maxItems') return rules.list === true
  if (rule === 'enum' || rule === 'labels') return rules.oneOf !== undefined
  if (!(valueRules as readonly string[]).includes(rule)) return true
  return kindOf(kind, rules).rules.includes(rule as ValueRule)
}

/** Whether the default is valid. The value of a function is unknown before it is called. */
function isDefault(value: unknown, kind: KindName, rules: FieldMetadata['rules']): boolean {
  const entry = kindOf(kind, rules)
  if (typeof value === 'function' || (value === 'now' && entry.now !== undefined)) return true
  if (value === null) return rules.nullable === true
  if (rules.list !== true) return isOfKind(value, entry)
  return Array.isArray(value) && value.every((item) => item !== null && isOfKind(item, entry))
}

function toText(value: unknown): string {
  if (['number', 'bigint', 'symbol'].includes(typeof value)) return String(value)
  try {
    return JSON.stringify(value)
  } catch {
    // A cycle, or a nested bigint.
    return 'without JSON'
  }
}

function suggestFormat(rule: string, value: unknown): string {
  if (rule !== 'format' || typeof value !== 'string') return ''
  const names = Object.keys(formats)
  return `${didYouMean(value, names)} Formats: ${names.join(', ')}.`.trim()
}

/** The name of a type in SQL, which statements contain as it is: `numeric(10, 2)[]`, `billing."Status"`. */
const typeName = new RegExp(
  [
    '^(?:double precision|(?:national )?(?:character|bit) varying|timestamp|time',
    '|(?:[a-z_]\\w*|"\\w+")(?:\\.(?:[a-z_]\\w*|"\\w+"))?)',
    '(?: ?\\(\\d+(?:, ?-?\\d+)?\\))?(?: with(?:out)? time zone)?(?:\\[\\d*\\])*$',
  ].join(''),
  'i',
)

/** The maximum precision that all databases with PostgreSQL's protocol support. */
const maxDigits = 38

const satisfies: Readonly<
  Record<RuleValue, (value: unknown, rules: FieldMetadata['rules']) => boolean>
> = {
  'true or false': (value) => typeof value === 'boolean',
  'true, false or a name': (value) => ['boolean', 'string'].includes(typeof value),
  anything: () => true,
  'a number or a date': (value) => Number.isFinite(value) || typeof value === 'string',
  'a whole number from 0': (value) => Number.isSafeInteger(value) && (value as number) >= 0,
  'a whole number from 1 to 38': (value) =>
    Number.isSafeInteger(value) && (value as number) >= 1 && (value as number) <= maxDigits,
  'a whole number from 0, not above precision': (value, { precision = 18 }) =>
    Number.isSafeInteger(value) && (value as number) >= 0 && Number(value) <= Number(precision),
  'a regular expression': isPattern,
  'a format': (value) => typeof value === 'string' && Object.hasOwn(formats, value),
  'a list of values': (value) => Array.isArray(value) && value.length > 0,
  'the name of a type': (value) => typeof value === 'string' && typeName.test(value),
  'a name': (value) => typeof value === 'string' && value !== '',
  'false, a role or a list of roles': isWriteRule,
  'a text': (value) => typeof value === 'string',
  'texts by value': (value) =>
    isMap(value) &&
    Object.values(value).every((text) => typeof text === 'string' && text.trim() !== ''),
  'texts or functions by rule': (value) => isMap(value),
  "'uuid'": (value) => value === 'uuid',
  "'NFC'": (value) => value === 'NFC',
}

function isPattern(value: unknown): boolean {
  if (value instanceof RegExp) return true
  try {
    return typeof value === 'string' && new RegExp(value) instanceof RegExp
  } catch {
    return false
  }
}

/** Whether the thunk returns a list: `() => [Line]`. If it throws now, it is called again when the class is used. */
function isListThunk(type: FieldClass): boolean {
  try {
    return resolveType(type)?.list === true
  } catch {
    return false
  }
}

function toProblem(code: ErrorCode, message: string, remedy: string): Problem {
  return { code, message, remedy }
}
