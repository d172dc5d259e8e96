/**
 * Reads the rules that class-validator's decorators have stored, and describes them as rules of `@Field`. Nothing is imported: the package puts its storage on
 * `globalThis` (its src/metadata/MetadataStorage.ts), so any copy of the package works, and applications without it pay
 * nothing.
 */
import type { Class } from '../metadata/class.js'
import type { KindName } from './kinds/table.js'
import type { FieldRules } from './rules.js'

/** The metadata of one class-validator decorator: the members that are used. */
export interface ValidatorMetadata {
  readonly type: string
  readonly name?: string
  readonly target: unknown
  readonly propertyName: string
  readonly constraintCls?: unknown
  readonly constraints?: readonly unknown[]
  readonly message?: string | ((args: ValidatorArguments) => string)
  readonly each?: boolean
  readonly validateIf?: (object: unknown, value: unknown) => boolean
}

/** The arguments that a constraint is called with. */
export interface ValidatorArguments {
  readonly targetName: string | undefined
  readonly property: string
  readonly object: unknown
  readonly value: unknown
  readonly constraints: readonly unknown[] | undefined
}

/** The object that checks a rule, created by class-validator or by its container. */
export interface ValidatorConstraint {
  readonly name?: string
  readonly async?: boolean
  readonly instance: {
    validate(value: unknown, args: ValidatorArguments): unknown
    defaultMessage?: (args: ValidatorArguments) => string
  }
}

interface ValidatorStorage {
  getTargetValidationMetadatas(
    target: Class,
    schema: string,
    always: boolean,
    strictGroups: boolean,
    groups?: readonly string[],
  ): ValidatorMetadata[]
  getTargetValidatorConstraints(target: unknown): ValidatorConstraint[]
  addValidationMetadata(metadata: ValidatorMetadata): void
}

/** One class-validator rule of a property, e.g. `{ name: 'min', args: [0], each: false }`. */
export interface Constraint {
  /** The constraint's name, or `nestedValidation`, `conditionalValidation`, `isOptional`, `isDefined`, `whitelistValidation`. */
  readonly name: string
  readonly args: readonly unknown[]
  readonly each: boolean
  readonly metadata: ValidatorMetadata
}

/**
 * Reads the rules of a class by property, including inherited ones, in class-validator's order.
 *
 * @param groups only rules of these groups. Default: all rules, as `validate()` does
 */
export function readConstraints(
  owner: Class,
  groups?: readonly string[],
): ReadonlyMap<string, readonly Constraint[]> {
  const byProperty = new Map<string, Constraint[]>()
  for (const metadata of storage()?.getTargetValidationMetadatas(owner, '', false, false, groups) ??
    []) {
    const list = byProperty.get(metadata.propertyName) ?? []
    list.push({
      name: metadata.name ?? constraintsOf(metadata)[0]?.name ?? metadata.type,
      args: metadata.constraints ?? [],
      each: metadata.each === true,
      metadata,
    })
    byProperty.set(metadata.propertyName, list)
  }
  return byProperty
}

/** The objects that check a rule: one for rules about a value, none for conditions and nesting. */
export function constraintsOf(metadata: ValidatorMetadata): readonly ValidatorConstraint[] {
  return storage()?.getTargetValidatorConstraints(metadata.constraintCls) ?? []
}

/** Copies a rule to another class. Only the target of the metadata changes. */
export function addConstraint(owner: Class, metadata: ValidatorMetadata): void {
  const copy = Object.create(Object.getPrototypeOf(metadata) as object) as ValidatorMetadata
  storage()?.addValidationMetadata(Object.assign(copy, metadata, { target: owner }))
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

/** A condition for `@ValidateIf`: values that were not sent are not checked. `partial` adds it to every property. */
export function isSent(_object: unknown, value: unknown): boolean {
  return value !== undefined
}

function storage(): ValidatorStorage | undefined {
  return (globalThis as { classValidatorMetadataStorage?: ValidatorStorage })
    .classValidatorMetadataStorage
}

interface DescribedRules {
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
