/**
 * `@Field`: declares a property once, for checks, documentation, GraphQL and the table. Source: public face, Records.
 */
import {
  decorate,
  isClass,
  toDecorator,
  type AnyDecorator,
  type DecoratorTarget,
} from '../metadata/dialect.js'
import {
  createClassMetadata,
  createMemberMetadata,
  type Class,
} from '../metadata/class-metadata.js'
import { hideFromJson } from './json-form.js'
import type { KindName } from './kinds/table.js'
import type { FieldRules } from './rules.js'

/** A class named before it is defined, or the class itself; in brackets a list of it. */
export type FieldClass = (() => Class | readonly [Class]) | Class

/** What one `@Field` said, unjudged: `readShape` reads it at bootstrap and reports what is wrong with it. */
export interface FieldMetadata {
  /** `undefined` for a bare `@Field()`, whose kind the compiler may have emitted. */
  readonly kind: string | FieldClass | undefined
  readonly rules: Readonly<Record<string, unknown>>
}

/** One note per property, inherited; a subclass's note replaces its base's completely. */
export const fieldMetadata = createMemberMetadata<FieldMetadata>('field')

/**
 * True on a class whose `id` is given by the database: the key is then read-only, no client's input may name it.
 * Written by `@Record`.
 */
export const generatedKey = createClassMetadata<boolean>('given key')

/** The class that another was made of by `pick`, `omit` or `partial`: faults of its fields are told once, as that one's. */
export const derivedFrom = createClassMetadata<Class>('made of')

/** True on a field with `@Secured`: messages do not suggest its name. Classes that are made of others have it too. */
export const securedField = createMemberMetadata<true>('secured field')

/** True on a class of changes: its rules about the whole object run elsewhere, on the row as it will be. */
export const skipsObjectRules = createClassMetadata<boolean>('own rules only')

/**
 * Describes a property.
 *
 * ```ts
 * class Order {
 *   @Field('string', { maxLength: 80 }) customer!: string
 *   @Field(() => Line, { list: true, minItems: 1 }) lines!: Line[]
 *   @Field('datetime', { default: 'now', readOnly: true }) placedAt!: string
 *   @Field() note!: string                    // only where the compiler emits types; else a fault at bootstrap
 * }
 * ```
 *
 * Faults (an unknown kind, a misspelt rule, a rule that means nothing for the kind) are reported by bootstrap, all
 * together, each naming class and property.
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

/** Writes the note that `@Field` writes, for decorators that add fields of their own (relations). */
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
 * By the nearest class's note: a subclass may show what its base hides. Asked for when the first instance is sent, long
 * after the last decorator ran.
 */
function hiddenMembers(type: Class): ReadonlySet<string> {
  const cached = hiddenByClass.get(type)
  if (cached !== undefined) return cached
  const hidden = [...fieldMetadata.readAll(type)].filter(([, { rules }]) => rules.hidden === true)
  const members = new Set(hidden.map(([member]) => member))
  hiddenByClass.set(type, members)
  return members
}
