/**
 * Checks the documentation of an application when it starts: the options of `@Doc`, and classes whose schemas would
 * have the same name.
 */
import { DeclarationError, type Problem } from '../errors/declaration-error.js'
import { Problems } from '../errors/problems.js'
import { resolveType, type DeclaredType } from '../fields/field.js'
import type { Class } from '../metadata/class.js'
import { describeRoute } from '../routing/route.js'
import {
  docMetadata,
  classDoc,
  deprecatedOptions,
  docOptions,
  headerOptions,
  responseOptions,
  isStatus,
  isText,
  memberDocs,
  type DocOptions,
  deprecationError,
} from './doc.js'
import type { DocumentedRoute } from './documented-route.js'
import { reservedSchemas } from './error-components.js'
import { classSchema, componentName, inputView, reachable, type SchemaView } from './schemas.js'
import { isMap } from '../core/json.js'
import { toPlainJson } from './json-schema.js'

/** Adds a problem for every name that different classes share. Classes with equal schemas may share one. */
export function findNameCollisions(
  routes: readonly DocumentedRoute[],
  problems = new Problems(),
): readonly Problem[] {
  const claims = new Map<string, SchemaNameClaim>()
  for (const documented of routes) {
    for (const { type, view } of classesOf(documented)) {
      for (const reached of reach(type, problems)) {
        claim({ type: reached, view, where: describeRoute(documented.route) }, claims, problems)
      }
    }
  }
  return problems.list
}

interface SchemaNameClaim {
  readonly type: Class
  readonly view: SchemaView
  /** The route in which it was found first. */
  readonly where: string
}

function claim(
  candidate: SchemaNameClaim,
  claims: Map<string, SchemaNameClaim>,
  problems: Problems,
): void {
  const name = componentName(candidate.type, candidate.view)
  const first = claims.get(name)
  if (first?.type === candidate.type) return
  if (first === undefined && !reservedSchemas.has(name)) {
    claims.set(name, candidate)
    return
  }
  if (first !== undefined && describe(first) === describe(candidate)) return
  const message =
    first === undefined
      ? `${candidate.where}: the documentation itself uses the name ${name}.`
      : `${candidate.where}: its class ${candidate.type.name} and the class of ${first.where} have the same name in the documentation: ${name}.`
  problems.add({ code: 'SCHEMA_NAME', message, remedy: 'Rename one of the classes.' })
}

function describe({ type, view }: SchemaNameClaim): string {
  return JSON.stringify(
    classSchema(type, { view }, (nested) => ({ $ref: componentName(nested, view) })),
  )
}

function classesOf({
  route,
  classes,
  unknownKeys,
}: DocumentedRoute): { type: Class; view: SchemaView }[] {
  const { responses } = docMetadata(route.controller, route.member)
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
function reach(type: Class, problems: Problems): ReadonlySet<Class> {
  try {
    return reachable(type)
  } catch (error) {
    if (!(error instanceof DeclarationError)) throw error
    problems.addAll(error.problems)
    return new Set()
  }
}

/** Checks the `@Doc` of these controllers: option names, values, samples, and `@Doc` on methods that are not routes. */
export function findDocProblems(
  routes: readonly DocumentedRoute[],
  problems = new Problems(),
): readonly Problem[] {
  const members = new Map<Class, Set<string>>()
  for (const { route } of routes) {
    const memberNames = members.get(route.controller) ?? new Set()
    members.set(route.controller, memberNames.add(route.member))
  }
  for (const [controller, routed] of members) {
    const onClass = classDoc(controller)
    if (onClass !== undefined) checkOptions(`@Doc of ${controller.name}`, onClass, problems)
    for (const [member, options] of memberDocs(controller)) {
      const where = `@Doc of ${controller.name}.${member}`
      if (routed.has(member)) checkOptions(where, options, problems)
      else report(where, 'it is on a member that is not a route.', problems)
    }
  }
  return problems.list
}

function checkOptions(where: string, options: DocOptions, problems: Problems): void {
  problems.addAll(docOptions.findProblems(options, where))
  const error = options.deprecated === undefined ? undefined : deprecationError(options.deprecated)
  if (error !== undefined) report(where, `deprecated ${error}.`, problems)
  if (isMap(options.deprecated)) {
    problems.addAll(deprecatedOptions.findProblems(options.deprecated, `${where}, deprecated`))
  }
  for (const name of ['example', 'exampleResponse'] as const) {
    checkSample(where, name, options[name], problems)
  }
  if (isMap(options.responses)) checkResponses(where, options.responses, problems)
  if (isMap(options.headers)) {
    checkHeaders(where, options.headers, problems)
    for (const name of Object.keys(options.headers).filter((header) => elsewhere.test(header))) {
      report(where, `header "${name}" is documented by the route itself.`, problems)
    }
  }
}

function checkSample(where: string, name: string, sample: unknown, problems: Problems): void {
  if (sample === undefined || toPlainJson(sample) !== undefined) return
  report(where, `${name} cannot be expressed in JSON.`, problems)
}

function checkResponses(where: string, responses: object, problems: Problems): void {
  for (const [status, response] of Object.entries(responses) as [string, unknown][]) {
    const location = `${where}, responses ${status}`
    if (!isStatus(Number(status))) report(where, `"${status}" is not a status.`, problems)
    if (typeof response === 'string') continue
    if (!isMap(response)) {
      report(location, 'it is neither a text nor an object.', problems)
      continue
    }
    problems.addAll(responseOptions.findProblems(response, location))
    checkSample(location, 'example', response.example, problems)
    if (response.type !== undefined && !namesClass(response.type)) {
      report(location, 'type is not a class.', problems)
    }
    if (isMap(response.headers)) checkHeaders(location, response.headers, problems)
    else if (response.headers !== undefined) {
      report(location, 'headers is not an object by name.', problems)
    }
  }
}

/** Headers that OpenAPI describes elsewhere: a parameter with such a name "shall be ignored" (Parameter Object). */
const elsewhere = /^(?:accept|content-type|authorization)$/i

function checkHeaders(where: string, headers: object, problems: Problems): void {
  for (const [name, header] of Object.entries(headers) as [string, unknown][]) {
    if (!/^[!#$%&'*+\-.^_`|~\w]+$/.test(name)) report(where, `"${name}" is not a header.`, problems)
    if (isMap(header))
      problems.addAll(headerOptions.findProblems(header, `${where}, header ${name}`))
    else if (!isText(header)) report(where, `header "${name}" is not described by text.`, problems)
  }
}

function report(where: string, message: string, problems: Problems): void {
  problems.at(where).add({
    code: 'DOC_DECLARATION',
    message,
    remedy: 'Correct it or leave it out.',
  })
}

function namesClass(declared: unknown): boolean {
  try {
    return resolveType(declared) !== undefined
  } catch (error) {
    if (error instanceof DeclarationError || error instanceof ReferenceError) return false
    throw error
  }
}
