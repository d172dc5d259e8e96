/** A route as data: what a controller's notes say about one handler, checked and frozen. Made once, at bootstrap. */
import { isolations, type Isolation } from '../core/transaction.js'
import type { Problem } from '../errors/declaration-error.js'
import { didYouMean } from '../errors/did-you-mean.js'
import { refuseUnknownNames } from '../errors/unknown-options.js'
import type { Class } from '../metadata/class-metadata.js'
import { readArgumentNames, readHandlerNames } from './argument-names.js'
import { type ControllerOptions, readController } from './controller.js'
import { joinPaths, parsePattern, type Pattern } from './pattern.js'
import type { Method } from './route-table.js'
import { readRouteNotes, type RouteNote, type RouteOptions } from './verbs.js'

export interface Route {
  readonly method: Method
  readonly pattern: Pattern
  /** Of the API; undefined for routes of all versions. */
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
export function whereIs({ method, pattern, name }: Route): string {
  return `${method} ${pattern.text} (${name})`
}

/** What a handler may ask for by name beside its path parameters. */
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

/** What the application says about all routes. */
export interface RouteContext {
  /** Before every path: `/api`, or nothing. */
  readonly basePath: string
  /** Versions stand in the path: `/v2`. */
  readonly versionInPath: boolean
  /** Names of arguments that the application declares itself. */
  readonly ownArguments: readonly string[]
}

/**
 * Every route of a controller, in the order of its methods.
 *
 * @param problems takes a class without `@Controller`, faulty patterns and options, unreadable and unknown arguments
 */
export function collectRoutes(
  controller: Class,
  context: RouteContext,
  problems: Problem[],
): Route[] {
  const note = readController(controller)
  if (note === undefined) {
    problems.push({
      code: 'NOT_A_CONTROLLER',
      message: `${controller.name} is listed among the controllers but has no @Controller.`,
      remedy: `Write @Controller() before class ${controller.name}.`,
    })
    return []
  }
  refuseUnknownNames(`@Controller of ${controller.name}`, note.options, controllerNames, problems)
  const version = readVersion(note.version, controller, problems)
  const hasPath = checkBase(note.path, controller, problems)
  const routes: Route[] = []
  for (const [member, notes] of readRouteNotes(controller)) {
    for (const routeNote of notes) {
      const base = hasPath ? note.path : undefined
      const declaration = { controller, member, base, version, note: routeNote, context }
      const route = toRoute(declaration, problems)
      if (route !== undefined) routes.push(route)
    }
  }
  return routes
}

/** The path of a controller is checked once, not with each of its routes. @returns false where it has problems */
function checkBase(path: string, { name }: Class, problems: Problem[]): boolean {
  return path === '' || parsePattern(path, `@Controller of ${name}`, problems) !== undefined
}

const controllerNames: Readonly<Record<keyof ControllerOptions, true>> = {
  crud: true,
  only: true,
  version: true,
}

function readVersion(version: unknown, { name }: Class, problems: Problem[]): string | undefined {
  if (version === undefined) return undefined
  if (typeof version === 'string' && /^\w[\w.-]*$/.test(version)) return version
  problems.push({
    code: 'INVALID_OPTION',
    message: `@Controller of ${name}: version is ${JSON.stringify(version)}.`,
    remedy: "Write letters, digits, dots and hyphens: '2'.",
  })
  return undefined
}

/** Without those that only modules call: `internal`. */
export function reachable<Planned extends { readonly route: Route }>(
  routes: readonly Planned[],
): Planned[] {
  return routes.filter(({ route }) => route.options.internal !== true)
}

interface Declaration {
  readonly controller: Class
  readonly member: string
  /** Of the controller; undefined where it has problems. */
  readonly base: string | undefined
  readonly version: string | undefined
  readonly note: RouteNote
  readonly context: RouteContext
}

function toRoute(declaration: Declaration, problems: Problem[]): Route | undefined {
  const { controller, member, base = '', version, note, context } = declaration
  const name = `${controller.name}.${member}`
  const text = joinPaths(base, note.path)
  const where = `${note.method} ${text} (${name})`
  const relative = base !== '' && note.path !== '' && !note.path.startsWith('/')
  const isInPath = version !== undefined && context.versionInPath
  const versioned = isInPath ? joinPaths(`/v${version}`, text) : text
  const path = context.basePath === '' ? versioned : joinPaths(context.basePath, versioned)
  const pattern = parsePattern(relative ? note.path : path, where, problems)
  refuseUnknownNames(where, note.options, optionNames, problems)
  checkTransaction(where, note.options.transaction, problems)
  // Arguments may be named after parameters of the controller's path.
  if (declaration.base === undefined) return undefined
  const argumentNames = readArguments(declaration, name, problems)
  if (pattern === undefined || argumentNames === undefined) return undefined
  checkArguments(argumentNames, { pattern, name, context }, problems)
  return Object.freeze({
    method: note.method,
    pattern,
    version,
    name,
    controller,
    member,
    argumentNames,
    options: Object.freeze(note.options),
  })
}

const optionNames: Readonly<Record<keyof RouteOptions, true>> = {
  args: true,
  body: true,
  limit: true,
  query: true,
  returns: true,
  status: true,
  timeout: true,
  transaction: true,
  unknownKeys: true,
  etag: true,
  groups: true,
  internal: true,
}

function checkTransaction(where: string, transaction: unknown, problems: Problem[]): void {
  if (transaction === undefined || typeof transaction === 'boolean') return
  if (isolations.includes(transaction as Isolation)) return
  problems.push({
    code: 'ROUTE_TRANSACTION',
    message: `${where}: transaction is ${JSON.stringify(transaction)}.`,
    remedy: `Write { transaction: true }, or an isolation level: '${isolations.join("', '")}'.`,
  })
}

function readArguments(
  { controller, member, note }: Declaration,
  name: string,
  problems: Problem[],
): readonly string[] | undefined {
  if (note.options.args !== undefined) return Object.freeze([...note.options.args])
  const { owner, method } = note.declared
  const current = (controller.prototype as Record<string, unknown>)[member]
  // A subclass that overrides the method has its own names.
  const isOverridden = current !== (owner.prototype as Record<string, unknown>)[member]
  const read = isOverridden ? readArgumentNames(current) : readHandlerNames(current, method)
  if ('names' in read) return Object.freeze([...read.names])
  problems.push({
    code: 'UNREADABLE_ARGUMENTS',
    message: `${name} ${read.unreadable}.`,
    remedy: `State the names: { args: ['id', 'body'] } in the route's options.`,
  })
  return undefined
}

interface Naming {
  readonly pattern: Pattern
  readonly name: string
  readonly context: RouteContext
}

function checkArguments(
  names: readonly string[],
  { pattern, name, context }: Naming,
  problems: Problem[],
): void {
  const known = [...pattern.names, ...requestArguments, ...context.ownArguments]
  for (const argument of names) {
    if (known.includes(argument)) continue
    const near = didYouMean(argument, known)
    const remedy = near === '' ? `Arguments: ${known.join(', ')}.` : near
    problems.push({
      code: 'UNKNOWN_ARGUMENT',
      message: `${name}: argument "${argument}" is no path parameter of ${pattern.text}.`,
      remedy: near === '' || looksRenamed(argument) ? `${remedy} ${statedNames}` : remedy,
    })
  }
}

/** As bundlers rename: `id2`, `id$1`, `_id`, `e`. */
function looksRenamed(argument: string): boolean {
  return /^_|[\d$_]$|^.{1,2}$/.test(argument)
}

/** Bundlers rename arguments, and functions that wrap a method have names of their own. */
const statedNames =
  "Where a bundler or a wrapping decorator renamed it, state the names: { args: ['id', 'body'] }."
