/**
 * Compares the types of a handler's arguments with what its route declares: its path, and the classes of body and query. Types
 * that are not certain, such as interfaces, unions and generics, are not compared.
 */
import type { Problem } from '../errors/declaration-error.js'
import { isApplicationClass, type DeclaredType } from '../fields/field.js'
import type { KindName } from '../fields/kinds/table.js'
import { shapeOf, type ShapeField } from '../fields/shape.js'
import type { Class } from '../metadata/class.js'
import { emittedArgumentTypes } from '../metadata/dialect.js'
import { isHandlerAsDeclared } from '../routing/decorators.js'
import type { PathType } from '../routing/pattern.js'
import type { Route } from '../routing/route.js'
import type { DeclaredClasses } from './route-checks.js'

/** A class that only the sources know, because nothing in the application refers to it. */
interface ClassName {
  readonly name: string
  /** The names of its fields that are always present. */
  readonly fields: readonly string[]
}

/** The type of an argument. Undefined if nothing is certain. */
export type ArgumentType = 'string' | 'number' | 'boolean' | 'list' | Class | ClassName | undefined

/** The types that the compiler emitted. @returns undefined if it emits none, or if they belong to another function */
export function emittedTypesOf({
  controller,
  member,
  argumentNames,
}: Route): readonly ArgumentType[] | undefined {
  const types = emittedArgumentTypes(controller, member)
  if (types?.length !== argumentNames.length) return undefined
  if (!isHandlerAsDeclared(controller, member)) return undefined
  return types.map((type) => wordOf.get(type) ?? (isApplicationClass(type) ? type : undefined))
}

const wordOf: ReadonlyMap<unknown, ArgumentType> = new Map<unknown, ArgumentType>([
  [String, 'string'],
  [Number, 'number'],
  [Boolean, 'boolean'],
  [Array, 'list'],
])

/** @param types in the order of the arguments */
export function findArgumentProblems(
  route: Route,
  classes: Pick<DeclaredClasses, 'body' | 'query'>,
  types: readonly ArgumentType[],
): Problem[] {
  return route.argumentNames.flatMap((argument, index) => {
    const type = types[index]
    if (type === undefined) return []
    const mistake = findMistake(route, classes, argument, type)
    if (mistake === undefined) return []
    const [message, remedy] = mistake
    return [{ code: 'ARGUMENT_TYPE', message: `${route.name}: ${message}`, remedy }]
  })
}

/** What is wrong, and what to do. */
type Mistake = readonly [message: string, remedy: string]

function findMistake(
  route: Route,
  { body, query }: Pick<DeclaredClasses, 'body' | 'query'>,
  argument: string,
  type: NonNullable<ArgumentType>,
): Mistake | undefined {
  const parameter = route.pattern.segments.find(
    (segment) => segment.kind === 'parameter' && segment.name === argument,
  )
  if (parameter?.kind === 'parameter')
    return comparePath(argument, parameter.type, route.pattern.text, type)
  if (argument === 'query' && query === undefined && route.options.query === undefined)
    return undeclaredQuery(type)
  const declared = argument === 'body' ? body : argument === 'query' ? query : undefined
  return declared === undefined ? undefined : compareClass(argument, declared, type)
}

function comparePath(
  name: string,
  { name: kind, schema }: PathType,
  path: string,
  type: NonNullable<ArgumentType>,
): Mistake | undefined {
  // A provider may have replaced the value by an object.
  if (typeof type !== 'string') return undefined
  const expected = schema.type === 'string' ? 'string' : 'number'
  if (type === expected) return undefined
  const written = kind === 'string' ? `<${name}>` : `<${name}:${kind}>`
  const other =
    type === 'number'
      ? `, or <${name}:int> in the path`
      : type === 'string'
        ? `, or <${name}> in the path`
        : ''
  return [
    `${name} is ${describeType(type)}, but ${written} in ${path} is a ${expected}.`,
    `Write ${name}: ${expected}${other}.`,
  ]
}

/** Without a class, a query is an object of texts, which no class of the application describes. */
function undeclaredQuery(type: NonNullable<ArgumentType>): Mistake | undefined {
  const what = `query is ${describeType(type)}, but the route declares no class, so its values are unchecked texts.`
  if (typeof type === 'string') return [what, 'Write query: Record<string, string>, or a class.']
  const isEmpty = isClass(type) && shapeOf(type).fields.length === 0
  if (!isEmpty) return [what, `Write { query: ${type.name} } in the options of the route.`]
  return [what, `Write @Field(…) before the properties of ${type.name}.`]
}

function compareClass(
  argument: string,
  { type: declared, list }: DeclaredType,
  type: NonNullable<ArgumentType>,
): Mistake | undefined {
  const name = list ? `[${declared.name}]` : declared.name
  const expected = list ? `${declared.name}[]` : declared.name
  const declaration = `the route declares { ${argument}: ${name} }`
  if (type === 'list') {
    if (list) return undefined
    const remedy = `Write ${argument}: ${expected}, or { ${argument}: [${name}] } for a list.`
    return [`${argument} is a list, but ${declaration}.`, remedy]
  }
  const what = `${argument} is ${describeType(type)}, but ${declaration}.`
  if (typeof type === 'string') return [what, `Write ${argument}: ${expected}.`]
  const remedy = `Write ${argument}: ${expected}, or { ${argument}: ${type.name} }.`
  if (list) return isClass(type) ? [what, remedy] : undefined
  const difference = isClass(type)
    ? findDifference(declared, type)
    : findMissingField(declared, type.fields)
  return difference === undefined ? undefined : [`${what} ${difference}`, remedy]
}

/** @returns the first field of the argument's class that a checked value does not have */
function findDifference(declared: Class, argument: Class): string | undefined {
  if (declared === argument) return undefined
  const { byName } = shapeOf(declared)
  for (const field of shapeOf(argument).fields) {
    const counterpart = byName.get(field.name)
    if (counterpart === undefined) {
      if (isAlwaysPresent(field)) return `${declared.name} has no "${field.name}".`
      continue
    }
    if (differ(counterpart, field)) return `"${field.name}" has another type in ${declared.name}.`
    if (isAlwaysPresent(field) && !isAlwaysPresent(counterpart))
      return `"${field.name}" may be absent in ${declared.name}.`
    if (counterpart.rules.nullable === true && field.rules.nullable !== true)
      return `"${field.name}" may be null in ${declared.name}.`
  }
  return undefined
}

function findMissingField(declared: Class, names: readonly string[]): string | undefined {
  const { byName } = shapeOf(declared)
  const name = names.find((one) => !byName.has(one))
  return name === undefined ? undefined : `${declared.name} has no "${name}".`
}

function isAlwaysPresent({ optional, rules }: ShapeField): boolean {
  return !optional || rules.default !== undefined
}

function differ(one: ShapeField, other: ShapeField): boolean {
  if (one.list !== other.list) return true
  if (one.nested !== undefined || other.nested !== undefined) return false
  const [first, second] = [jsonTypes[one.kind], jsonTypes[other.kind]]
  return first !== undefined && second !== undefined && first !== second
}

/** Kinds whose values have one type in JSON and in the program. */
const jsonTypes: Partial<Record<KindName, 'string' | 'number' | 'boolean'>> = {
  string: 'string',
  text: 'string',
  uuid: 'string',
  date: 'string',
  time: 'string',
  datetime: 'string',
  integer: 'number',
  numeric: 'number',
  boolean: 'boolean',
}

function describeType(type: NonNullable<ArgumentType>): string {
  if (type === 'list') return 'a list'
  return typeof type === 'string' ? `a ${type}` : type.name
}

function isClass(type: Class | ClassName): type is Class {
  return typeof type === 'function'
}
