/** Describes class-validator's rules as rules of `@Field`, for documentation and for reading text. */
import type { Constraint } from './class-validator.js'
import { enumValues } from './constraint-runner.js'
import type { KindName } from './kinds/table.js'
import type { FieldRules } from './rules.js'

export interface DescribedRules {
  kind?: KindName
  rules?: FieldRules
}

/** Describes all rules of a property together. Checks do not use the description. */
export function describeConstraints(constraints: readonly Constraint[]): DescribedRules {
  let kind: KindName | undefined
  const rules: FieldRules = {}
  for (const constraint of constraints) {
    const described = describers[constraint.name]?.(constraint.args)
    // The first rule that implies a kind determines it, except that isInt narrows isNumber, min and max.
    if (described?.kind === 'integer' || kind === undefined) kind = described?.kind ?? kind
    Object.assign(rules, described?.rules, constraint.each ? { list: true } : undefined)
  }
  if (constraints.some(({ metadata }) => metadata.type === 'conditionalValidation'))
    rules.optional = true
  if (constraints.some(({ name }) => name === 'isOptional')) rules.nullable = true
  return { kind, rules }
}

type Describer = (args: readonly unknown[]) => DescribedRules

const number = (rules: FieldRules = {}): DescribedRules => ({ kind: 'numeric', rules })
const text = (rules: FieldRules = {}): DescribedRules => ({ kind: 'string', rules })
const list = (rules: FieldRules = {}): DescribedRules => ({ rules: { list: true, ...rules } })
const literals = (values: unknown): DescribedRules => {
  const allowed = (Array.isArray(values) ? values : []).filter(isLiteral)
  if (allowed.length === 0) return {}
  const kind = allowed.every((value) => typeof value === 'string')
    ? 'string'
    : allowed.every((value) => typeof value === 'number')
      ? 'numeric'
      : undefined
  return { kind, rules: { oneOf: allowed } }
}

function isLiteral(value: unknown): value is string | number | boolean {
  return ['string', 'number', 'boolean'].includes(typeof value)
}

function asNumber(value: unknown): number | undefined {
  return typeof value === 'number' ? value : undefined
}

const describers: Readonly<Record<string, Describer | undefined>> = {
  isString: () => text(),
  isInt: () => ({ kind: 'integer' }),
  isNumber: () => number(),
  isPositive: () => number(),
  isNegative: () => number({ max: 0 }),
  isDivisibleBy: () => number(),
  min: ([min]) => number({ min: asNumber(min) }),
  max: ([max]) => number({ max: asNumber(max) }),
  isBoolean: () => ({ kind: 'boolean' }),
  isDate: () => ({ kind: 'datetime' }),
  minDate: () => ({ kind: 'datetime' }),
  maxDate: () => ({ kind: 'datetime' }),
  isDateString: () => text({ format: 'date-time' }),
  isIso8601: () => text({ format: 'date-time' }),
  isRFC3339: () => text({ format: 'date-time' }),
  isEmail: () => text({ format: 'email' }),
  isUrl: () => text({ format: 'url' }),
  isUuid: () => text({ format: 'uuid' }),
  isFqdn: () => text({ format: 'hostname' }),
  minLength: ([min]) => text({ minLength: asNumber(min) }),
  maxLength: ([max]) => text({ maxLength: asNumber(max) }),
  isLength: ([min, max]) => text({ minLength: asNumber(min), maxLength: asNumber(max) }),
  matches: ([pattern]) =>
    text(pattern instanceof RegExp || typeof pattern === 'string' ? { pattern } : {}),
  isIn: ([values]) => literals(values),
  isEnum: ([entity]) => literals(enumValues(entity)),
  isArray: () => list(),
  arrayContains: () => list(),
  arrayNotContains: () => list(),
  arrayUnique: () => list(),
  arrayNotEmpty: () => list({ minItems: 1 }),
  arrayMinSize: ([min]) => list({ minItems: asNumber(min) }),
  arrayMaxSize: ([max]) => list({ maxItems: asNumber(max) }),
  isObject: () => ({ kind: 'json' }),
  isNotEmptyObject: () => ({ kind: 'json' }),
}
