/** Finds the declared classes of a route, and compiles their checks of its body, its query and its responses. */

import { DeclarationError } from '../errors/declaration-error.js'
import { Problems } from '../errors/problems.js'
import { readShape } from '../fields/shape.js'
import { isApplicationClass, resolveType, type DeclaredType } from '../fields/field.js'
import { emittedArgumentTypes } from '../metadata/dialect.js'
import { anySuccess } from '../openapi/documented-route.js'
import { describeRoute, type Route } from '../routing/route.js'
import { compileInput, type InputCheck, type InputOptions } from '../fields/compile-input.js'
import { compileOutput } from '../fields/compile-output.js'
import { compileText } from '../fields/compile-text.js'
import { readCheckedShape } from '../fields/checked-shape.js'
import { type MaybePromise, after } from '../core/maybe-promise.js'
import type { TextValues } from '../http/query-string.js'
import { Reply } from '../http/reply.js'
import { isJsonBody } from '../http/result.js'
import type { ServerRequest } from '../http/server-request.js'
import type { Class } from '../metadata/class.js'
import { requestCaller } from '../records/rights/caller.js'
import {
  concealFrom,
  securedResponse,
  type SecuredResponse,
} from '../records/rights/secured-responses.js'

/** The classes that a route declares: in its options, otherwise in the types that the compiler emitted. */
export interface DeclaredClasses {
  readonly body: DeclaredType | undefined
  readonly query: DeclaredType | undefined
  /** By status, with the class of every successful response under `anySuccess`. Empty if nothing is declared. */
  readonly returns: ReadonlyMap<number, DeclaredType>
}

/**
 * @param problems receives options that are not classes, classes without fields, and problems of the classes themselves
 */
export function declaredClasses(route: Route, problems: Problems): DeclaredClasses {
  const { body, query, returns } = route.options
  const name = (option: string, declared: unknown): DeclaredType | undefined =>
    namedClass(option, declared, problems.at(describeRoute(route)))
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

function namedClass(
  option: string,
  declared: unknown,
  problems: Problems,
): DeclaredType | undefined {
  // `Object` declares explicitly that any value is allowed.
  if (declared === Object) return undefined
  const type = resolveType(declared)
  if (type === undefined) {
    problems.add({
      code: 'NOT_A_CLASS',
      message: `${option} is not a class.`,
      remedy: 'Write the class, [Class] for a list, or () => Class if it is defined later.',
    })
    return undefined
  }
  const shapeProblems = new Problems()
  const { fields } = readShape(type.type, shapeProblems)
  problems.addAll(shapeProblems.list)
  if (fields.length === 0 && shapeProblems.count === 0) {
    problems.add({
      code: 'NO_FIELDS',
      message: `${option} is ${type.type.name}, which has no fields.`,
      remedy: `Write @Field(…) before the properties of ${type.type.name}.`,
    })
  }
  return type
}

/** A class without fields does not describe its values: as an emitted type it declares nothing. */
function emittedClass(
  route: Route,
  argument: string,
  problems: Problems,
): DeclaredType | undefined {
  const index = route.argumentNames.indexOf(argument)
  if (index === -1) return undefined
  const type = emittedArgumentTypes(route.controller, route.member)?.[index]
  if (!isApplicationClass(type) || readShape(type, problems).fields.length === 0) return undefined
  return { type, list: false }
}

/** Each is `undefined` if the route declares no class for it. */
export interface RouteChecks {
  /** Replaces `request.body` with the checked instance. @throws {HttpError} 400 with all validation errors */
  readonly body: RequestCheck | undefined
  /** The same for `request.query`, whose texts are converted by kind. */
  readonly query: RequestCheck | undefined
  /** Converts the handler's result to what is sent: only declared fields. */
  readonly returns: ((result: unknown) => unknown) | undefined
  /**
   * The same for classes with secured fields, which are left out for callers who may not read them; used instead of
   * `returns`.
   */
  readonly returnsForCaller:
    ((result: unknown, request: ServerRequest) => MaybePromise<unknown>) | undefined
}

export type RequestCheck = (request: ServerRequest) => Promise<void> | undefined

export interface CheckSettings {
  readonly unknownKeys: 'refuse' | 'drop'
  /** The groups of class-validator's rules; undefined for all rules. */
  readonly groups: readonly string[] | undefined
  /** The status of results that set none. */
  readonly status: number
  /** The handler's result contains only what the caller may see. */
  readonly isFilteredForCaller: boolean
  /** The application's time, for defaults of bodies and queries. */
  readonly now: () => number
}

/** @param problems receives the problems of the classes, including nested ones */
export function compileChecks(
  classes: DeclaredClasses,
  { unknownKeys, groups, status, isFilteredForCaller, now }: CheckSettings,
  problems: Problems,
): RouteChecks {
  const options: InputOptions = {
    unknownKeys,
    problems,
    now,
    ...(groups === undefined ? {} : { groups }),
  }
  return {
    body: classes.body && compileBodyCheck(classes.body, options),
    query: classes.query && compileQueryCheck(classes.query, options),
    ...compileAnswers(classes.returns, { status, isFilteredForCaller }, problems),
  }
}

/** The texts of forms are converted; JSON values are not. A form cannot be a list. */
function compileBodyCheck({ type, list }: DeclaredType, options: InputOptions): RequestCheck {
  const shape = readCheckedShape(type, options.problems)
  const check: InputCheck<unknown> = list
    ? compileInput(shape, { ...options, list: true })
    : compileInput(shape, options)
  const checkForm: InputCheck<unknown> = list
    ? check
    : compileText(shape, { ...options, inputName: 'the body', isForm: true })
  return ({ receivedBody }) => {
    const isForm = receivedBody !== undefined && receivedBody.form !== 'plain'
    const checked = (isForm ? checkForm : check)(receivedBody?.value)
    if (!(checked instanceof Promise)) {
      receivedBody?.setChecked(checked)
      return undefined
    }
    return checked.then((value: unknown) => {
      receivedBody?.setChecked(value)
    })
  }
}

function compileQueryCheck({ type }: DeclaredType, options: InputOptions): RequestCheck {
  const check = compileText(readCheckedShape(type, options.problems), options)
  return (request) => {
    const checked = check(request.query)
    if (!(checked instanceof Promise)) {
      request.query = checked as TextValues
      return undefined
    }
    return checked.then((value) => {
      request.query = value as TextValues
    })
  }
}

function compileAnswers(
  returns: DeclaredClasses['returns'],
  { status, isFilteredForCaller }: Pick<CheckSettings, 'status' | 'isFilteredForCaller'>,
  problems: Problems,
): Pick<RouteChecks, 'returns' | 'returnsForCaller'> {
  if (returns.size === 0) return { returns: undefined, returnsForCaller: undefined }
  const maps = new Map(
    [...returns].map(([statusKey, { type }]) => [statusKey, compileMap(type, problems)]),
  )
  const secured = new Map<number, SecuredResponse>()
  for (const [statusKey, { type }] of isFilteredForCaller ? [] : returns) {
    const answers = securedIn(type)
    if (answers !== undefined) secured.set(statusKey, answers)
  }
  if (secured.size === 0) {
    const mapFor = byStatus(maps)
    return { returns: inResult(status, mapFor), returnsForCaller: undefined }
  }
  return {
    returns: undefined,
    returnsForCaller: compileReturnsForCaller(status, byStatus(maps), byStatus(secured)),
  }
}

function compileReturnsForCaller(
  usual: number,
  mapFor: (status: number) => ((value: unknown) => unknown) | undefined,
  securedFor: (status: number) => SecuredResponse | undefined,
): RouteChecks['returnsForCaller'] {
  return (result, request) => {
    const status = result instanceof Reply ? (result.status ?? usual) : usual
    const answers = securedFor(status)
    const mapped = inResult(usual, mapFor)(result)
    const body = mapped instanceof Reply ? (mapped as Reply).body : mapped
    if (answers === undefined || !isJsonBody(body)) return mapped
    return after(concealFrom(requestCaller(request), answers, body), () => mapped)
  }
}

/** Returns the entry for a response's status. */
function byStatus<T>(entries: ReadonlyMap<number, T>): (status: number) => T | undefined {
  return (status) =>
    entries.get(status) ?? (status >= 200 && status < 300 ? entries.get(anySuccess) : undefined)
}

/** @param usual the status of results that set none */
function inResult(
  usual: number,
  mapFor: (status: number) => ((value: unknown) => unknown) | undefined,
): (result: unknown) => unknown {
  return (result) => {
    if (!(result instanceof Reply))
      return isJsonBody(result) ? (mapFor(usual)?.(result) ?? result) : result
    const map = mapFor(result.status ?? usual)
    return map !== undefined && isJsonBody(result.body) ? result.withBody(map(result.body)) : result
  }
}

/** Problems of the class's shape are reported when the mapping is compiled. */
function securedIn(type: Class): SecuredResponse | undefined {
  try {
    return securedResponse(type)
  } catch (error) {
    if (error instanceof DeclarationError) return undefined
    throw error
  }
}

/** Compiling throws for invalid nested classes. Their problems are added to the others. */
function compileMap(type: Class, problems: Problems): (value: unknown) => unknown {
  try {
    return compileOutput(readCheckedShape(type, problems))
  } catch (error) {
    if (!(error instanceof DeclarationError)) throw error
    problems.addAll(error.problems)
    return (value) => value
  }
}
