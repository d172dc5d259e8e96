/**
 * The shape of a class: the frozen description of its fields, from which checks, schemas, GraphQL types and tables are
 * created. Source: architecture.
 */
import { DeclarationError } from '../errors/declaration-error.js'
import { Problems } from '../errors/problems.js'
import { emittedFieldType } from '../metadata/dialect.js'
import { lineage, type Class } from '../metadata/class.js'
import { findTransformerProblems, transformedType } from './class-transformer.js'
import { readConstraints, type Constraint, describeConstraints } from './class-validator.js'
import {
  fieldMetadata,
  recordClass,
  derivedFrom,
  type FieldMetadata,
  type FieldClass,
  isApplicationClass,
  resolveType,
} from './field.js'
import { checkDeclaration } from './field-declaration.js'
import { initialValues } from './instance.js'
import { kindOf, type KindName } from './kinds/table.js'
import type { Kind } from './kinds/kind.js'
import { readMessages, type RuleMessages } from './messages.js'
import type { FieldRules } from './rules.js'

/**
 * @returns undefined for fields that are not a relation to many rows, and if the class has its own member of that name
 */
export function relationCountName(
  { byName, type }: Pick<Shape, 'byName' | 'type'>,
  { name, list, rules }: ShapeField,
): string | undefined {
  if (!list || rules.relation !== true) return undefined
  const count = `${name}Count`
  return byName.has(count) || count in (type.prototype as object) ? undefined : count
}

/** The fields of a class. Always the same object for the same class. */
export interface Shape<T extends object = object> {
  readonly type: Class<T>
  /** The class's name, which is also the name of the OpenAPI component and of the GraphQL type. */
  readonly name: string
  /** In the order of declaration, starting with the base class. */
  readonly fields: readonly ShapeField[]
  readonly byName: ReadonlyMap<string, ShapeField>
  /** The field of kind `id`, if there is one. */
  readonly key: ShapeField | undefined
  /** Whether its instances are rows: it has such a field, or it is made from a class with `@Record`. */
  readonly isRecord: boolean
}

/** The description of a property. */
export interface ShapeField {
  readonly name: string
  /** `json` for nested classes, and if class-validator's rules do not determine the kind. */
  readonly kind: KindName
  /** The kind with the field's rules: storage class, GraphQL form, JSON Schema, tests. */
  readonly entry: Kind
  /** Returns the nested class. Call it after all modules are loaded. */
  readonly nested: (() => Class) | undefined
  readonly list: boolean
  /** The key may be absent: it is declared as optional or has a default. */
  readonly optional: boolean
  readonly nullable: boolean
  readonly readOnly: boolean
  readonly hidden: boolean
  /** All rules, including class-validator's as rules of `@Field`. For descriptions, not for checks. */
  readonly rules: Readonly<FieldRules>
  /**
   * The rules of `@Field`. Undefined for a property with class-validator's decorators only, whose kind is a guess that is not
   * checked.
   */
  readonly declared: Readonly<FieldRules> | undefined
  /** The application's own words for rules of `@Field`. */
  readonly messages: RuleMessages
  /** class-validator's rules, in its order. */
  readonly constraints: readonly Constraint[]
}

interface ShapeReading {
  readonly shape: Shape
  readonly problems: Problems
}

const readings = new WeakMap<Class, ShapeReading>()

/**
 * Reads the decorators of `@Field` and class-validator once for each class. A class without them has no fields.
 *
 * @param problems receives the problems of the class, each once. Default: they are thrown
 * @throws {DeclarationError} the class has problems, and `problems` is not set
 */
export function readShape<T extends object>(type: Class<T>, problems?: Problems): Shape<T> {
  let reading = readings.get(type)
  if (reading === undefined) {
    reading = read(type)
    readings.set(type, reading)
  }
  if (problems === undefined) {
    reading.problems.throwIfAny()
  } else problems.addAll(reading.problems.list)
  return reading.shape as Shape<T>
}

/** The shape of a class whose problems are reported elsewhere, such as a class of a route. */
export function shapeOf<T extends object>(type: Class<T>): Shape<T> {
  return readShape(type, new Problems())
}

function read(type: Class): ShapeReading {
  const problems = new Problems()
  const constraints = readConstraints(type)
  const metadata = fieldMetadata.readAll(type)
  const initial = initialValues(type)
  const fields: ShapeField[] = []
  for (const name of new Set([...metadata.keys(), ...constraints.keys()])) {
    const declaration: DeclaredField = {
      type,
      name,
      metadata: metadata.get(name),
      constraints: constraints.get(name) ?? [],
      initial: initial?.[name],
    }
    const field = toField(declaration, problems)
    if (field !== undefined) fields.push(field)
  }
  findTransformerProblems(type, fields, problems)
  const key = fields.find(({ kind }) => kind === 'id')
  const shape: Shape = Object.freeze({
    type,
    name: type.name,
    fields: Object.freeze(fields),
    byName: new Map(fields.map((field) => [field.name, field])),
    key,
    isRecord: key !== undefined || recordClass.read(type) === true,
  })
  return { shape, problems }
}

interface DeclaredField {
  readonly type: Class
  readonly name: string
  readonly metadata: FieldMetadata | undefined
  readonly constraints: readonly Constraint[]
  readonly initial: unknown
}

/** The class in whose source the field is written, for messages. */
function declaringClassOf(type: Class, name: string): Class {
  if (derivedFrom.read(type) === undefined) return type
  const metadata = fieldMetadata.read(type, name)
  const hasSameMetadata = (derived: Class): boolean =>
    metadata !== undefined && fieldMetadata.read(derived, name) === metadata
  const derived = lineage(type).find(
    (one) => derivedFrom.readOwn(one) !== undefined && hasSameMetadata(one),
  )
  const source = derived && derivedFrom.readOwn(derived)
  return source === undefined ? type : declaringClassOf(source, name)
}

/** The name of the field in messages, with the class that declares it: `Order.lines`. */
export function fieldName(type: Class, name: string): string {
  return `${declaringClassOf(type, name).name}.${name}`
}

function toField(declaration: DeclaredField, problems: Problems): ShapeField | undefined {
  const { type, name, metadata, constraints } = declaration
  const where = fieldName(type, name)
  const emittedType = emittedFieldType(type, name)
  const transformerType = (): ReturnType<typeof transformedType> => transformedType(type, name)
  const checked = checkDeclaration(
    { name, metadata, constraints, emittedType, transformerType },
    problems.at(where),
  )
  if (checked === undefined) return undefined
  const described = describeConstraints(constraints)
  const kind = checked.kind ?? described.kind ?? guessKind(emittedType)
  const declared =
    metadata === undefined ? undefined : Object.freeze({ ...checked.rules } as FieldRules)
  const rules = { ...withoutUndefined(described.rules), ...withoutUndefined(declared) }
  if (rules.default === undefined && declaration.initial !== undefined)
    rules.default = declaration.initial
  return Object.freeze({
    name,
    kind,
    entry: kindOf(kind, rules),
    nested: checked.nested && lazyClass(checked.nested, where),
    list: checked.list || rules.list === true || (metadata === undefined && emittedType === Array),
    optional: isOptional(declaration, rules, described.rules),
    nullable: rules.nullable === true || described.rules?.nullable === true,
    readOnly:
      rules.readOnly === true ||
      rules.writes === false ||
      rules.generated === true ||
      (kind === 'id' && recordClass.read(type) === true) ||
      hasNoSetter(type, name),
    hidden: rules.hidden === true,
    rules: Object.freeze(rules),
    declared,
    messages: readMessages(
      checked.nested === undefined ? kind : 'object',
      checked.rules,
      problems.at(where),
    ),
    constraints: Object.freeze(constraints),
  })
}

/**
 * Conditions of class-validator make the key optional whatever the other rules are. `@Allow` alone requires nothing.
 */
function isOptional(
  declaration: DeclaredField,
  rules: FieldRules,
  described: FieldRules = {},
): boolean {
  if (rules.optional === true || described.optional === true || rules.default !== undefined)
    return true
  return (
    declaration.metadata === undefined &&
    declaration.constraints.every(({ name }) => name === 'whitelistValidation')
  )
}

function guessKind(emittedType: unknown): KindName {
  if (emittedType === String) return 'string'
  if (emittedType === Number) return 'numeric'
  if (emittedType === Boolean) return 'boolean'
  return emittedType === Date ? 'datetime' : 'json'
}

function withoutUndefined(rules: FieldRules | undefined): FieldRules {
  return Object.fromEntries(Object.entries(rules ?? {}).filter(([, value]) => value !== undefined))
}

function lazyClass(reference: FieldClass, where: string): () => Class {
  let resolved: Class | undefined
  return () => {
    resolved ??= resolveType(reference)?.type
    if (resolved !== undefined && isApplicationClass(resolved)) return resolved
    const message = `${where}: its thunk names no class.`
    const remedy = 'Write @Field(() => Line) with a class, or the name of a kind.'
    throw new DeclarationError([{ code: 'FIELD_THUNK', message, remedy }])
  }
}

/** Whether the property is a getter without a setter, which is read-only. */
function hasNoSetter(type: Class, name: string): boolean {
  for (const owner of lineage(type).reverse()) {
    const accessor = Object.getOwnPropertyDescriptor(owner.prototype as object, name)
    if (accessor !== undefined) return accessor.get !== undefined && accessor.set === undefined
  }
  return false
}
