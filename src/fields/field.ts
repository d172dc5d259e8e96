/**
 * `@Field`: declares a property once, for checks, documentation, GraphQL and the table. Source: public API, Records.
 */
import { type Class, isClass } from '../metadata/class.js'
import { createClassMetadata, createMemberMetadata } from '../metadata/class-metadata.js'
import {
  decorate,
  toDecorator,
  type AnyDecorator,
  type DecoratorTarget,
} from '../metadata/dialect.js'
import type { KindName } from './kinds/table.js'
import type {
  ClassValue,
  FieldDecorator,
  KindValue,
  TypeName,
  TypeRules,
} from './property-types.js'
import type { FieldRules } from './rules.js'

/**
 * Adds a `toJSON` to the class that omits `hiddenMembers`, unless the class has a `toJSON`. As a method of the class it also
 * works in lists, nested objects, handlers without `returns`, events and logs. A copy (`{ ...user }`) is not an instance and
 * contains all members.
 */
function hideFromJson(owner: Class, hiddenMembers: (type: Class) => ReadonlySet<string>): void {
  const prototype = owner.prototype as { toJSON?: unknown }
  if (typeof prototype.toJSON === 'function') return
  Object.defineProperty(prototype, 'toJSON', {
    configurable: true,
    writable: true,
    value: function (this: object): object {
      const hidden = hiddenMembers(this.constructor as Class)
      return Object.fromEntries(Object.entries(this).filter(([name]) => !hidden.has(name)))
    },
  })
}

/** A class, or a thunk of a class that may be defined later. In brackets: a list of it. */
export type FieldClass = (() => Class | readonly [Class]) | Class

/** The unchecked arguments of `@Field`. `readShape` checks them at bootstrap. */
export interface FieldMetadata {
  /** `undefined` for a bare `@Field()`, whose kind the compiler may have emitted. */
  readonly kind: string | FieldClass | undefined
  readonly rules: Readonly<Record<string, unknown>>
}

/** One entry for each property. A subclass inherits entries, and its own entry replaces the inherited one completely. */
export const fieldMetadata = createMemberMetadata<FieldMetadata>('field')

/**
 * True for a class with `@Record`, and for the classes made from it by `pick`, `omit` or `partial`. A key of kind `id` is
 * generated and read-only there: inputs of clients must not contain it.
 */
export const recordClass = createClassMetadata<boolean>('record class')

/**
 * The class from which `pick`, `omit` or `partial` created this one. Problems of fields are reported only for the original
 * class.
 */
export const derivedFrom = createClassMetadata<Class>('made of')

/** True for a field with `@Secured`, also in derived classes. Messages do not suggest its name. */
export const securedField = createMemberMetadata<true>('secured field')

/** True for the changes of a record: rules about the complete object check the row after the change instead. */
export const skipsObjectRules = createClassMetadata<boolean>('own rules only')

// eslint-disable-next-line @typescript-eslint/no-explicit-any -- a decorator may return it, and it can be called
type NoSecondError = any

/**
 * Describes a property.
 *
 * ```ts
 * class Order {
 *   @Field('string', { maxLength: 80 }) customer!: string
 *   @Field(() => Line, { list: true, minItems: 1 }) lines!: Line[]
 *   @Field('datetime', { default: 'now', readOnly: true }) placedAt!: string
 *   @Field() note!: string                    // only where the compiler emits types; else an error at bootstrap
 * }
 * ```
 *
 * Bootstrap reports all problems together, each with its class and property: unknown kinds, misspelt rules, rules that do
 * not apply to the kind.
 *
 * @param kind the name of a kind, or a thunk of a class, so that files may import each other
 * @param rules without rules, the value is required and must not be null
 */
// Where more than three overloads take the number of arguments, the compiler names the reasons of the last one only. It
// continues with the result of the first one, which must not be a second error. The last overload is there for these reasons.
export function Field(rules?: FieldRules): AnyDecorator
export function Field(target: object, member: string | symbol): NoSecondError
export function Field(value: unknown, context: DecoratorContext): NoSecondError
export function Field<
  Declared extends Class | (() => Class | readonly Class[]),
  List extends boolean | undefined = false,
  Nullable extends boolean | undefined = false,
>(
  kind: Declared,
  rules?: FieldRules & TypeRules<List, Nullable>,
): FieldDecorator<{
  value: ClassValue<Declared>
  words: List extends true ? 'a list of the class' : 'the class of the field'
  list: List
  nullable: Nullable
}>
export function Field<
  Kind extends KindName,
  List extends boolean | undefined = false,
  Nullable extends boolean | undefined = false,
>(
  kind: Kind,
  rules?: FieldRules & TypeRules<List, Nullable>,
): FieldDecorator<{
  value: KindValue<Kind>
  words: List extends true ? `a list of ${TypeName<Kind>}` : TypeName<Kind>
  list: List
  nullable: Nullable
}>
export function Field(kindOrRules: KindName | FieldRules): AnyDecorator
export function Field(...args: unknown[]): AnyDecorator | undefined {
  // A class alone is `@Field(Line)`, not a decorated class.
  const isBare =
    !(args.length === 1 && isClass(args[0])) &&
    decorate(args, (target) => {
      writeMetadata(target, { kind: undefined, rules: {} })
    })
  if (isBare) return undefined
  const [first, second] = args
  const hasKind = typeof first === 'string' || typeof first === 'function'
  const rules = { ...((hasKind ? second : first) as object | undefined) } as FieldMetadata['rules']
  const kind = hasKind ? (first as string | FieldClass) : undefined
  return toDecorator((target) => {
    writeMetadata(target, { kind, rules })
  })
}

/** Writes the metadata of `@Field`, for other decorators that add fields, such as relations. */
export function writeFieldMetadata(owner: Class, member: string, value: FieldMetadata): void {
  fieldMetadata.write(owner, member, value)
  if (value.rules.hidden === true) hideFromJson(owner, hiddenMembers)
}

function writeMetadata(target: DecoratorTarget, value: FieldMetadata): void {
  if (target.kind !== 'field' || target.isStatic || target.member === undefined) {
    throw new TypeError(`${target.owner.name}: @Field can only be used on an instance property.`)
  }
  writeFieldMetadata(target.owner, target.member, value)
}

const hiddenByClass = new WeakMap<Class, ReadonlySet<string>>()

/**
 * Includes the metadata of subclasses, which may show a field that the base class hides. Called when the first instance is
 * sent, after all decorators ran.
 */
function hiddenMembers(type: Class): ReadonlySet<string> {
  const cached = hiddenByClass.get(type)
  if (cached !== undefined) return cached
  const hidden = [...fieldMetadata.readAll(type)].filter(([, { rules }]) => rules.hidden === true)
  const members = new Set(hidden.map(([member]) => member))
  hiddenByClass.set(type, members)
  return members
}

export interface DeclaredType {
  readonly type: Class
  readonly list: boolean
}

/**
 * Call it after all modules are loaded.
 *
 * @param declared any value, because programs without types may declare anything
 * @returns `undefined` if the value leads to no class, for example a thunk of something undefined
 */
export function resolveType(declared: unknown): DeclaredType | undefined {
  const resolved = resolveThunk(declared)
  const list = Array.isArray(resolved)
  const type = list && resolved.length === 1 ? resolveThunk((resolved as unknown[])[0]) : resolved
  return isClass(type) ? { type, list } : undefined
}

function resolveThunk(declared: unknown): unknown {
  const isThunk = typeof declared === 'function' && !isClass(declared)
  return isThunk ? (declared as () => unknown)() : declared
}

/**
 * False for built-in classes such as `String`, `Object`, `Array` and `Promise`, which compilers emit for other types.
 */
export function isApplicationClass(type: unknown): type is Class {
  return isClass(type) && !builtIn.has(type)
}

const builtIn: ReadonlySet<unknown> = new Set<unknown>([
  String,
  Number,
  Boolean,
  Object,
  Array,
  Date,
  Function,
  Symbol,
  BigInt,
  Promise,
  RegExp,
  Map,
  Set,
  WeakMap,
  WeakSet,
  Error,
  ArrayBuffer,
  Uint8Array,
  Buffer,
  URL,
])
