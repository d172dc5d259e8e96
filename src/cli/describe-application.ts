/** Describes routes, records, their tables and access rules for commands, agents and the development page. */

import { Problems } from '../errors/problems.js'
import { storedColumnsOf } from '../engines/contract/table.js'
import type { IndexSchema, TableSchema } from '../engines/contract/table-schema.js'
import type { Database } from '../records/database.js'
import type { Relation, Table } from '../records/model/table.js'
import { toSchema } from '../records/schema/schema.js'
import {
  hasRoles,
  describeDenial,
  describeDemands,
  satisfies,
  type AccessRule,
  openAccess,
  tokenAccess,
} from '../auth/access.js'
import type { Claims } from '../http/request.js'
import type { ApplicationPlan } from '../bootstrap/plan-application.js'
import { readTables } from '../records/model/read-table.js'
import { showsAnonymous } from '../records/policy/visible-rows.js'
import { memberAccess, policyOf, type RecordPolicy } from '../records/rights/record-policy.js'
import { isOfPackage } from '../bootstrap/module.js'
import {
  documentedRecords,
  isWithoutRows,
  recordOf,
  withoutRowsText,
} from '../bootstrap/public-access.js'
import type { DocumentedRecords } from '../openapi/document.js'
import { reachable } from '../routing/route.js'

/** An access rule as data and as text. */
interface DescribedAccess {
  readonly access: 'everybody' | 'token' | 'roles' | 'guard'
  readonly roles: readonly string[]
  /** `everybody`, `any token`, `role admin`, `role admin or editor, and a guard decides`. */
  readonly words: string
}

/** The rules that must all allow the request, the route's rule first. */
function rulesOf(rule: AccessRule): AccessRule[] {
  return rule.also === undefined
    ? [rule]
    : [...rulesOf({ ...rule, also: undefined }), ...rulesOf(rule.also)]
}

export function describeAccess(rule: AccessRule): DescribedAccess {
  if (rule.open) return { access: 'everybody', roles: [], words: 'everybody' }
  const rules = rulesOf(rule)
  const roles = [...new Set(rules.flatMap((one) => one.roles))]
  const isGuarded = rules.some(({ guard }) => guard !== undefined)
  const phrases = rules
    .filter((one) => one.roles.length > 0)
    .map((one) => `role ${one.roles.join(one.all ? ' and ' : ' or ')}`)
  if (phrases.length === 0) phrases.push('any token')
  const demands = describeDemands(rule)
  if (demands !== undefined)
    phrases.push(demands.replace(/^Needs |\.$/g, '').replaceAll('. Needs ', ', and '))
  if (isGuarded) phrases.push('a guard decides')
  const access = isGuarded ? 'guard' : roles.length > 0 ? 'roles' : 'token'
  return { access, roles, words: [...new Set(phrases)].join(', and ') }
}

/**
 * Describes the result of an access rule for a caller. Guards are not called, because they can read the request.
 *
 * @param readsToken the route is open, but reads a token if the request has one
 */
export function describeResult(
  rule: AccessRule,
  claims: Claims | undefined,
  readsToken = false,
): string {
  if (rule.open && readsToken) return 'let in: a token is optional, and a bad or expired one is 401'
  if (rule.open) return 'let in: no token is needed'
  if (claims === undefined) return '401: there is no token'
  const refused = rulesOf(rule).find((one) => !satisfies(one, claims, undefined))
  if (refused !== undefined) {
    if (hasRoles(refused, claims)) return `403: ${describeDenial(refused, claims)}`
    const roles = Array.isArray(claims.roles) ? claims.roles.join(', ') : String(claims.roles ?? '')
    return `403: needs role ${refused.roles.join(refused.all ? ' and ' : ' or ')}, has ${roles === '' ? 'none' : roles}`
  }
  const isGuarded = rulesOf(rule).some(({ guard }) => guard !== undefined)
  return isGuarded ? 'let in, if the guard consents' : 'let in'
}

export interface DescribedRecord {
  readonly name: string
  /** False for a record that only packages list, such as those of jobs. */
  readonly own: boolean
  readonly table: string
  /** `everybody`, `open, shows no rows without a sign-in`, `any token`, `role admin`. */
  readonly read: string
  /** Like `read`, or `no client`. If operations differ: `create: role desk; update: role desk; delete: no client`. */
  readonly write: string
  /** True if the option `rows` limits the rows that a caller sees and writes. */
  readonly rows: boolean
  readonly fields: readonly DescribedField[]
  readonly relations: readonly { readonly name: string; readonly to: string }[]
  readonly doors: readonly string[]
}

interface DescribedField {
  readonly name: string
  readonly kind: string
  /** `optional`, `unique`, `hidden`, `read-only`, `role admin`. */
  readonly marks: readonly string[]
}

export function describeRecords(plan: ApplicationPlan): DescribedRecord[] {
  const graphql = plan.graphql.instances.flatMap(({ schema, routes }) =>
    schema.records.map((type) => ({ type, paths: routes.map(({ path }) => path) })),
  )
  const prefix = plan.settings.basePath
  return readTables(plan.records, new Problems()).map((table): DescribedRecord => {
    const policy = policyOf(table)
    const silentRead = plan.authOptions.closed ? tokenAccess : openAccess
    const rest = plan.routes
      .filter(({ route }) => recordOf(route.controller) === table.type)
      .map(({ route }) => `${route.method} ${route.pattern.text}`)
    const graphqlPaths = graphql
      .filter(({ type }) => type === table.type)
      .flatMap(({ paths }) => paths.map((path) => `GraphQL at ${prefix}${path}`))
    return {
      name: table.type.name,
      own: !plan.packageRecords.includes(table.type),
      table: table.name,
      read: describeRead(table, policy.read ?? silentRead),
      write: describeWrites(policy.writes),
      rows: policy.hasRows,
      fields: describeFields(table),
      relations: [...table.relations].map(([name, { target }]) => ({ name, to: target.type.name })),
      doors: [...rest, ...graphqlPaths],
    }
  })
}

/** Describes who can read rows. */
function describeRead(table: Table, rule: AccessRule): string {
  return rule.open && !showsAnonymous(table) ? withoutRowsText : describeAccess(rule).words
}

/** Describes who can write rows: one text, or one for each operation. */
function describeWrites(writes: RecordPolicy['writes']): string {
  const phrases = writeOperations.map((operation) => {
    const access = writes[operation]
    return access === false ? 'no client' : describeAccess(access ?? tokenAccess).words
  })
  const [first = ''] = phrases
  if (phrases.every((one) => one === first)) return first
  return writeOperations
    .map((operation, index) => `${operation}: ${phrases[index] ?? ''}`)
    .join('; ')
}

const writeOperations = ['create', 'update', 'delete'] as const

function describeFields({ shape, type }: Table): DescribedField[] {
  return shape.fields.map(({ name, kind, list, optional, nullable, hidden, readOnly, rules }) => {
    const access = memberAccess(type, name)
    const marks = [
      ...(optional ? ['optional'] : []),
      ...(nullable ? ['nullable'] : []),
      ...(rules.unique !== undefined && rules.unique !== false ? ['unique'] : []),
      ...(hidden ? ['hidden'] : []),
      ...(readOnly ? ['read-only'] : []),
      ...(access === undefined ? [] : [describeAccess(access).words]),
      ...(rules.writes === undefined || rules.writes === false
        ? []
        : [`written by role ${[rules.writes].flat().join(' or ')}`]),
    ]
    return { name, kind: list ? `[${kind}]` : kind, marks }
  })
}

/** A route in the list of routes. */
export interface ListedRoute extends DescribedAccess {
  readonly method: string
  readonly path: string
  /** `ItemController.show`, or a description of the framework's route. */
  readonly name: string
  /** The owner of the route. */
  readonly of: 'application' | 'package' | 'framework'
  /** For GraphQL queries: the records that callers without a token can read. */
  readonly records?: DocumentedRecords
}

/** Lists the application's routes in the order of declaration, then the routes of packages and of the framework. */
export function listRoutes(plan: ApplicationPlan): ListedRoute[] {
  const declared = reachable(plan.routes).map(({ route, access }): ListedRoute => {
    const of = isOfPackage(route.controller) ? 'package' : 'application'
    return {
      method: route.method,
      path: route.pattern.text,
      name: route.name,
      ...describeAccess(access),
      ...(isWithoutRows({ route, access }) && { words: withoutRowsText }),
      of,
    }
  })
  const prefix = plan.settings.basePath
  const graphql = plan.graphql.instances.flatMap(({ routes, ide }) =>
    routes.flatMap(({ path, access }) => [
      ...listedGraphql('POST', `${prefix}${path}`, 'GraphQL: mutations', access.write),
      ...listedGraphql('POST', `${prefix}${path}`, 'GraphQL: queries', access.read).map((one) => ({
        ...one,
        records: documentedRecords(plan),
      })),
      ...(ide ? listedGraphql('GET', `${prefix}${path}`, 'GraphQL: the IDE', undefined) : []),
    ]),
  )
  return [
    ...declared.filter(({ of }) => of === 'application'),
    ...declared.filter(({ of }) => of === 'package'),
    ...graphql,
  ]
}

/** A page for people that the application serves. */
export interface ListedPage {
  readonly title: string
  /** The path with the application's prefix. */
  readonly path: string
}

/** Lists the pages of the documentation, of the GraphQL IDE and of the admin module, as far as they exist. */
export function listPages({ routes, graphql, settings }: ApplicationPlan): ListedPage[] {
  const { docs, basePath } = settings
  const ides = graphql.instances.filter(({ ide }) => ide).flatMap((one) => one.routes)
  const adminPages = routes.filter(
    ({ route: { controller, member } }) =>
      // The bundler adds numbers to names that occur more than once.
      isOfPackage(controller) && /^AdminPage\d*$/.test(controller.name) && member === 'show',
  )
  return [
    ...(docs === undefined ? [] : [{ title: 'API documentation', path: basePath + docs.path }]),
    ...ides.map(({ path }) => ({ title: 'GraphQL', path: basePath + path })),
    ...adminPages.map(({ route }) => ({ title: 'Admin', path: route.pattern.text })),
  ]
}

function listedGraphql(
  method: string,
  path: string,
  name: string,
  access: AccessRule | undefined,
): ListedRoute[] {
  const described = describeAccess(access ?? openAccess)
  return [{ method, path, name, ...described, of: 'framework' }]
}

// Tables: relations, constraints and indexes.

/** One line each. */
interface DescribedTable {
  readonly relations: readonly DescribedRelation[]
  readonly constraints: readonly DescribedRule[]
  readonly indexes: readonly DescribedRule[]
}

interface DescribedRelation {
  readonly name: string
  /** `belongs to Shelf`, `has many Book`, `many to many Tag`. */
  readonly kind: string
  /** `shelf_id = shelf.id, on delete restrict`. */
  readonly keys: string
}

interface DescribedRule {
  /** The name in the database. */
  readonly name: string
  readonly rule: string
}

/** @returns the tables of the application's records by name */
export function describeTables(database: Database, now: number): Map<string, DescribedTable> {
  const tables = [...database.tables]
  const schemas = toSchema(tables, database.context.dialect, now)
  const byName = new Map(schemas.map((schema) => [schema.name, schema]))
  return new Map(
    tables.map((table) => {
      const schema = byName.get(database.context.dialect.tables.nameOf(table.name))
      return [
        table.name,
        {
          relations: [...table.relations.values()].map(describeRelation),
          constraints: schema === undefined ? [] : [...describeConstraints(table, schema)],
          indexes: schema === undefined ? [] : schema.indexes.map(describeIndex),
        },
      ]
    }),
  )
}

const kinds = { belongsTo: 'belongs to', hasMany: 'has many', manyToMany: 'many to many' }

/** `order_id = order.id`, for each column of the foreign key. */
function namesOfPairs({ local, foreign, target }: Relation): string {
  const foreignColumns = storedColumnsOf(foreign)
  return storedColumnsOf(local)
    .map(({ name }, index) => `${name} = ${target.name}.${foreignColumns[index]?.name ?? ''}`)
    .join(' and ')
}

function describeRelation(relation: Relation): DescribedRelation {
  const { name, kind, target, join, onDelete } = relation
  const keys =
    join === undefined
      ? namesOfPairs(relation)
      : `${join.name} (${[...join.from.columns, ...join.to.columns].join(', ')})`
  const rule = onDelete === 'setNull' ? 'set null' : onDelete
  return {
    name,
    kind: `${kinds[kind]} ${target.type.name}`,
    keys: kind === 'belongsTo' ? `${keys}, on delete ${rule}` : keys,
  }
}

function* describeConstraints(table: Table, schema: TableSchema): Generator<DescribedRule> {
  yield { name: 'primary key', rule: schema.primaryKey.join(', ') }
  for (const { name, columns, table: target, foreignColumns, onDelete } of schema.foreignKeys) {
    const rule = `foreign key ${columns.join(', ')} references ${target} (${foreignColumns.join(', ')}) on delete ${onDelete}`
    yield { name, rule }
  }
  for (const { checks = [] } of schema.columns)
    for (const check of checks) yield { name: check.name, rule: `check ${check.sql}` }
  for (const [name, { status, message }] of table.constraints)
    yield {
      name,
      rule: `of the application${status === undefined ? '' : `, ${status}`}: ${message ?? ''}`,
    }
}

function describeIndex(index: IndexSchema): DescribedRule {
  const { name, columns, unique, whereNull, parts, where, using } = index
  const condition = where ?? (whereNull === undefined ? undefined : `${whereNull} is null`)
  const rule = [
    unique ? 'unique' : '',
    using ?? '',
    (parts ?? columns).join(', '),
    condition === undefined ? '' : `where ${condition}`,
  ]
  return { name, rule: rule.filter((part) => part !== '').join(' ') }
}
