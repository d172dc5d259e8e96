/** The frozen description of a class: checks, schemas, GraphQL types and tables are all made from it. Source: architecture, The house. */
import { addProblems, DeclarationError, type Problem } from '../errors/declaration-error.js'
import { emittedFieldType } from '../metadata/dialect.js'
import { lineage, type Class } from '../metadata/class-metadata.js'
import { findTransformerProblems, transformedType } from './class-transformer.js'
import { readConstraints, type Constraint } from './class-validator.js'
import { meaningOf } from './constraint-meaning.js'
import { fieldNotes, givenKey, madeOf, type FieldNote, type TypeOf } from './field.js'
import { judgeField } from './field-faults.js'
import { initialValues } from './instance.js'
import { kindOf, type KindName } from './kinds/table.js'
import type { Kind } from './kinds/kind.js'
import { isApplicationClass, resolveType } from './type-of.js'
import type { FieldRules } from './rules.js'

/** A class, described. The same object for every reading of the same class. */
export interface Shape<T extends object = object> {
  readonly type: Class<T>
  /** The class's name: of the OpenAPI component, of the GraphQL type. */
  readonly name: string
  /** In the order of declaration, a base's first. */
  readonly fields: readonly ShapeField[]
  readonly byName: ReadonlyMap<string, ShapeField>
  /** The field of kind `id`, where there is one. */
  readonly key: ShapeField | undefined
}

/** A property, described. */
export interface ShapeField {
  readonly name: string
  /** `json` for nested classes, and where class-validator's rules alone leave the kind open. */
  readonly kind: KindName
  /** The kind's entry, as the field's rules make it: storage class, GraphQL form, JSON Schema, tests. */
  readonly entry: Kind
  /** The nested class. Lazy: first asked for once every module is loaded. */
  readonly nested: (() => Class) | undefined
  readonly list: boolean
  /** The key may be absent (declared so, or it has a default). */
  readonly optional: boolean
  readonly nullable: boolean
  readonly readOnly: boolean
  readonly hidden: boolean
  /** Every rule known of the value, class-validator's in `@Field`'s words included. Use it to describe, not to check. */
  readonly rules: Readonly<FieldRules>
  /**
   * The rules of `@Field` itself; `undefined` for a property that only class-validator knows, whose kind is a guess and
   * not enforced.
   */
  readonly declared: Readonly<FieldRules> | undefined
  /** class-validator's rules, in its order. */
  readonly constraints: readonly Constraint[]
}

interface ShapeReading {
  readonly shape: Shape
  readonly problems: Problem[]
}

const readings = new WeakMap<Class, ShapeReading>()

/**
 * Describes a class once, from `@Field`, class-validator or both. A class without either has no fields.
 *
 * @param problems gets the class's faults, each once; without it they are thrown
 * @throws {DeclarationError} the class has faults and nobody collects them
 */
export function readShape<T extends object>(type: Class<T>, problems?: Problem[]): Shape<T> {
  let reading = readings.get(type)
  if (reading === undefined) {
    reading = read(type)
    readings.set(type, reading)
  }
  if (problems === undefined) {
    if (reading.problems.length > 0) throw new DeclarationError(reading.problems)
  } else addProblems(reading.problems, problems)
  return reading.shape as Shape<T>
}

function read(type: Class): ShapeReading {
  const problems: Problem[] = []
  const constraints = readConstraints(type)
  const notes = fieldNotes.readAll(type)
  const initial = initialValues(type)
  const fields: ShapeField[] = []
  for (const name of new Set([...notes.keys(), ...constraints.keys()])) {
    const given: DeclaredField = {
      type,
      name,
      note: notes.get(name),
      constraints: constraints.get(name) ?? [],
      initial: initial?.[name],
    }
    const field = toField(given, problems)
    if (field !== undefined) fields.push(field)
  }
  findTransformerProblems(type, fields, problems)
  const shape: Shape = Object.freeze({
    type,
    name: type.name,
    fields: Object.freeze(fields),
    byName: new Map(fields.map((field) => [field.name, field])),
    key: fields.find(({ kind }) => kind === 'id'),
  })
  return { shape, problems }
}

interface DeclaredField {
  readonly type: Class
  readonly name: string
  readonly note: FieldNote | undefined
  readonly constraints: readonly Constraint[]
  readonly initial: unknown
}

/** The class that people have written the field into. */
function declarerOf(type: Class, name: string): Class {
  if (madeOf.read(type) === undefined) return type
  const note = fieldNotes.read(type, name)
  const isIts = (made: Class): boolean => note !== undefined && fieldNotes.read(made, name) === note
  const made = lineage(type).find((one) => madeOf.readOwn(one) !== undefined && isIts(one))
  const source = made && madeOf.readOwn(made)
  return source === undefined ? type : declarerOf(source, name)
}

/** The field as messages name it, by the class that declares it: `Order.lines`. */
export function fieldName(type: Class, name: string): string {
  return `${declarerOf(type, name).name}.${name}`
}

function toField(given: DeclaredField, problems: Problem[]): ShapeField | undefined {
  const { type, name, note, constraints } = given
  const where = fieldName(type, name)
  const emitted = emittedFieldType(type, name)
  const typed = (): ReturnType<typeof transformedType> => transformedType(type, name)
  const judged = judgeField({ where, note, constraints, emitted, typed }, problems)
  if (judged === undefined) return undefined
  const meaning = meaningOf(constraints)
  const kind = judged.kind ?? meaning.kind ?? guessKind(emitted)
  const declared = note === undefined ? undefined : Object.freeze({ ...judged.rules } as FieldRules)
  const rules = { ...withoutUndefined(meaning.rules), ...withoutUndefined(declared) }
  if (rules.default === undefined && given.initial !== undefined) rules.default = given.initial
  return Object.freeze({
    name,
    kind,
    entry: kindOf(kind, rules),
    nested: judged.nested && lazily(judged.nested, where),
    list: judged.list || rules.list === true || (note === undefined && emitted === Array),
    optional: isOptional(given, rules, meaning.rules),
    nullable: rules.nullable === true || meaning.rules?.nullable === true,
    readOnly:
      rules.readOnly === true ||
      rules.writes === false ||
      (kind === 'id' && givenKey.read(type) === true) ||
      hasNoSetter(type, name),
    hidden: rules.hidden === true,
    rules: Object.freeze(rules),
    declared,
    constraints: Object.freeze(constraints),
  })
}

/**
 * Conditions of class-validator make the key optional whatever other rules there are; `@Allow` alone requires nothing.
 */
function isOptional(given: DeclaredField, rules: FieldRules, meaning: FieldRules = {}): boolean {
  if (rules.optional === true || meaning.optional === true || rules.default !== undefined)
    return true
  return (
    given.note === undefined &&
    given.constraints.every(({ name }) => name === 'whitelistValidation')
  )
}

function guessKind(emitted: unknown): KindName {
  if (emitted === String) return 'string'
  if (emitted === Number) return 'numeric'
  if (emitted === Boolean) return 'boolean'
  return emitted === Date ? 'datetime' : 'json'
}

function withoutUndefined(rules: FieldRules | undefined): FieldRules {
  return Object.fromEntries(Object.entries(rules ?? {}).filter(([, value]) => value !== undefined))
}

function lazily(typeOf: TypeOf, where: string): () => Class {
  let resolved: Class | undefined
  return () => {
    resolved ??= resolveType(typeOf)?.type
    if (resolved !== undefined && isApplicationClass(resolved)) return resolved
    const message = `${where}: its thunk names no class.`
    const remedy = 'Write @Field(() => Line) with a class, or the name of a kind.'
    throw new DeclarationError([{ code: 'FIELD_THUNK', message, remedy }])
  }
}

/** A getter without a setter is only for output. */
function hasNoSetter(type: Class, name: string): boolean {
  for (const owner of lineage(type).reverse()) {
    const accessor = Object.getOwnPropertyDescriptor(owner.prototype as object, name)
    if (accessor !== undefined) return accessor.get !== undefined && accessor.set === undefined
  }
  return false
}
