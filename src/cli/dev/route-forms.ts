/** Lists the routes with sample input, for the forms of the development page that try them. */
import type { ApplicationPlan } from '../../bootstrap/plan-application.js'
import { readShape, type ShapeField } from '../../fields/shape.js'
import type { Class } from '../../metadata/class-metadata.js'
import type { PlannedRoute } from '../../serving/served-route.js'
import { listRoutes, type ListedRoute } from '../describe-application.js'

/** A route with the data of the form that tries it. */
export interface RouteForm extends ListedRoute {
  /** Path parameters with their types. */
  readonly parameters: readonly { readonly name: string; readonly type: string }[]
  readonly query: readonly string[]
  /** A sample body. Undefined if the route does not read a body. */
  readonly body?: unknown
  /** Media types of bodies that the route reads. */
  readonly media: readonly string[]
}

export function listRouteForms(plan: ApplicationPlan): RouteForm[] {
  const planned = new Map(
    plan.routes.map((one) => [`${one.route.method} ${one.route.pattern.text}`, one]),
  )
  return listRoutes(plan).map((listed): RouteForm => {
    const one = planned.get(`${listed.method} ${listed.path}`)
    if (one !== undefined) return { ...listed, ...describe(one) }
    const body = listed.method === 'POST' ? { query: '{ __typename }' } : undefined
    return { ...listed, parameters: [], query: [], media: ['application/json'], body }
  })
}

function describe({ route, classes, media }: PlannedRoute): Omit<RouteForm, keyof ListedRoute> {
  const parameters = route.pattern.segments.flatMap((segment) =>
    segment.kind === 'static' ? [] : [{ name: segment.name, type: segment.type.name }],
  )
  const query =
    classes.query === undefined ? [] : inputFields(classes.query.type).map(({ name }) => name)
  const body =
    classes.body === undefined
      ? media.length > 0 && route.method !== 'GET'
        ? {}
        : undefined
      : sampleOf(classes.body.type)
  return { parameters, query, media, body }
}

function inputFields(type: Class): readonly ShapeField[] {
  return readShape(type, []).fields.filter(({ hidden, readOnly }) => !hidden && !readOnly)
}

/** A body with the required fields, and with the fields that have an example. */
function sampleOf(type: Class, depth = 0): Record<string, unknown> {
  const fields = inputFields(type).filter(
    ({ optional, rules }) => !optional || rules.example !== undefined,
  )
  return Object.fromEntries(fields.map((field) => [field.name, valueOf(field, depth)]))
}

const sampleValues: Readonly<Record<string, unknown>> = {
  ...{ string: '', integer: 1, numeric: 1, boolean: true, id: 1, decimal: '1.00', bigint: '1' },
  ...{ date: '2026-01-31', time: '12:00:00', datetime: '2026-01-31T12:00:00Z' },
  uuid: '00000000-0000-4000-8000-000000000000',
}

function valueOf({ kind, list, nested, rules }: ShapeField, depth: number): unknown {
  const one =
    rules.example ??
    rules.oneOf?.[0] ??
    (nested !== undefined && depth < 2
      ? sampleOf(nested(), depth + 1)
      : (sampleValues[kind] ?? null))
  return list && !Array.isArray(one) ? [one] : one
}
