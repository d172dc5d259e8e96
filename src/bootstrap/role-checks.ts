/** Finds roles that `auth: { roles }` does not list, in all rules of an application. */
import { namedRolesOf } from '../auth/decorators.js'
import { findUnknownRoles, type NamedRoles } from '../auth/role-list.js'
import { Problems } from '../errors/problems.js'
import type { ResolvedDocs } from '../openapi/docs-options.js'
import { readTables } from '../records/model/read-table.js'
import { namedRolesOfRecord } from '../records/rights/record-policy.js'
import { namedRolesOfResponse } from '../records/rights/secured-responses.js'
import type { PlannedRoute } from '../serving/planned-route.js'
import type { PlannedGraphql } from './graphql-routes.js'
import type { ModuleParts } from './module.js'

/** Everything that may name roles. */
interface RoleSources {
  readonly routes: readonly PlannedRoute[]
  readonly graphql: PlannedGraphql
  readonly docs: ResolvedDocs | undefined
  readonly parts: Pick<ModuleParts, 'records' | 'namedRoles'>
}

/** @param listed undefined if any text is a role */
export function checkRoles(
  listed: readonly string[] | undefined,
  { routes, graphql: { instances }, docs, parts }: RoleSources,
  problems: Problems,
): void {
  if (listed === undefined) return
  const records = [...parts.records, ...instances.flatMap(({ schema }) => schema.records)]
  // Their own problems are reported elsewhere.
  const tables = readTables([...new Set(records)], new Problems())
  const declarations = [
    ...routes.flatMap(({ route: { controller, member }, ofPackage }) => {
      const named = namedRolesOf(controller, member)
      return ofPackage ? withoutDeclared(named, parts.namedRoles) : named
    }),
    // Nested classes can be read if nothing else is wrong.
    ...(problems.count > 0 ? [] : routes).flatMap(({ classes }) =>
      [...classes.returns.values()].flatMap(({ type }) => namedRolesOfResponse(type)),
    ),
    ...tables.flatMap(namedRolesOfRecord),
    ...instances.flatMap(({ routes: endpoints, schema }) => [
      ...endpoints.map(({ path, access }) => ({
        where: `GraphQL at ${path}`,
        roles: access.secured?.roles ?? [],
      })),
      ...schema.namedRoles,
    ]),
    { where: 'bootstrap docs.secured', roles: docs?.access.roles ?? [] },
    ...parts.namedRoles,
  ]
  problems.addAll(findUnknownRoles(listed, declarations))
}

/** The routes of a package have its roles. They are reported once, for the package. */
function withoutDeclared(
  named: readonly NamedRoles[],
  declared: readonly NamedRoles[],
): NamedRoles[] {
  const ofPackages = new Set(declared.flatMap(({ roles }) => roles))
  return named.map(({ where, roles }) => ({
    where,
    roles: roles.filter((role) => !ofPackages.has(role)),
  }))
}
