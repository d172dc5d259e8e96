/**
 * `@Field`: declares a property once, for checks, documentation, GraphQL and the table. Source: public API, Records.
 */
import {
  type Class,
  createClassMetadata,
  createMemberMetadata,
} from '../metadata/class-metadata.js'
import {
  decorate,
  isClass,
  toDecorator,
  type AnyDecorator,
  type DecoratorTarget,
} from '../metadata/dialect.js'
import type { KindName } from './kinds/table.js'
import type { FieldRules } from './rules.js'

/**
 * Hides fields from the JSON of a class: gives the class a `toJSON` that leaves out `hiddenMembers`, unless the class
 * has one.
 *
 * It is a method of the class, so it works everywhere: in lists, in other objects, in handlers without `returns`, in
 * events and logs. A copy (`{ ...user }`) is not an instance and contains everything.
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

/** A class named before it is defined, or the class itself; in brackets a list of it. */
export type FieldClass = (() => Class | readonly [Class]) | Class

/** The arguments of one `@Field`, not yet checked: `readShape` reads them at bootstrap and reports problems. */
export interface FieldMetadata {
  /** `undefined` for a bare `@Field()`, whose kind the compiler may have emitted. */
  readonly kind: string | FieldClass | undefined
  readonly rules: Readonly<Record<string, unknown>>
}

/** One entry per property, inherited; a subclass's entry replaces its base's completely. */
export const fieldMetadata = createMemberMetadata<FieldMetadata>('field')

/**
 * True for a class whose `id` the database generates: the key is then read-only, and no client's input may contain it.
 * Written by `@Record`.
 */
export const generatedKey = createClassMetadata<boolean>('given key')

/**
 * The class from which `pick`, `omit` or `partial` created this one. Problems of its fields are reported once, for the
 * original class.
 */
export const derivedFrom = createClassMetadata<Class>('made of')

/** True for a field with `@Secured`: messages do not suggest its name. Derived classes have it too. */
export const securedField = createMemberMetadata<true>('secured field')

/** True for a class of changes: rules about the whole object run elsewhere, on the row after the change. */
export const skipsObjectRules = createClassMetadata<boolean>('own rules only')

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
 * Bootstrap reports all problems together (an unknown kind, a misspelt rule, a rule that means nothing for the kind),
 * each with class and property.
 *
 * @param kind a kind's name, or a thunk naming a class: thunks let files import each other in a circle
 * @param rules further rules; without any, the value is required and must not be null
 */
export function Field(kind: KindName | FieldClass, rules?: FieldRules): AnyDecorator
export function Field(rules?: FieldRules): AnyDecorator
export function Field(target: object, member: string | symbol): void
export function Field(value: unknown, context: DecoratorContext): void
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

/** Writes the metadata of `@Field`, for decorators that add fields of their own (relations). */
export function writeFieldMetadata(owner: Class, member: string, value: FieldMetadata): void {
  fieldMetadata.write(owner, member, value)
  if (value.rules.hidden === true) hideFromJson(owner, hiddenMembers)
}

function writeMetadata(target: DecoratorTarget, value: FieldMetadata): void {
  if (target.kind !== 'field' || target.isStatic || target.member === undefined) {
    throw new TypeError(`${target.owner.name}: @Field belongs before a property of instances.`)
  }
  writeFieldMetadata(target.owner, target.member, value)
}

const hiddenByClass = new WeakMap<Class, ReadonlySet<string>>()

/**
 * Uses the nearest class's metadata: a subclass may show a field that its base hides. Called when the first instance is
 * sent, long after the last decorator ran.
 */
function hiddenMembers(type: Class): ReadonlySet<string> {
  const cached = hiddenByClass.get(type)
  if (cached !== undefined) return cached
  const hidden = [...fieldMetadata.readAll(type)].filter(([, { rules }]) => rules.hidden === true)
  const members = new Set(hidden.map(([member]) => member))
  hiddenByClass.set(type, members)
  return members
}
