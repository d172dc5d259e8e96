/**
 * What everybody may read and write, without a token: said in one line at the start in production, and by
 * `filigree doctor --production`. Source: decisions, Access to routes.
 */
import type { Log } from '../core/log.js'
import { joinPaths } from '../routing/pattern.js'
import { reachable } from '../routing/route.js'
import type { BootstrapOptions } from './options.js'
import type { ApplicationPlan } from './plan-application.js'
import { openRecords } from './open-records.js'

type Plan = Pick<ApplicationPlan, 'routes' | 'graphql' | 'authOptions' | 'settings'>

/** Names of a kind that are written out; of more of them their number. */
const mostNamed = 40

/** One text for each kind of door that is open: `read GET /items, GET /metrics`. */
export function openDoors(plan: Plan, { cors }: Pick<BootstrapOptions, 'cors'>): string[] {
  const { docs, basePath, static: folders } = plan.settings
  const open = reachable(plan.routes).filter(({ access }) => access.open)
  const named = ({ route }: (typeof open)[number]): string =>
    `${route.method} ${route.pattern.text}`
  const endpoints = plan.graphql.instances.flatMap((one) =>
    one.routes.map((route) => ({ one, route })),
  )
  const readable = endpoints.filter(({ one, route }) => one.accessFor(route.access).read.open)
  const pages = [
    ...(docs?.pageAccess.open === true ? [`page ${joinPaths(basePath, docs.path)}`] : []),
    ...(docs?.access.open === true
      ? [`document ${joinPaths(basePath, docs.path)}/openapi.json`]
      : []),
    ...endpoints.flatMap(({ one, route }) =>
      one.ide ? [`IDE ${joinPaths(basePath, route.path)}`] : [],
    ),
  ]
  const records = openRecords(plan)
  const origins = cors === false ? [] : (cors?.origins ?? '*')
  return [
    ...kind('read', open.filter(({ route }) => route.method === 'GET').map(named)),
    ...kind('write', open.filter(({ route }) => route.method !== 'GET').map(named)),
    ...kind(
      'ask GraphQL at',
      readable.map(({ route }) => joinPaths(basePath, route.path)),
    ),
    ...kind('read rows of', [...records.readable, ...records.confirmed].sort()),
    ...kind('ask for records that show no rows without a sign-in:', records.withoutRows),
    ...kind('read documentation', pages),
    ...kind(
      'read files below',
      Object.keys(folders).map((path) => joinPaths(basePath, path)),
    ),
    ...kind('read answers in pages of', origins === '*' ? ['any origin (CORS)'] : origins),
  ]
}

function kind(what: string, names: readonly string[]): string[] {
  if (names.length === 0) return []
  const more = names.length > mostNamed ? ` and ${names.length - mostNamed} more` : ''
  return [`${what} ${names.slice(0, mostNamed).join(', ')}${more}`]
}

/** One line, so that what is open is seen before others see it. */
export function logOpenDoors(plan: Plan, options: Pick<BootstrapOptions, 'cors'>, log: Log): void {
  const open = openDoors(plan, options)
  log.info({ open }, `Everybody may: ${open.join('; ')}.`)
}
