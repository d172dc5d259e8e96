/** Explains which route handles a request, why similar routes do not, and the steps before the handler. */
import { Problems } from '../../errors/problems.js'
import type { ApplicationPlan } from '../../bootstrap/plan-application.js'
import { recordOf } from '../../bootstrap/public-access.js'
import { suggestedRoutes } from '../../bootstrap/suggested-routes.js'
import { tokenAccess } from '../../auth/access.js'
import type { Class } from '../../metadata/class.js'
import type { Claims } from '../../http/request.js'
import { readShape } from '../../fields/shape.js'
import { readTables } from '../../records/model/read-table.js'
import { describeRows } from '../../records/policy/visible-rows.js'
import { policyOf, type WriteOperation } from '../../records/rights/record-policy.js'
import { findNearestRoutes } from '../../routing/nearest-routes.js'
import { methods, RouteTable } from '../../routing/route-table.js'
import { reachable } from '../../routing/route.js'
import { anySuccess, dependsOnCaller } from '../../openapi/documented-route.js'
import type { Pattern, Segment } from '../../routing/pattern.js'
import type { PlannedRoute } from '../../serving/planned-route.js'
import { UsageError } from '../command.js'
import { describeAccess, describeResult } from '../describe-application.js'

export interface ExplainedRoute {
  readonly method: string
  readonly path: string
  /** The handler of the route: `ItemController.show`. Null for 404 and 405. */
  readonly handler: string | null
  readonly pattern: string | null
  /** Converted path parameters by name. */
  readonly parameters: Readonly<Record<string, string | number>>
  /** 404 or 405 with the reason. Undefined if a route matches. */
  readonly answer?: string
  /** The routes with the most similar paths, the best first. Only for 404. */
  readonly nearest?: readonly string[]
  /** Similar routes, and why they do not match. */
  readonly others: readonly { readonly route: string; readonly reason: string }[]
  /** The steps of the request up to the response, in order. */
  readonly steps: readonly { readonly step: string; readonly what: string }[]
}

/**
 * @param method in any case
 * @param path of which the query is removed
 * @throws {UsageError} the method is unknown
 */
export function readRequest(method: string, path: string): { method: string; path: string } {
  const upperCase = method.toUpperCase()
  if (!['HEAD', ...methods].includes(upperCase))
    throw new UsageError(`${method} is not a method. Methods: ${methods.join(', ')}.`)
  return { method: upperCase, path: path.replace(/[?#].*$/s, '') }
}

/**
 * @param path without a query
 * @param claims of the caller. Undefined: without a token
 */
export function explainRoute(
  plan: ApplicationPlan,
  method: string,
  path: string,
  claims: Claims | undefined,
): ExplainedRoute {
  const routeMethod = method === 'HEAD' ? 'GET' : method
  const values: (string | number)[] = []
  const table = new RouteTable<PlannedRoute>()
  const routes = reachable(plan.routes)
  for (const one of routes) table.add(one.route.method, one.route.pattern, one)
  const winner = table.match(routeMethod, path, values)
  const others = routes
    .filter((one) => one !== winner)
    .flatMap((one) => {
      const reason = explainRejection(one, routeMethod, path, winner)
      const route = `${one.route.method} ${one.route.pattern.text} (${one.route.name})`
      return reason === undefined ? [] : [{ route, reason }]
    })
  if (winner === undefined) {
    const allowed = table.allowedMethods(path)
    const noRoute = { handler: null, pattern: null, parameters: {}, steps: [] }
    const unmatched = { method, path, others, ...noRoute }
    if (allowed.length > 0)
      return { ...unmatched, answer: `405: the methods of this path are ${allowed.join(', ')}` }
    const nearest = findNearestRoutes(suggestedRoutes(plan), routeMethod, path).map(
      (near) => `${near.method} ${near.pattern.text}`,
    )
    return { ...unmatched, answer: '404: no route has this path', nearest }
  }
  const { route } = winner
  const names = route.pattern.names
  return {
    method,
    path,
    handler: route.name,
    pattern: `${route.method} ${route.pattern.text}`,
    parameters: Object.fromEntries(names.map((name, index) => [name, values[index] ?? ''])),
    others,
    steps: stepsOf(winner, claims),
  }
}

/** @returns undefined for routes that are not similar: their first segment differs */
function explainRejection(
  { route }: PlannedRoute,
  method: string,
  path: string,
  winner: PlannedRoute | undefined,
): string | undefined {
  const table = new RouteTable<object>()
  table.add(route.method, route.pattern, route)
  const matches = table.match(route.method, path, []) !== undefined
  if (matches && route.method !== method) return `is for ${route.method}, not ${method}`
  if (matches && winner !== undefined) return explainPrecedence(route.pattern, winner.route.pattern)
  if (route.method !== method) return undefined
  return explainMismatch(route.pattern, path)
}

function explainPrecedence(pattern: Pattern, winner: Pattern): string {
  const index = winner.segments.findIndex((segment, index) => {
    const other = pattern.segments[index]
    return other === undefined || describeSegment(segment) !== describeSegment(other)
  })
  const [losing, winning] = [pattern.segments[index], winner.segments[index]]
  if (losing === undefined || winning === undefined) return `${winner.text} is more specific`
  return `${describeSegment(winning)} is more specific than ${describeSegment(losing)}`
}

function describeSegment(segment: Segment): string {
  if (segment.kind === 'static') return `"${segment.text}"`
  const type = segment.type.name
  return type === 'string' ? `<${segment.name}>` : `<${segment.name}:${type}>`
}

function explainMismatch({ segments }: Pattern, path: string): string | undefined {
  const parts = path.split('/').filter((part) => part !== '')
  const [first] = segments
  if (first?.kind === 'static' && first.text !== parts[0]) return undefined
  for (const [index, segment] of segments.entries()) {
    const text = parts[index]
    if (text === undefined) return `requires ${describeSegment(segment)} after it`
    if (segment.kind === 'static') {
      if (segment.text !== text) return `requires "${segment.text}" in place of "${text}"`
    } else if (segment.type.name === 'path') {
      return undefined
    } else if (segment.type.convert(text) === undefined) {
      return `"${text}" is not of type ${segment.type.name}`
    }
  }
  const rest = parts.slice(segments.length).join('/')
  return rest === '' ? undefined : `ends before "${rest}"`
}

type ExplainedStep = ExplainedRoute['steps'][number]

function stepsOf(planned: PlannedRoute, claims: Claims | undefined): ExplainedStep[] {
  const { route, access, classes, limits, unknownKeys } = planned
  const { transaction, timeout } = route.options
  const around = (position: string): ExplainedStep[] =>
    planned.interceptors
      .filter((interceptor) => interceptor.position === position)
      .map((interceptor) => ({
        step: `around the ${position === 'gate' ? 'gate' : position}`,
        what: 'interceptor' in interceptor ? interceptor.interceptor.name : interceptor.where,
      }))
  const steps: ExplainedStep[] = [
    ...around('gate'),
    {
      step: 'gate',
      what: `${describeAccess(access).words}; ${describeResult(access, claims, dependsOnCaller(planned))}`,
    },
    ...around('body'),
  ]
  if (classes.query !== undefined)
    steps.push({ step: 'query', what: fieldsOf(classes.query.type, unknownKeys) })
  if (classes.body !== undefined) {
    const what = `${fieldsOf(classes.body.type, unknownKeys)}; at most ${limits.body} bytes`
    steps.push({ step: 'body', what })
  }
  steps.push(...around('handler'), ...recordSteps(route, claims))
  if (transaction !== undefined && transaction !== false)
    steps.push({ step: 'transaction', what: transaction === true ? 'default' : transaction })
  const time = timeout === undefined ? '' : `, ${timeout} ms at most`
  const named = route.argumentNames.join(', ')
  steps.push({ step: 'handler', what: `${route.name}(${named})${time}` })
  if (classes.returns.size > 0) {
    const answers = [...classes.returns].map(([status, { type, list }]) => {
      const name = list ? `[${type.name}]` : type.name
      return status === anySuccess ? name : `${String(status)} ${name}`
    })
    steps.push({ step: 'answer', what: answers.join(', ') })
  }
  return steps
}

function fieldsOf(type: Class, unknownKeys: string): string {
  const inputFields = readShape(type).fields.filter(({ hidden, readOnly }) => !hidden && !readOnly)
  const fields = inputFields.map(({ name, optional }) => (optional ? `${name}?` : name))
  return `${type.name} { ${fields.join(', ')} }; unknown keys: ${unknownKeys}`
}

/** The access rules of the record of a `crud` controller. They apply to REST, GraphQL and all other interfaces. */
function recordSteps(
  { controller, method }: PlannedRoute['route'],
  claims: Claims | undefined,
): ExplainedStep[] {
  const record = recordOf(controller)
  const [table] = record === undefined ? [] : readTables([record], new Problems())
  if (table === undefined) return []
  const policy = policyOf(table)
  const operation = operationOf(method)
  const isRead = operation === undefined
  const access = isRead ? policy.read : (policy.writes[operation] ?? tokenAccess)
  // `false` means that only handlers of the application write.
  const rule = access === false ? undefined : access
  const readers =
    rule === undefined
      ? 'everybody'
      : `${describeAccess(rule).words}; ${describeResult(rule, claims)}`
  const steps = [
    { step: 'rights', what: `${table.type.name} is ${isRead ? 'read' : 'written'} by ${readers}` },
  ]
  if (policy.hasRows) steps.push({ step: 'rows', what: describeRows(table, claims) })
  const secured = [...policy.columns].map(
    ([column, access]) => `${column.property}: ${describeAccess(access).words}`,
  )
  if (secured.length > 0) steps.push({ step: 'fields', what: secured.join(', ') })
  const written = [...policy.columnWrites].map(
    ([column, one]) =>
      `${column.property}: ${describeAccess(one).words}; ${describeResult(one, claims)}`,
  )
  if (!isRead && operation !== 'delete' && written.length > 0)
    steps.push({ step: 'writes', what: written.join(', ') })
  return steps
}

function operationOf(method: string): WriteOperation | undefined {
  if (method === 'POST') return 'create'
  if (method === 'DELETE') return 'delete'
  return method === 'PATCH' || method === 'PUT' ? 'update' : undefined
}
