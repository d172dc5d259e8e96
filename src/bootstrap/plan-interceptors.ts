/**
 * Plans the interceptors of a route: reads `use` of the application and its modules, `@Use` and custom decorators into
 * one list, from outside to inside. Nothing is created yet. Mistakes are reported as problems.
 */
import { Problems } from '../errors/problems.js'
import { resolveClass, type Class } from '../metadata/class.js'
import {
  type InterceptorClass,
  isInterceptorPosition,
  interceptorPositions,
  type InterceptorPosition,
  readInterceptors,
  type DecoratorEntry,
  type InterceptorEntry,
} from '../extensions/interceptor.js'
import type { PlannedInterceptor } from '../serving/interceptors.js'
import type { ModuleParts, UseList } from './module.js'
import type { Settings } from './options.js'
import { rolesOf, type AccessRule } from '../auth/access.js'
import { crudRecordOf } from '../records/rest/crud.js'
import { shapeOf } from '../fields/shape.js'
import type { DeclaredType } from '../fields/field.js'
import type { DocumentOperation } from '../openapi/documented-route.js'
import type { RouteInfo, Route } from '../routing/route.js'
import {
  decoratorSpecification,
  type DecoratorProblem,
  type DecoratorSpecification,
} from '../extensions/custom-decorator.js'

interface ApplicationUse {
  /** Around every route, outside the interceptors of modules. */
  readonly everywhere: readonly UseList[]
  /** Around requests without a route, and around the framework's own routes. */
  readonly aroundFramework: readonly PlannedInterceptor[]
}

export function planApplicationUse(
  { use }: Settings,
  { useLists }: ModuleParts,
  problems: Problems,
): ApplicationUse {
  const ofModules = useLists.map((list) => pick(list, true)).filter((list) => list.use.length > 0)
  const everywhere = [{ where: 'bootstrap', use }, ...ofModules]
  const aroundFramework = everywhere
    .flatMap((list) => planUse(list, problems))
    .filter(
      (interceptor) =>
        interceptor.position === 'gate' ||
        (interceptor.position === 'body' && appliesEverywhere(interceptor)),
    )
  return { everywhere, aroundFramework }
}

/** Interceptors that modules list only for their own routes. */
export function forOwnRoutes(lists: readonly UseList[]): UseList[] {
  return lists.map((list) => pick(list, false))
}

function pick({ where, use }: UseList, everywhere: boolean): UseList {
  const isEverywhere = (reference: UseList['use'][number]): boolean =>
    (resolveClass(reference) as InterceptorClass | undefined)?.everywhere === true
  return { where, use: use.filter((reference) => isEverywhere(reference) === everywhere) }
}

/** The interceptors and decorators of a route. */
interface PlannedInterceptors {
  readonly info: RouteInfo
  readonly interceptors: readonly PlannedInterceptor[]
  readonly documents: readonly DocumentOperation[]
}

/** A route before its interceptors are planned. */
interface RouteToIntercept {
  readonly route: Route
  readonly access: AccessRule
  readonly body: DeclaredType | undefined
}

/** @param lists the interceptors around the route's controller, from outside to inside */
export function planInterceptors(
  { route, access, body }: RouteToIntercept,
  lists: readonly UseList[],
  problems: Problems,
): PlannedInterceptors {
  const { onClass, onMethod } = readInterceptors(route.controller, route.member)
  const declared = [...onClass, ...onMethod]
  const info = toInfo({ route, access, body }, [...onMethod, ...onClass])
  const interceptors = lists.flatMap((list) => planUse(list, problems))
  const documents: DocumentOperation[] = []
  const documentUse = (used: readonly PlannedInterceptor[]): void => {
    documents.unshift(...used.flatMap((interceptor) => documentOf(interceptor, info)).reverse())
  }
  documentUse(interceptors)
  for (const interceptor of declared) {
    if ('interceptor' in interceptor) {
      const used = planUse(
        { where: `@Use of ${route.name}`, use: [interceptor.interceptor] },
        problems,
      )
      documentUse(used)
      interceptors.push(...used)
      continue
    }
    const { specification, planned } = planDecorator(interceptor, info, problems)
    if (specification?.document !== undefined) documents.unshift(specification.document)
    if (planned !== undefined) interceptors.push(planned)
  }
  return { info, interceptors, documents }
}

/** Plans a custom decorator on a route or on a root field. */
export function planDecorator(
  interceptor: DecoratorEntry,
  info: RouteInfo,
  problems: Problems,
): { readonly specification?: DecoratorSpecification; readonly planned?: PlannedInterceptor } {
  const where = `@${interceptor.decorator.decoratorName} on ${info.name}`
  const placed = problems.at(where)
  const specification = readSpecification(interceptor, where, problems)
  if (specification === undefined) return {}
  runCheck(specification, info, placed)
  const { enter, intercept, inject = [] } = specification
  const position = readPosition(specification.before, placed)
  return enter === undefined && intercept === undefined
    ? { specification }
    : { specification, planned: { position, where, enter, intercept, inject } }
}

/** The interceptors of a list, with their positions. */
function planUse({ where, use }: UseList, problems: Problems): PlannedInterceptor[] {
  return use.flatMap((reference, index) => {
    const interceptor = resolveClass(reference)
    if (interceptor === undefined) {
      problems.add({
        code: 'NOT_AN_INTERCEPTOR',
        message: `${where}: use[${index}] is not a class.`,
        remedy:
          'Name the class of an interceptor. In an import cycle write a thunk, () => TheClass.',
      })
      return []
    }
    const { before } = interceptor as InterceptorClass
    return [{ position: readPosition(before, problems.at(interceptor.name)), interceptor }]
  })
}

/** The classes of interceptors and their dependencies, each once: the container creates them. */
export function interceptorClasses(interceptors: Iterable<PlannedInterceptor>): Class[] {
  const classes = new Set<Class>()
  for (const interceptor of interceptors) {
    if ('interceptor' in interceptor) classes.add(interceptor.interceptor)
    else for (const token of interceptor.inject) if (typeof token === 'function') classes.add(token)
  }
  return [...classes]
}

/** True for interceptors that run around all requests, regardless of the module that lists them. */
function appliesEverywhere(interceptor: PlannedInterceptor): boolean {
  return (
    'interceptor' in interceptor &&
    (interceptor.interceptor as InterceptorClass).everywhere === true
  )
}

function documentOf(interceptor: PlannedInterceptor, info: RouteInfo): DocumentOperation[] {
  if (!('interceptor' in interceptor)) return []
  const { document } = interceptor.interceptor as InterceptorClass
  return document === undefined ? [] : [(operation) => document(operation, info)]
}

function readPosition(before: unknown, problems: Problems): InterceptorPosition {
  if (before === undefined) return 'handler'
  if (isInterceptorPosition(before)) return before
  problems.add({
    code: 'INTERCEPTOR_PLACE',
    message: `before is ${typeof before === 'string' ? `"${before}"` : typeof before}.`,
    remedy: `Write one of ${interceptorPositions.map((position) => `'${position}'`).join(', ')}.`,
  })
  return 'handler'
}

function readSpecification(
  { specify }: DecoratorEntry,
  where: string,
  problems: Problems,
): DecoratorSpecification | undefined {
  const refuse = (reason: string, remedy: string): void => {
    problems.at(where).add({ code: 'DECORATOR_SPECIFICATION', message: `${reason}.`, remedy })
  }
  const remedy =
    'Return { before, check, document, enter, inject, intercept }. Each of them is optional.'
  let specification: unknown
  try {
    specification = specify()
  } catch (error) {
    refuse(`its specification throws: ${textOf(error)}`, 'Correct it.')
    return undefined
  }
  if (typeof specification !== 'object' || specification === null) {
    refuse('it has no specification', remedy)
    return undefined
  }
  problems.addAll(decoratorSpecification.findProblems(specification, where))
  for (const name of ['check', 'document', 'enter', 'intercept'] as const) {
    const member = (specification as Record<string, unknown>)[name]
    if (member !== undefined && typeof member !== 'function') {
      refuse(`${name} is not a function`, remedy)
      return undefined
    }
  }
  return specification
}

function runCheck({ check }: DecoratorSpecification, info: RouteInfo, problems: Problems): void {
  if (check === undefined) return
  let found: unknown
  try {
    found = check(info)
  } catch (error) {
    problems.add({
      code: 'DECORATOR_SPECIFICATION',
      message: `check throws: ${textOf(error)}.`,
      remedy: 'Return a list of { message, remedy }.',
    })
    return
  }
  if (!isProblemList(found)) {
    problems.add({
      code: 'DECORATOR_SPECIFICATION',
      message: 'check does not return a list of problems.',
      remedy: 'Return a list of { message, remedy }, which is empty without problems.',
    })
    return
  }
  for (const { message, remedy } of found ?? []) {
    problems.add({
      code: 'DECORATOR_CHECK',
      message: `${message.replace(/\.$/, '')}.`,
      remedy: remedy ?? '',
    })
  }
}

/** A missing list means no problems. */
function isProblemList(found: unknown): found is readonly DecoratorProblem[] | undefined | null {
  if (found === undefined || found === null) return true
  if (!Array.isArray(found)) return false
  return found.every(
    (problem: Partial<DecoratorProblem> | null) => typeof problem?.message === 'string',
  )
}

function textOf(error: unknown): string {
  return (error instanceof Error ? error.message : String(error)).replace(/\.$/, '')
}

/** The fields that a client may send; problems of the class are reported elsewhere. */
function fieldsOf(type: Class): readonly string[] {
  const { fields } = shapeOf(type)
  return Object.freeze(fields.filter(({ readOnly }) => !readOnly).map(({ name }) => name))
}

/** @param nearest the method's decorators before its class's: the first of each kind counts */
function toInfo(
  { route, access, body }: RouteToIntercept,
  nearest: readonly InterceptorEntry[],
): RouteInfo {
  return Object.freeze({
    method: route.method,
    path: route.pattern.text,
    name: route.name,
    controller: route.controller,
    record: crudRecordOf(route.controller, route.member),
    arguments: route.argumentNames,
    body: body === undefined || body.list ? undefined : fieldsOf(body.type),
    secured: !access.open,
    roles: rolesOf(access),
    metadata: Object.freeze({
      get: (decorator: object) => {
        const entry = nearest.find(
          (interceptor) => 'decorator' in interceptor && interceptor.decorator === decorator,
        )
        return (entry as DecoratorEntry | undefined)?.args as never
      },
    }),
  })
}
