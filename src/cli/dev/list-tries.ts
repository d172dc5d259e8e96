/** The routes of an application with what a form needs to try them. */
import type { ApplicationPlan } from '../../bootstrap/plan-application.js'
import { readShape, type ShapeField } from '../../fields/shape.js'
import type { Class } from '../../metadata/note.js'
import type { PlannedRoute } from '../../serving/planned-route.js'
import { listRoutes, type ListedRoute } from '../routes-command.js'

export interface TriedRoute extends ListedRoute {
  /** Path parameters with their types. */
  readonly parameters: readonly { readonly name: string; readonly type: string }[]
  readonly query: readonly string[]
  /** A body to begin with; undefined where the route reads none. */
  readonly body?: unknown
  /** Media types of its bodies. */
  readonly media: readonly string[]
}

export function listTries(plan: ApplicationPlan): TriedRoute[] {
  const planned = new Map(
    plan.routes.map((one) => [`${one.route.method} ${one.route.pattern.text}`, one]),
  )
  return listRoutes(plan).map((listed): TriedRoute => {
    const one = planned.get(`${listed.method} ${listed.path}`)
    if (one !== undefined) return { ...listed, ...describe(one) }
    const body = listed.method === 'POST' ? { query: '{ __typename }' } : undefined
    return { ...listed, parameters: [], query: [], media: ['application/json'], body }
  })
}

function describe({ route, classes, media }: PlannedRoute): Omit<TriedRoute, keyof ListedRoute> {
  const parameters = route.pattern.segments.flatMap((segment) =>
    segment.kind === 'static' ? [] : [{ name: segment.name, type: segment.type.name }],
  )
  const query =
    classes.query === undefined ? [] : takenFields(classes.query.type).map(({ name }) => name)
  const body =
    classes.body === undefined
      ? media.length > 0 && route.method !== 'GET'
        ? {}
        : undefined
      : sampleOf(classes.body.type)
  return { parameters, query, media, body }
}

function takenFields(type: Class): readonly ShapeField[] {
  return readShape(type, []).fields.filter(({ hidden, readOnly }) => !hidden && !readOnly)
}

/** What is required, by examples where there are some. */
function sampleOf(type: Class, depth = 0): Record<string, unknown> {
  const fields = takenFields(type).filter(
    ({ optional, rules }) => !optional || rules.example !== undefined,
  )
  return Object.fromEntries(fields.map((field) => [field.name, valueOf(field, depth)]))
}

const samples: Readonly<Record<string, unknown>> = {
  ...{ string: '', integer: 1, numeric: 1, boolean: true, id: 1, decimal: '1.00', bigint: '1' },
  ...{ date: '2026-01-31', time: '12:00:00', datetime: '2026-01-31T12:00:00Z' },
  uuid: '00000000-0000-4000-8000-000000000000',
}

function valueOf({ kind, list, nested, rules }: ShapeField, depth: number): unknown {
  const one =
    rules.example ??
    rules.oneOf?.[0] ??
    (nested !== undefined && depth < 2 ? sampleOf(nested(), depth + 1) : (samples[kind] ?? null))
  return list && !Array.isArray(one) ? [one] : one
}
