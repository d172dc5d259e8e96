/** Routes as data: collects the routes of controllers at the start, checks them, and warns about suspicious ones. */

import type { Class } from '../metadata/class.js'
import { tryDecode } from '../core/text.js'
import { isolations, type Isolation } from '../core/transaction.js'
import type { Problem } from '../errors/declaration-error.js'
import type { Problems } from '../errors/problems.js'
import { didYouMean } from '../errors/did-you-mean.js'
import { readArgumentNames, readHandlerNames } from './argument-names.js'
import {
  controllerOptions,
  readController,
  readRouteDeclarations,
  type RouteDeclaration,
  routeOptions,
  type RouteOptions,
} from './decorators.js'
import { joinPaths, parsePattern, type Pattern } from './pattern.js'
import type { RouteMethod } from './route-table.js'
import { emittedArgumentTypes } from '../metadata/dialect.js'

/** The arguments of custom decorators on a route. */
export interface RouteMetadata {
  /**
   * Returns the arguments of the decorator: `[60]` for `@CacheFor(60)`, `[]` without a call, `undefined` if the route
   * does not have it. A decorator of the method takes precedence over one of the class.
   */
  get<Arguments extends readonly unknown[]>(
    decorator: MetadataDecorator<Arguments>,
  ): Arguments | undefined
}

/** A decorator that `createDecorator` returned, identified by the object. */
export interface MetadataDecorator<Arguments extends readonly unknown[]> {
  /** The name for messages: `CacheFor`. */
  readonly decoratorName: string
  /** The types of its arguments. Only for the compiler. */
  readonly argumentsOf?: Arguments
}

/** A route as interceptors, custom decorators and logs see it. Plain data, created once at the start. */
export interface RouteInfo {
  /** `GET` also handles HEAD. */
  readonly method: string
  /** The path pattern, including the prefix of the application: `/items/<id:int>`. */
  readonly path: string
  /** `ItemController.show`; for the framework's own routes their purpose, such as `documentation`. */
  readonly name: string
  /** `undefined` for routes of the framework. */
  readonly controller: Class | undefined
  /** The record, for routes that `crud` created. */
  readonly record: Class | undefined
  /** The names of the handler's arguments, in order. */
  readonly arguments: readonly string[]
  /** The names of the fields of its body; `undefined` if it declares no class, or a list. */
  readonly body: readonly string[] | undefined
  /** Whether a token is required. */
  readonly secured: boolean
  /** Roles that are allowed; empty if any token is. */
  readonly roles: readonly string[]
  readonly metadata: RouteMetadata
}

/** A route as its controller declares it, checked and frozen. */
export interface Route {
  readonly method: RouteMethod
  readonly pattern: Pattern
  /** The version of the API; undefined for routes of all versions. */
  readonly version?: string | undefined
  /** `ItemController.show`, for messages and logs. */
  readonly name: string
  readonly controller: Class
  /** The name of the handler's method. */
  readonly member: string
  /** Names of the handler's arguments in order. */
  readonly argumentNames: readonly string[]
  readonly options: Readonly<RouteOptions>
}

/** The beginning of messages about a route: `GET /items (ItemController.list)`. */
export function describeRoute({ method, pattern, name }: Route): string {
  return `${method} ${pattern.text} (${name})`
}

/** The argument names of handlers in addition to path parameters. */
export const requestArguments = [
  'body',
  'query',
  'headers',
  'cookies',
  'files',
  'rawBody',
  'session',
  'user',
  'request',
] as const

/** Settings of the application for all routes. */
interface RouteSettings {
  /** The prefix of all paths, such as `/api`; `''` if there is none. */
  readonly basePath: string
  /** Whether versions are part of the path: `/v2`. */
  readonly versionInPath: boolean
  /** Names of custom arguments. */
  readonly customArguments: readonly string[]
}

/**
 * Collects the routes of a controller, in the order of its methods.
 *
 * @param problems receives missing `@Controller`, invalid patterns and options, unreadable and unknown arguments
 */
export function collectRoutes(
  controller: Class,
  context: RouteSettings,
  problems: Problems,
): Route[] {
  const metadata = readController(controller)
  if (metadata === undefined) {
    problems.add({
      code: 'NOT_A_CONTROLLER',
      message: `${controller.name} is listed among the controllers but has no @Controller.`,
      remedy: `Write @Controller() before class ${controller.name}.`,
    })
    return []
  }
  problems.addAll(
    controllerOptions.findProblems(metadata.options, `@Controller of ${controller.name}`),
  )
  const { version } = controllerOptions.read(metadata.options)
  const hasPath = checkBase(metadata.path, controller, problems)
  const routes: Route[] = []
  for (const [member, declarations] of readRouteDeclarations(controller)) {
    for (const declaration of declarations) {
      const base = hasPath ? metadata.path : undefined
      const input = { controller, member, base, version, declaration, context }
      const route = toRoute(input, problems)
      if (route !== undefined) routes.push(route)
    }
  }
  return routes
}

/** Checks the path of a controller once, instead of with each of its routes. @returns false if it has problems */
function checkBase(path: string, { name }: Class, problems: Problems): boolean {
  return path === '' || parsePattern(path, problems.at(`@Controller of ${name}`)) !== undefined
}

/** Removes routes that only modules call: `internal`. */
export function reachable<Planned extends { readonly route: Route }>(
  routes: readonly Planned[],
): Planned[] {
  return routes.filter(({ route }) => route.options.internal !== true)
}

interface DeclaredHandler {
  readonly controller: Class
  readonly member: string
  /** The path of the controller; undefined if it is invalid. */
  readonly base: string | undefined
  readonly version: string | undefined
  readonly declaration: RouteDeclaration
  readonly context: RouteSettings
}

function toRoute(input: DeclaredHandler, problems: Problems): Route | undefined {
  const { controller, member, base = '', version, declaration, context } = input
  const name = `${controller.name}.${member}`
  const text = joinPaths(base, declaration.path)
  const where = `${declaration.method} ${text} (${name})`
  const relative = base !== '' && declaration.path !== '' && !declaration.path.startsWith('/')
  const isInPath = version !== undefined && context.versionInPath
  const versioned = isInPath ? joinPaths(`/v${version}`, text) : text
  const path = context.basePath === '' ? versioned : joinPaths(context.basePath, versioned)
  const pattern = parsePattern(relative ? declaration.path : path, problems.at(where))
  problems.addAll(routeOptions.findProblems(declaration.options, where))
  checkTransaction(declaration.options.transaction, problems.at(where))
  // Arguments may be named after parameters of the controller's path.
  if (input.base === undefined) return undefined
  const argumentNames = readArguments(input, name, problems)
  if (pattern === undefined || argumentNames === undefined) return undefined
  checkArguments(argumentNames, { pattern, context }, problems.at(name))
  return Object.freeze({
    method: declaration.method,
    pattern,
    version,
    name,
    controller,
    member,
    argumentNames,
    options: Object.freeze(declaration.options),
  })
}

function checkTransaction(transaction: unknown, problems: Problems): void {
  if (transaction === undefined || typeof transaction === 'boolean') return
  if (isolations.includes(transaction as Isolation)) return
  problems.add({
    code: 'ROUTE_TRANSACTION',
    message: `transaction is ${JSON.stringify(transaction)}.`,
    remedy: `Write { transaction: true }, or an isolation level: '${isolations.join("', '")}'.`,
  })
}

function readArguments(
  { controller, member, declaration }: DeclaredHandler,
  name: string,
  problems: Problems,
): readonly string[] | undefined {
  if (declaration.options.args !== undefined) return Object.freeze([...declaration.options.args])
  const { owner, method } = declaration.declared
  const current = (controller.prototype as Record<string, unknown>)[member]
  // A subclass that overrides the method has its own names.
  const isOverridden = current !== (owner.prototype as Record<string, unknown>)[member]
  const read = isOverridden ? readArgumentNames(current) : readHandlerNames(current, method)
  if ('names' in read) return Object.freeze([...read.names])
  problems.add({
    code: 'UNREADABLE_ARGUMENTS',
    message: `${name} ${read.unreadable}.`,
    remedy: `State the names: { args: ['id', 'body'] } in the route's options.`,
  })
  return undefined
}

function checkArguments(
  names: readonly string[],
  { pattern, context }: Pick<DeclaredHandler, 'context'> & { readonly pattern: Pattern },
  problems: Problems,
): void {
  const knownNames = [...pattern.names, ...requestArguments, ...context.customArguments]
  for (const argument of names) {
    if (knownNames.includes(argument)) continue
    const near = didYouMean(argument, knownNames)
    const remedy = near === '' ? `Arguments: ${knownNames.join(', ')}.` : near
    problems.add({
      code: 'UNKNOWN_ARGUMENT',
      message: `argument "${argument}" is not a path parameter of ${pattern.text}.`,
      remedy: near === '' || mayBeRenamed(argument) ? `${remedy} ${argsHint}` : remedy,
    })
  }
}

/** True for names as bundlers create them: `id2`, `id$1`, `_id`, `e`. */
function mayBeRenamed(argument: string): boolean {
  return /^_|[\d$_]$|^.{1,2}$/.test(argument)
}

/** Bundlers rename arguments, and functions that wrap a method have other argument names. */
const argsHint =
  "If a bundler or a wrapping decorator renamed it, state the names: { args: ['id', 'body'] }."

/**
 * Finds suspicious routes. They are logged as warnings, and the application starts.
 *
 * @returns warnings with the codes `UNREACHABLE_ROUTE`, `BODY_ON_GET` and `BODY_UNCHECKED`
 */
export function findRouteWarnings(routes: readonly Route[]): Problem[] {
  return [...routes.flatMap(warningsOf), ...uncheckedBodies(routes)]
}

function warningsOf(route: Route): Problem[] {
  return [...unreachableSegments(route), ...unreadBody(route)].map((warning) => ({
    ...warning,
    message: `${describeRoute(route)}: ${warning.message}`,
  }))
}

/** Body types in the source have no effect if the compiler emits no types. One warning names all such routes. */
function uncheckedBodies(routes: readonly Route[]): Problem[] {
  // A handler with several routes is named once.
  const names = new Set(routes.filter(takesUnknownBody).map(({ name }) => name))
  if (names.size === 0) return []
  const message = `${[...names].join(', ')}: the body is not checked, because the compiler emits no types.`
  const remedy =
    'Write { body: NewItem } in the options of the route, or { body: Object } if any value is allowed.'
  return [{ code: 'BODY_UNCHECKED', message, remedy }]
}

function takesUnknownBody({ method, controller, member, argumentNames, options }: Route): boolean {
  if (method === 'GET' || options.body !== undefined || !argumentNames.includes('body'))
    return false
  return emittedArgumentTypes(controller, member) === undefined
}

function unreachableSegments({ pattern }: Route): Problem[] {
  const code = 'UNREACHABLE_ROUTE'
  return pattern.segments.flatMap((segment) => {
    if (segment.kind !== 'static') return []
    const { text } = segment
    if (text === '.' || text === '..') {
      const message = `clients resolve the segment "${text}" before they send a path.`
      return [{ code, message, remedy: 'Write the resolved path.' }]
    }
    const escape = /%[\da-f]{2}/i.exec(text)?.[0]
    if (escape === undefined) return []
    const message = `"${escape}" matches only this text, because patterns are written decoded.`
    return [{ code, message, remedy: `Write the character: "${tryDecode(text) ?? text}".` }]
  })
}

function unreadBody({ method, argumentNames, options }: Route): Problem[] {
  if (method !== 'GET') return []
  const named = ['body', 'files'].find((name) => argumentNames.includes(name))
  if (named === undefined && options.body === undefined) return []
  const message = `uses "${named ?? 'body'}", but the body of a GET request is never read.`
  const remedy = 'Declare the route with @Post, or use `query`.'
  return [{ code: 'BODY_ON_GET', message, remedy }]
}
