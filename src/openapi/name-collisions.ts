/** Finds different classes with the same name: each class is a schema, and schemas are identified by name. */
import { DeclarationError, type Problem } from '../errors/declaration-error.js'
import { resolveType, type DeclaredType } from '../fields/type-of.js'
import type { Class } from '../metadata/class-metadata.js'
import { describeRoute } from '../routing/route.js'
import { docNote } from './doc.js'
import type { DocumentedRoute } from './documented-route.js'
import { reservedSchemas } from './error-components.js'
import { classSchema, componentName, inputView, reachable, type View } from './schemas.js'

/** Adds a problem for every name that different classes share. Classes with equal schemas may share one. */
export function findNameCollisions(
  routes: readonly DocumentedRoute[],
  problems: Problem[] = [],
): Problem[] {
  const claims = new Map<string, Claim>()
  for (const documented of routes) {
    for (const { type, view } of classesOf(documented)) {
      for (const reached of reach(type, problems)) {
        claim({ type: reached, view, where: describeRoute(documented.route) }, claims, problems)
      }
    }
  }
  return problems
}

interface Claim {
  readonly type: Class
  readonly view: View
  /** The route in which it was found first. */
  readonly where: string
}

function claim(made: Claim, claims: Map<string, Claim>, problems: Problem[]): void {
  const name = componentName(made.type, made.view)
  const first = claims.get(name)
  if (first?.type === made.type) return
  if (first === undefined && !reservedSchemas.has(name)) {
    claims.set(name, made)
    return
  }
  if (first !== undefined && describe(first) === describe(made)) return
  const message =
    first === undefined
      ? `${made.where}: the documentation itself uses the name ${name}.`
      : `${made.where}: its class ${made.type.name} and that of ${first.where} are both named ${name} in the documentation.`
  if (problems.some((problem) => problem.message === message)) return
  problems.push({ code: 'SCHEMA_NAME', message, remedy: 'Rename one of the classes.' })
}

function describe({ type, view }: Claim): string {
  return JSON.stringify(
    classSchema(type, view, (nested) => ({ $ref: componentName(nested, view) })),
  )
}

function classesOf({
  route,
  classes,
  unknownKeys,
}: DocumentedRoute): { type: Class; view: View }[] {
  const { responses } = docNote(route.controller, route.member)
  const documented = [...responses.values()].map(({ type }) =>
    type === undefined ? undefined : resolveType(type),
  )
  const outputs = [...classes.returns.values(), ...documented].filter(isDeclared)
  // The fields of a query are parameters; only its nested classes are schemas.
  const inputs = [classes.body].filter(isDeclared)
  return [
    ...inputs.map(({ type }) => ({ type, view: inputView(unknownKeys) })),
    ...outputs.map(({ type }) => ({ type, view: 'output' as const })),
  ]
}

function isDeclared(declared: DeclaredType | undefined): declared is DeclaredType {
  return declared !== undefined
}

/** Thunks that return no class are reported when the class is checked. */
function reach(type: Class, problems: Problem[]): ReadonlySet<Class> {
  try {
    return reachable(type)
  } catch (error) {
    if (!(error instanceof DeclarationError)) throw error
    for (const problem of error.problems) {
      if (!problems.some(({ message }) => message === problem.message)) problems.push(problem)
    }
    return new Set()
  }
}
