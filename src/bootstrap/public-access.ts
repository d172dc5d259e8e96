/**
 * What callers without a token can read and write: reported at the start, by `filigree doctor --production`, by
 * `filigree routes`, and in the OpenAPI document. Source: decisions, Access to routes.
 */
import { Problems } from '../errors/problems.js'
import type { Log } from '../core/log.js'
import { joinPaths } from '../routing/pattern.js'
import { reachable } from '../routing/route.js'
import type { BootstrapOptions, Settings } from './options.js'
import type { PlannedGraphql } from './graphql-routes.js'
import { combineRules } from '../auth/access.js'
import { resolveClass, type Class } from '../metadata/class.js'
import type { DocumentedRecords } from '../openapi/document.js'
import { isHidden } from '../records/filters/query-errors.js'
import { readTables } from '../records/model/read-table.js'
import type { Table } from '../records/model/table.js'
import { showsAnonymous } from '../records/policy/visible-rows.js'
import { crudRecordOf } from '../records/rest/crud.js'
import { policyOf } from '../records/rights/record-policy.js'
import { readController } from '../routing/decorators.js'
import type { PlannedRoute } from '../serving/planned-route.js'

/** Describes a record, and its routes, that callers without a sign-in may query, although its `rows` shows them no rows. */
export const withoutRowsText = 'open, shows no rows without a sign-in'

/** True for an open route of `crud` that shows no rows to callers without a sign-in. */
export function isWithoutRows({ route, access }: Pick<PlannedRoute, 'route' | 'access'>): boolean {
  if (!access.open || route.method !== 'GET') return false
  const record = crudRecordOf(route.controller, route.member)
  const [table] = record === undefined ? [] : readTables([record], new Problems())
  return table !== undefined && !showsAnonymous(table)
}

interface PlannedAccess extends PlannedOperations {
  readonly settings: Settings
}

/** Maximum number of listed names of one kind. For further names only their number is written. */
const maxNames = 40

/** One text for each kind of access: `read GET /items, GET /metrics`. */
export function describePublicAccess(
  plan: PlannedAccess,
  { cors }: Pick<BootstrapOptions, 'cors'>,
): string[] {
  const { docs, basePath, static: folders } = plan.settings
  const open = reachable(plan.routes).filter(({ access }) => access.open)
  const reads = open.filter(({ route }) => route.method === 'GET')
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
    ...describeNames('read', reads.filter((one) => !isWithoutRows(one)).map(named)),
    ...describeNames('write', open.filter(({ route }) => route.method !== 'GET').map(named)),
    ...describeNames(
      'query GraphQL at',
      readable.map(({ route }) => joinPaths(basePath, route.path)),
    ),
    ...describeNames('read rows of', [...records.readable, ...records.confirmed].sort()),
    ...describeNames('query', records.withoutRows, ` (${withoutRowsText})`),
    ...describeNames('read documentation', pages),
    ...describeNames(
      'read files below',
      Object.keys(folders).map((path) => joinPaths(basePath, path)),
    ),
    ...describeNames(
      'read responses in pages of',
      origins === '*' ? ['any origin (CORS)'] : origins,
    ),
  ]
}

/** @param end the end of the text, after the names */
function describeNames(label: string, names: readonly string[], end = ''): string[] {
  if (names.length === 0) return []
  const more = names.length > maxNames ? ` and ${names.length - maxNames} more` : ''
  return [`${label} ${names.slice(0, maxNames).join(', ')}${more}${end}`]
}

/** Logs one line, so that operators notice open access. */
export function logPublicAccess(
  plan: PlannedAccess,
  options: Pick<BootstrapOptions, 'cors'>,
  log: Log,
): void {
  const open = describePublicAccess(plan, options)
  log.info({ open }, `Callers without a token may: ${open.join('; ')}.`)
}

interface PlannedOperations {
  readonly routes: readonly PlannedRoute[]
  readonly graphql: PlannedGraphql
}

/** Names of records, in alphabetical order. */
interface OpenRecords {
  /** Callers without a sign-in can read rows, and no decorator confirms that this is intended. */
  readonly readable: readonly string[]
  /** The same, confirmed by `@NoAuth` on the record. */
  readonly confirmed: readonly string[]
  /** Open, but `rows` shows no rows without a sign-in. */
  readonly withoutRows: readonly string[]
  /** The names in `readable` that every caller with a token can write. */
  readonly writable: readonly string[]
}

/** Logs which records are open. */
export function logOpenRecords(plan: PlannedOperations, log: Log): void {
  const records = openRecords(plan)
  const text = describeOpenRecords(records)
  if (text !== '') log.info({ records }, text)
}

/** @returns sentences about open records, or an empty text */
export function describeOpenRecords(records: OpenRecords): string {
  const { readable, confirmed, withoutRows, writable } = records
  const sentences = [
    readable.length > 0 &&
      `Callers without a sign-in can read ${readable.join(', ')}. Restrict a record with @Secured or rows, or confirm with @NoAuth that it is public.`,
    writable.length > 0 && `Every caller with a token can write ${writable.join(', ')}.`,
    confirmed.length > 0 && `Public by @NoAuth: ${confirmed.join(', ')}.`,
    withoutRows.length > 0 && `Open, shows no rows without a sign-in: ${withoutRows.join(', ')}.`,
  ]
  return sentences.filter((sentence) => sentence !== false).join(' ')
}

export function openRecords({ routes, graphql }: PlannedOperations): OpenRecords {
  const tables = new Set<Table>()
  for (const { route, access } of routes) {
    const record = route.method === 'GET' && access.open ? recordOf(route.controller) : undefined
    const [table] = record === undefined ? [] : readTables([record], new Problems())
    if (table !== undefined) addReachable(table, tables)
  }
  for (const instance of graphql.instances)
    for (const { access } of instance.routes) {
      const { read, secured } = instance.accessFor(access)
      for (const table of readTables(instance.schema.records, new Problems(), {
        withAddedRecords: false,
      })) {
        const readRule = policyOf(table).read ?? read
        if ((secured === undefined ? readRule : combineRules(secured, readRule)).open)
          addReachable(table, tables)
      }
    }
  const all = [...tables].sort((one, other) => (one.type.name < other.type.name ? -1 : 1))
  const visible = all.filter(showsAnonymous)
  const unconfirmed = visible.filter((table) => policyOf(table).read === undefined)
  return {
    readable: namesOf(unconfirmed),
    confirmed: namesOf(visible.filter((table) => !unconfirmed.includes(table))),
    withoutRows: namesOf(all.filter((table) => !visible.includes(table))),
    writable: namesOf(unconfirmed.filter(isWritableByAll)),
  }
}

/** For the OpenAPI document. */
export function documentedRecords(plan: PlannedOperations): DocumentedRecords {
  const { readable, confirmed, withoutRows } = openRecords(plan)
  return { readable: [...readable, ...confirmed].sort(), withoutRows }
}

/** Adds a record and the records that its rows lead to, as far as a caller without a sign-in may follow. */
function addReachable(table: Table, tables: Set<Table>): void {
  if (tables.has(table)) return
  tables.add(table)
  for (const relation of table.relations.values()) {
    if (isHidden(relation) || policyOf(table).relations.has(relation)) continue
    if (policyOf(relation.target).read?.open !== false) addReachable(relation.target, tables)
  }
}

function isWritableByAll(table: Table): boolean {
  const { writes, hasRows } = policyOf(table)
  return !hasRows && Object.values(writes).some((access) => access === undefined)
}

function namesOf(tables: readonly Table[]): string[] {
  return [...new Set(tables.map(({ type }) => type.name))]
}

/** The record of a controller with `crud`. */
export function recordOf(controller: Class): Class | undefined {
  const { crud } = readController(controller) ?? {}
  return crud === undefined ? undefined : resolveClass(crud)
}
