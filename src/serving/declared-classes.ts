import { addProblems, type Problem } from '../errors/declaration-error.js'
import { readShape } from '../fields/shape.js'
import { isApplicationClass, resolveType, type DeclaredType } from '../fields/type-of.js'
import { emittedArgumentTypes } from '../metadata/dialect.js'
import { anySuccess } from '../openapi/documented-route.js'
import type { Route } from '../routing/route.js'

/** The classes that a route declares: in its options, otherwise in the types that the compiler emitted. */
export interface DeclaredClasses {
  readonly body: DeclaredType | undefined
  readonly query: DeclaredType | undefined
  /** By status, with the class of every successful response under `anySuccess`. Empty if nothing is declared. */
  readonly returns: ReadonlyMap<number, DeclaredType>
}

/**
 * @param where the beginning of messages
 *
 * @param problems receives options that are not classes, classes without fields, and problems of the classes themselves
 */
export function declaredClasses(route: Route, where: string, problems: Problem[]): DeclaredClasses {
  const { body, query, returns } = route.options
  const name = (option: string, declared: unknown): DeclaredType | undefined =>
    namedClass({ where, option, declared }, problems)
  return {
    body: body === undefined ? emittedClass(route, 'body', problems) : name('body', body),
    query: query === undefined ? emittedClass(route, 'query', problems) : name('query', query),
    returns: returnedClasses(returns, name),
  }
}

function returnedClasses(
  returns: Route['options']['returns'],
  name: (option: string, declared: unknown) => DeclaredType | undefined,
): Map<number, DeclaredType> {
  const classes = new Map<number, DeclaredType>()
  const add = (status: number, option: string, declared: unknown): void => {
    const type = name(option, declared)
    if (type !== undefined) classes.set(status, type)
  }
  if (returns === undefined) return classes
  if (typeof returns === 'function' || Array.isArray(returns)) add(anySuccess, 'returns', returns)
  else {
    for (const [status, declared] of Object.entries(returns)) {
      add(Number(status), `returns ${status}`, declared)
    }
  }
  return classes
}

interface Naming {
  readonly where: string
  readonly option: string
  readonly declared: unknown
}

function namedClass(
  { where, option, declared }: Naming,
  problems: Problem[],
): DeclaredType | undefined {
  // `Object` declares explicitly that any value is allowed.
  if (declared === Object) return undefined
  const type = resolveType(declared)
  if (type === undefined) {
    problems.push({
      code: 'NOT_A_CLASS',
      message: `${where}: ${option} is not a class.`,
      remedy: 'Write the class, [Class] for a list, or () => Class if it is defined later.',
    })
    return undefined
  }
  const shapeProblems: Problem[] = []
  const { fields } = readShape(type.type, shapeProblems)
  addProblems(shapeProblems, problems)
  if (fields.length === 0 && shapeProblems.length === 0) {
    problems.push({
      code: 'NO_FIELDS',
      message: `${where}: ${option} is ${type.type.name}, which has no fields.`,
      remedy: `Write @Field(…) before the properties of ${type.type.name}.`,
    })
  }
  return type
}

/** A class without fields does not describe its values: as an emitted type it declares nothing. */
function emittedClass(
  route: Route,
  argument: string,
  problems: Problem[],
): DeclaredType | undefined {
  const index = route.argumentNames.indexOf(argument)
  if (index === -1) return undefined
  const type = emittedArgumentTypes(route.controller, route.member)?.[index]
  if (!isApplicationClass(type) || readShape(type, problems).fields.length === 0) return undefined
  return { type, list: false }
}
