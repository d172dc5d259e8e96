/**
 * Compares the kind of a field with the type of its property, when the program is compiled. A wrong type is an error at the
 * decorator. It costs nothing at run time.
 */
import type { Class } from '../metadata/class.js'
import type { KindName } from './kinds/table.js'

/** The type of a property's value, by kind. */
interface KindTypes {
  id: number | string
  string: string
  text: string
  integer: number
  numeric: number
  bigint: string
  decimal: string
  boolean: boolean
  date: string
  time: string
  datetime: string
  uuid: string
  enum: string | number | boolean
  blob: Uint8Array
  json: unknown
}

/** The words for the types, for the compiler's error. */
interface TypeNames {
  id: 'number or string'
  integer: 'number'
  numeric: 'number'
  bigint: 'ExactNumber or string'
  decimal: 'ExactNumber or string'
  boolean: 'boolean'
  enum: 'string, number or boolean'
  blob: 'Uint8Array or Buffer'
}

/** The word for the type of a field in the compiler's error. */
export type TypeName<Kind extends KindName> = Kind extends keyof TypeNames
  ? TypeNames[Kind]
  : 'string'

/** The type of a value of a field, or `unknown` for several kinds. */
export type KindValue<Kind extends KindName> = KindTypes[Kind]

/** The instance of a field's class, or of the class that a thunk returns. In brackets: a list. */
export type ClassValue<Declared> =
  Declared extends Class<infer Value>
    ? Value
    : Declared extends () => infer Result
      ? Result extends readonly Class<infer Value>[]
        ? readonly Value[]
        : Result extends Class<infer Value>
          ? Value
          : unknown
      : unknown

/** The literal rules that decide about the type. */
export interface TypeRules<List, Nullable> {
  list?: List
  nullable?: Nullable
}

/** What the compiler knows of a field: the type of its values, with the words for it, and whether they may be null. */
export interface FieldTypes {
  readonly value: unknown
  readonly words: string
  readonly list: unknown
  readonly nullable: unknown
}

/**
 * A property may have a narrower type, such as `'red' | 'blue'`, or a wider one, such as `unknown`. `boolean` is the type of
 * rules that are not literal, which are not checked.
 */
type Fits<Property, Value> = [Value] extends [Property]
  ? true
  : [Property] extends [Value]
    ? true
    : false

type Listed<Types extends FieldTypes> = [Types['list']] extends [true]
  ? readonly Types['value'][]
  : boolean extends Types['list']
    ? unknown
    : Types['value']

/** `unknown` for a property of the right type, otherwise a type that contains the reason. */
type Checked<Property, Types extends FieldTypes> =
  Fits<NonNullable<Property>, Listed<Types>> extends false
    ? { readonly mistake: `The property must be ${Types['words']}.` }
    : [Types['nullable']] extends [true]
      ? null extends Property
        ? unknown
        : { readonly mistake: 'The field is nullable, so the type of the property needs "| null".' }
      : unknown

/** For legacy decorators, whose `Place` is the name of the property. */
type CheckedOwner<Target, Place, Types extends FieldTypes> = Place extends keyof Target
  ? Checked<Target[Place], Types>
  : unknown

/** For standard decorators, whose `Place` is the context. */
type CheckedContext<Place, Types extends FieldTypes> =
  Place extends ClassFieldDecoratorContext<never, infer Property>
    ? Checked<Property, Types>
    : unknown

/**
 * A decorator of properties with a type that fits, in both dialects. The first signature is for functions that take a
 * `PropertyDecorator`. The compiler reports the last one.
 */
export interface FieldDecorator<Types extends FieldTypes> {
  <Member extends string | symbol>(
    target: object,
    member: string | symbol extends Member ? Member : never,
  ): void
  <Target, Place extends string | symbol | DecoratorContext | undefined>(
    target: Target & CheckedOwner<Target, Place, Types>,
    place?: Place & CheckedContext<Place, Types>,
    descriptor?: PropertyDescriptor,
  ): void
}
