/**
 * Writes the input and output of a route as TypeScript types that refer to the application's classes. The form is described
 * in client/routes.ts.
 */
import { Problems } from '../../errors/problems.js'
import type { PlannedRoute } from '../../serving/planned-route.js'
import { anySuccess } from '../../openapi/documented-route.js'
import { shapeOf } from '../../fields/shape.js'
import type { DeclaredType } from '../../fields/field.js'
import { resolveClass, type Class } from '../../metadata/class.js'
import { readTable } from '../../records/model/read-table.js'
import { readController, readRouteDeclarations } from '../../routing/decorators.js'
import { parsePattern, joinPaths } from '../../routing/pattern.js'
import type { Route } from '../../routing/route.js'

/** The classes that the types refer to. */
interface ReferredClasses {
  /**
   * Classes that must be exported, with one of their routes: controllers, and records with generated routes.
   */
  readonly required: ReadonlyMap<Class, string>
  /** Classes of bodies and queries. If they are not exported, the type of the handler's argument is used. */
  readonly optional: ReadonlySet<Class>
}

/** One member of the interface. */
export interface RouteLine {
  /** `GET /items/<id:int>` */
  readonly key: string
  /** `params`, `body`, `result` and `related`, in this order, if they are known. */
  readonly members: ReadonlyMap<string, string>
}

/** @returns the name of an exported class, `undefined` if it is not exported */
export type NameOf = (type: Class) => string | undefined

/** @returns the name of the interface with the relations of a record */
export type RelatedNameOf = (record: Class) => string

export function referredClasses(routes: readonly PlannedRoute[]): ReferredClasses {
  const required = new Map<Class, string>()
  const optional = new Set<Class>()
  for (const { route, classes } of routes) {
    const type = generatedFor(route) ?? declaringClass(route)
    if (!required.has(type)) required.set(type, routeKey(route))
    const record = generatedFor(route)
    if (record !== undefined) {
      for (const related of relatedRecords(record)) optional.add(related)
      continue
    }
    for (const declared of [classes.query, classes.body, ...sentClasses(classes)]) {
      if (declared !== undefined) optional.add(declared.type)
    }
  }
  return { required, optional }
}

/** @param relatedNameOf default: the route gets no `related` */
export function toRouteLine(
  planned: PlannedRoute,
  nameOf: NameOf,
  relatedNameOf?: RelatedNameOf,
): RouteLine {
  const { route, classes } = planned
  const record = generatedFor(route)
  const members = new Map<string, string>()
  const put = (name: string, type: string | undefined): void => {
    if (type !== undefined) members.set(name, type)
  }
  if (record !== undefined) {
    put('body', generatedBody(planned, record, nameOf))
    put('result', generatedResult(route, record, nameOf))
    if (addsRelated(planned)) put('related', relatedNameOf?.(record))
  } else {
    const controller = nameOf(declaringClass(route)) ?? 'never'
    const member = `${controller}[${quote(route.member)}]`
    put('params', argumentType('query', { route, declared: classes.query, member }, nameOf))
    put('body', bodyType({ route, declared: classes.body, member }, nameOf))
    put('result', sentType(planned, member, nameOf))
  }
  return { key: routeKey(route), members }
}

/** True for lists and rows of a record with relations: `with` adds related rows to them. */
export function addsRelated({ route }: PlannedRoute): boolean {
  const record = generatedFor(route)
  const hasRows = route.method === 'GET' && route.options.returns !== undefined
  return record !== undefined && hasRows && relationsOf(record).length > 0
}

interface VisibleRelation {
  readonly name: string
  readonly target: Class
  readonly list: boolean
}

function relationsOf(record: Class): VisibleRelation[] {
  return shapeOf(record).fields.flatMap(({ name, rules, hidden, nested, list }) =>
    rules.relation === true && !hidden && nested !== undefined
      ? [{ name, target: nested(), list }]
      : [],
  )
}

/** The records that relations lead to, in any number of steps. */
function relatedRecords(record: Class): ReadonlySet<Class> {
  const records = new Set<Class>()
  for (const { target } of relationsOf(record)) records.add(target)
  for (const related of records) for (const { target } of relationsOf(related)) records.add(target)
  return records
}

/** The relations of a record as members of an interface: `project: { row: Project; related: ProjectRelated }`. */
export function toRelatedMembers(
  record: Class,
  nameOf: NameOf,
  relatedNameOf: RelatedNameOf,
): string[] {
  return relationsOf(record).map(({ name, target, list }) => {
    const targetName = nameOf(target)
    const row = targetName === undefined ? 'unknown' : outputType(targetName, target)
    const parts = [
      `row: ${row}`,
      ...(relationsOf(target).length === 0 ? [] : [`related: ${relatedNameOf(target)}`]),
      ...(list ? ['list: true'] : []),
    ]
    return `${name}: { ${parts.join('; ')} }`
  })
}

/** The classes of successful responses. */
function sentClasses({ returns }: PlannedRoute['classes']): readonly DeclaredType[] {
  return [...returns].flatMap(([status, declared]) =>
    status === anySuccess || (status >= 200 && status < 300) ? [declared] : [],
  )
}

/**
 * The type of the response: the declared classes without hidden fields, or the return type of the handler if they are not
 * exported.
 */
function sentType({ classes }: PlannedRoute, member: string, nameOf: NameOf): string {
  const result = `ReturnType<${member}>`
  if (classes.returns.size === 0) return result
  const types = sentClasses(classes).map(({ type, list }) => {
    const name = nameOf(type)
    if (name === undefined) return undefined
    return list ? listOf(outputType(name, type)) : outputType(name, type)
  })
  if (types.length > 0 && !types.includes(undefined)) return [...new Set(types)].join(' | ')
  // A missing value becomes 404.
  return `NonNullable<Awaited<${result}>>`
}

/**
 * The method and the path as the controller spells it, without a slash at the end. A key of several fields is spelled with
 * each of them: `/order-lines/<orderId>,<line:int>`.
 */
function routeKey(route: Route): string {
  const { controller, member, method, pattern } = route
  const base = readController(controller)?.path ?? ''
  const declaredRoutes = readRouteDeclarations(controller).get(member) ?? []
  const spelled = declaredRoutes
    .filter((declaredRoute) => declaredRoute.method === method)
    .map((declaredRoute) => joinPaths(base, declaredRoute.path))
    .find((text) => parsePattern(text, new Problems())?.text === pattern.text)
  const text = (spelled ?? pattern.text).replace(/(?<=.)\/$/, '')
  return `${method} ${text.replace('<id:key>', () => keyParts(route))}`
}

/** `<orderId>,<line:int>` */
function keyParts(route: Route): string {
  const record = generatedFor(route)
  const { parts = [] } = (record && readTable(record, new Problems())?.key) ?? {}
  return parts
    .map(({ property, storage }) => `<${property}${storage === 'integer' ? ':int' : ''}>`)
    .join()
}

/** The record of a route that `crud` made; `undefined` for handwritten handlers. */
function generatedFor({ controller, member }: Route): Class | undefined {
  const crud = readController(controller)?.crud
  if (crud === undefined || !Object.hasOwn(controller.prototype as object, member)) return undefined
  return resolveClass(crud)
}

/** The class in the source. `crud` adds its routes to a class that extends it. */
function declaringClass({ controller }: Route): Class {
  if (readController(controller)?.crud === undefined) return controller
  return Object.getPrototypeOf(controller) as Class
}

interface Argument {
  readonly route: Route
  readonly declared: DeclaredType | undefined
  /** The type of the handler. */
  readonly member: string
}

function bodyType(argument: Argument, nameOf: NameOf): string | undefined {
  const { argumentNames, method } = argument.route
  if (method === 'GET') return undefined
  if (argumentNames.includes('files')) return 'FormData'
  const type = argumentType('body', argument, nameOf)
  // A handler with the request as argument can read a body.
  return type ?? (argumentNames.includes('request') ? 'unknown' : undefined)
}

/** The declared class, otherwise the type of the handler's argument. */
function argumentType(
  name: 'query' | 'body',
  { route, declared, member }: Argument,
  nameOf: NameOf,
): string | undefined {
  const index = route.argumentNames.indexOf(name)
  const type = declared && nameOf(declared.type)
  if (declared === undefined || type === undefined) {
    if (index === -1) return declared && 'unknown'
    const argument = `Parameters<${member}>[${index}]`
    return declared === undefined || declared.list ? argument : inputType(argument, declared.type)
  }
  const one = inputType(type, declared.type)
  return declared.list ? listOf(one) : one
}

/**
 * The type without fields that clients cannot send. Fields with a default are optional, although the handler always gets
 * them.
 */
function inputType(name: string, type: Class): string {
  const { fields } = shapeOf(type)
  const refused = fields.filter(({ hidden, readOnly }) => hidden || readOnly)
  const defaulted = fields.filter(
    (field) => !refused.includes(field) && field.optional && field.rules.optional !== true,
  )
  return wrap('Defaulted', wrap('Without', name, refused), defaulted)
}

function outputType(name: string, type: Class): string {
  const { fields } = shapeOf(type)
  return wrap(
    'Without',
    name,
    fields.filter(({ hidden, rules }) => hidden || rules.relation === true),
  )
}

function wrap(by: string, type: string, fields: readonly { readonly name: string }[]): string {
  if (fields.length === 0) return type
  return `${by}<${type}, ${fields.map(({ name }) => quote(name)).join(' | ')}>`
}

function generatedBody(
  { route, classes }: PlannedRoute,
  record: Class,
  nameOf: NameOf,
): string | undefined {
  if (!route.argumentNames.includes('body')) return undefined
  const input = inputType(nameOf(record) ?? 'never', record)
  const body = route.method === 'PATCH' ? `Partial<${input}>` : input
  const more = classes.body === undefined ? [] : addedFields(classes.body.type, record)
  return more.length === 0 ? body : `${body} & { ${more.join('; ')} }`
}

/** Fields that `crud` accepts in addition to the record's fields: keys of linked rows, and writes of related rows. */
function addedFields(body: Class, record: Class): string[] {
  const recordFields = new Set(
    shapeOf(record)
      .fields.filter(({ rules }) => rules.relation !== true)
      .map(({ name }) => name),
  )
  return shapeOf(body)
    .fields.filter(({ name }) => !recordFields.has(name))
    .map(({ name, nested, kind }) => {
      const key = kind === 'uuid' ? 'string' : 'number'
      return `${name}?: ${nested === undefined ? listOf(key) : 'object'}`
    })
}

function generatedResult(route: Route, record: Class, nameOf: NameOf): string {
  const { returns } = route.options
  if (returns === undefined) {
    // A GET without a class returns rows of aggregates. Other routes without a class return no body.
    return route.method === 'GET' ? 'Record<string, string | number | boolean | null>[]' : 'null'
  }
  const one = outputType(nameOf(record) ?? 'never', record)
  return Array.isArray(returns) ? listOf(one) : one
}

function listOf(type: string): string {
  return `${type}[]`
}

/** A string literal of a key or a member, with the quotes that prettier uses. */
export function quote(text: string): string {
  const double = JSON.stringify(text)
  if (text.includes("'") && !text.includes('"')) return double
  return `'${double.slice(1, -1).replaceAll('\\"', '"').replaceAll("'", "\\'")}'`
}
