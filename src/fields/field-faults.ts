/** What can be wrong with the declaration of a field; every fault names class and property. */
import type { Problem } from '../errors/declaration-error.js'
import { didYouMean } from '../errors/did-you-mean.js'
import type { Constraint } from './class-validator.js'
import type { FieldNote, TypeOf } from './field.js'
import { findContradictions } from './contradictions.js'
import { formats } from './formats.js'
import type { Kind, ValueRule } from './kinds/kind.js'
import { isOfKind, kindOf, kinds, type KindName } from './kinds/table.js'
import { ruleValues, valueRules, type RuleName, type RuleValue } from './rules.js'
import { isWriteRule } from './write-rule.js'
import { isApplicationClass, resolveType } from './type-of.js'

export interface Declaration {
  /** `Order.lines` */
  readonly where: string
  readonly note: FieldNote | undefined
  readonly constraints: readonly Constraint[]
  /** The compiler's word on the property's type, where it gives one. */
  readonly emitted: unknown
  /** The class that class-transformer's `@Type` names; asked only where nothing else tells. */
  readonly typed: () => TypeOf | undefined
}

export interface Judged {
  /** `undefined` where class-validator's rules have to say. */
  readonly kind: KindName | undefined
  readonly nested: TypeOf | undefined
  readonly list: boolean
}

export interface JudgedField extends Judged {
  /** The valid rules of `@Field`: later steps must not fail on the others. */
  readonly rules: FieldNote['rules']
}

/** @returns `undefined` when nothing can be made of the field; what is wrong is then in `problems` */
export function judgeField(declaration: Declaration, problems: Problem[]): JudgedField | undefined {
  const { where, note } = declaration
  const nameProblem = findNameProblem(where.slice(where.lastIndexOf('.') + 1))
  if (nameProblem !== undefined) {
    problems.push(fault('FIELD_NAME', `${where}: ${nameProblem}`, 'Rename it.'))
    return undefined
  }
  const judged =
    note === undefined ? judgeBare(declaration, problems) : judgeKind(declaration, note, problems)
  if (judged === undefined) return undefined
  const rules = note === undefined ? {} : soundRules(where, judged.kind, note.rules, problems)
  findContradictions(where, judged.kind, rules, problems)
  return { ...judged, rules }
}

function findNameProblem(name: string): string | undefined {
  if (['__proto__', 'prototype'].includes(name)) return 'this name is refused in every input.'
  // A value that leaves the field out would inherit one under its name.
  return name in Object.prototype ? `every object already has a property "${name}".` : undefined
}

function judgeKind(
  declaration: Declaration,
  note: FieldNote,
  problems: Problem[],
): Judged | undefined {
  const { where } = declaration
  const { kind } = note
  if (kind === undefined) return judgeEmitted(declaration, problems)
  if (typeof kind !== 'string') return { kind: 'json', nested: kind, list: isListThunk(kind) }
  if (Object.hasOwn(kinds, kind)) return { kind: kind as KindName, nested: undefined, list: false }
  const names = Object.keys(kinds)
  problems.push(
    fault(
      'FIELD_KIND_UNKNOWN',
      `${where}: unknown kind "${kind}".`,
      `${didYouMean(kind, names)} Kinds: ${names.join(', ')}, or a class by thunk.`.trim(),
    ),
  )
  return undefined
}

/** Only class-validator knows the property: its kind is a guess, but nesting needs a class. */
function judgeBare(declaration: Declaration, problems: Problem[]): Judged | undefined {
  const { where, constraints, emitted } = declaration
  const nests = constraints.some(({ note }) => note.type === 'nestedValidation')
  if (!nests) return { kind: undefined, nested: undefined, list: false }
  if (isApplicationClass(emitted)) return { kind: 'json', nested: emitted, list: false }
  const typed = declaration.typed()
  if (typed !== undefined) return { kind: 'json', nested: typed, list: emitted === Array }
  problems.push(
    fault(
      'FIELD_TYPE_MISSING',
      `${where}: @ValidateNested() needs the class of the value, which is not to be seen here.`,
      'Add @Field(() => Line), @Field(() => Line, { list: true }) for a list, or @Type(() => Line) of class-transformer.',
    ),
  )
  return undefined
}

/** A bare `@Field()`: only text, truth values and classes tell their kind by their type alone. */
function judgeEmitted({ where, emitted }: Declaration, problems: Problem[]): Judged | undefined {
  if (emitted === String) return { kind: 'string', nested: undefined, list: false }
  if (emitted === Boolean) return { kind: 'boolean', nested: undefined, list: false }
  if (isApplicationClass(emitted)) return { kind: 'json', nested: emitted, list: false }
  const [reason, remedy] = ambiguous.get(emitted) ?? ambiguous.get(Object) ?? ['', '']
  problems.push(fault('FIELD_TYPE_MISSING', `${where}: @Field() ${reason}.`, remedy))
  return undefined
}

const ambiguous: ReadonlyMap<unknown, readonly [reason: string, remedy: string]> = new Map<
  unknown,
  readonly [string, string]
>([
  [
    undefined,
    ['has no kind, and this compiler emits no types', "Write the kind: @Field('string')."],
  ],
  [
    Number,
    ['cannot tell whole numbers from others', "Write @Field('integer') or @Field('numeric')."],
  ],
  [
    Date,
    [
      'cannot be a Date, since moments are ISO 8601 text',
      "Write @Field('datetime') and type it string.",
    ],
  ],
  [
    Array,
    [
      'cannot see what the list holds',
      "Write @Field('string', { list: true }) or @Field(() => Line, { list: true }).",
    ],
  ],
  [
    Object,
    [
      'has no kind that its type would tell',
      "Write the kind, @Field('json') say, or the class, @Field(() => Line).",
    ],
  ],
])

function soundRules(
  where: string,
  kind: KindName | undefined,
  rules: FieldNote['rules'],
  problems: Problem[],
): FieldNote['rules'] {
  const sound = Object.entries(rules).filter(([rule, value]) => {
    const wrong = judgeRule(rule, value, kind, rules)
    if (wrong !== undefined) problems.push({ ...wrong, message: `${where}: ${wrong.message}` })
    return wrong === undefined
  })
  const missing = kind === undefined ? [] : missingRules(kind, rules)
  for (const rule of missing) {
    const message = `${where}: kind "${String(kind)}" needs rule "${rule}".`
    problems.push(fault('FIELD_RULE_MISSING', message, `Add it: { ${rule}: … }.`))
  }
  return Object.fromEntries(sound)
}

function missingRules(kind: KindName, rules: FieldNote['rules']): readonly string[] {
  return kindOf(kind, rules).needs?.filter((rule) => rules[rule] === undefined) ?? []
}

function judgeRule(
  rule: string,
  value: unknown,
  kind: KindName | undefined,
  rules: FieldNote['rules'],
): Problem | undefined {
  if (!Object.hasOwn(ruleValues, rule)) {
    const names = Object.keys(ruleValues)
    return fault(
      'FIELD_RULE_UNKNOWN',
      `unknown rule "${rule}".`,
      `${didYouMean(rule, names)} Rules: ${names.join(', ')}.`.trim(),
    )
  }
  if (value === undefined) return undefined
  const needed = ruleValues[rule as RuleName]
  if (!fits[needed](value, rules))
    return fault('FIELD_RULE_VALUE', `rule "${rule}" needs ${needed}.`, hintFor(rule, value))
  if (rule === 'default' && kind !== undefined && !isDefault(value, kind, rules)) {
    const { noun } = kindOf(kind, rules)
    const wanted = rules.list === true ? `a list, each ${noun}` : noun
    return fault('FIELD_DEFAULT', `default ${toText(value)} is not ${wanted}.`, 'Give one that is.')
  }
  if (kind !== undefined && !appliesTo(rule, kind, rules)) {
    const allowed = kindOf(kind, rules).rules
    const remedy =
      allowed.length === 0 ? 'Remove it.' : `Rules about its values: ${allowed.join(', ')}.`
    return fault('FIELD_RULE_UNFIT', `rule "${rule}" means nothing for kind "${kind}".`, remedy)
  }
  const wrong = kind === undefined ? undefined : wrongBound(rule, value, kindOf(kind, rules))
  if (kind !== undefined && wrong !== undefined) {
    const remedy = `${toText(wrong)} is not ${kindOf(kind, rules).noun}.`
    return fault('FIELD_RULE_VALUE', `rule "${rule}" needs ${needed} of kind "${kind}".`, remedy)
  }
  return undefined
}

/** A bound that is no value of the kind cannot be compared with one. */
function wrongBound(rule: string, value: unknown, entry: Kind): unknown {
  if (rule !== 'min' && rule !== 'max') return undefined
  return isOfKind(value, entry) ? undefined : value
}

function appliesTo(rule: string, kind: KindName, rules: FieldNote['rules']): boolean {
  if (rule === 'key') return kind === 'id'
  if (rule === 'precision' || rule === 'scale') return kind === 'decimal'
  if (rule === 'minItems' || rule === 'maxItems') return rules.list === true
  if (rule === 'enum') return rules.oneOf !== undefined
  if (!(valueRules as readonly string[]).includes(rule)) return true
  return kindOf(kind, rules).rules.includes(rule as ValueRule)
}

/** A function's defaults are not known before it is called. */
function isDefault(value: unknown, kind: KindName, rules: FieldNote['rules']): boolean {
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
    // A circle, or a bigint within.
    return 'without JSON'
  }
}

function hintFor(rule: string, value: unknown): string {
  if (rule !== 'format' || typeof value !== 'string') return ''
  const names = Object.keys(formats)
  return `${didYouMean(value, names)} Formats: ${names.join(', ')}.`.trim()
}

/** What PostgreSQL and its kin all take. */
const mostDigits = 38

const fits: Readonly<Record<RuleValue, (value: unknown, rules: FieldNote['rules']) => boolean>> = {
  'true or false': (value) => typeof value === 'boolean',
  'true, false or a name': (value) => ['boolean', 'string'].includes(typeof value),
  anything: () => true,
  'a number or a date': (value) => Number.isFinite(value) || typeof value === 'string',
  'a whole number from 0': (value) => Number.isSafeInteger(value) && (value as number) >= 0,
  'a whole number from 1 to 38': (value) =>
    Number.isSafeInteger(value) && (value as number) >= 1 && (value as number) <= mostDigits,
  'a whole number from 0, not above precision': (value, { precision = 18 }) =>
    Number.isSafeInteger(value) && (value as number) >= 0 && Number(value) <= Number(precision),
  'a regular expression': isPattern,
  'a format': (value) => typeof value === 'string' && Object.hasOwn(formats, value),
  'a list of values': (value) => Array.isArray(value) && value.length > 0,
  'a name': (value) => typeof value === 'string' && value !== '',
  'false, a role or a list of roles': isWriteRule,
  'a text': (value) => typeof value === 'string',
  "'uuid'": (value) => value === 'uuid',
}

function isPattern(value: unknown): boolean {
  if (value instanceof RegExp) return true
  try {
    return typeof value === 'string' && new RegExp(value) instanceof RegExp
  } catch {
    return false
  }
}

/** `() => [Line]` is a list too; a thunk that cannot answer yet is called again when the class is used. */
function isListThunk(type: TypeOf): boolean {
  try {
    return resolveType(type)?.list === true
  } catch {
    return false
  }
}

function fault(code: string, message: string, remedy: string): Problem {
  return { code, message, remedy }
}
