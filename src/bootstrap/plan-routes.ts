/**
 * Reads all controllers into planned routes: pattern, access rule, limits, declared classes. Nothing is created yet;
 * mistakes become problems.
 */
import { accessRule } from '../auth/access.js'
import { readHandlerAccess } from '../auth/decorators.js'
import type { Clock } from '../core/time.js'
import type { Problems } from '../errors/problems.js'
import { HeaderList } from '../http/header-list.js'
import { multipartAround, readSize, type Limits } from '../http/limits.js'
import type { Class } from '../metadata/class.js'
import { isConcealed } from '../records/rights/secured-responses.js'
import { bodyMedia } from '../openapi/requests.js'
import { docMetadata } from '../openapi/doc.js'
import { documentLive } from '../live/live.js'
import { collectRoutes, describeRoute, type Route } from '../routing/route.js'
import { VersionedTable } from '../routing/route-table.js'
import { emittedTypesOf, findArgumentProblems } from '../serving/argument-types.js'
import { declaredClasses, compileChecks } from '../serving/route-checks.js'
import type { PlannedRoute } from '../serving/planned-route.js'
import type { ArgumentResolvers } from '../extensions/argument-resolvers.js'
import { isOfPackage } from './module.js'
import type { Settings } from './options.js'
import type { UseList } from './module.js'
import { planInterceptors } from './plan-interceptors.js'
import { documentVersion, variesBy, versionReader, type ResolvedVersions } from './versions.js'

/** The data that a controller's routes are planned from. */
interface PlannedController {
  readonly controller: Class
  /** The interceptors around all its routes, from outside to inside. */
  readonly use: readonly UseList[]
}

interface Planning {
  readonly settings: Settings & { readonly closed: boolean; readonly clock: Clock }
  readonly customArguments: ArgumentResolvers
  /** The messages of a class's access problems, so that they are not reported again for each of its routes. */
  readonly reported: Set<string>
  readonly problems: Problems
}

/** All routes of the controllers, in the order of declaration. */
export function planRoutes(
  controllers: readonly PlannedController[],
  settings: Planning['settings'],
  customArguments: ArgumentResolvers,
  problems: Problems,
): PlannedRoute[] {
  const { basePath, versions } = settings
  const versionInPath = versions.by === 'path'
  const context = { basePath, versionInPath, customArguments: [...customArguments.keys()] }
  const table = new VersionedTable<Route>(versionReader(versions))
  const planning = { settings, customArguments, reported: new Set<string>(), problems }
  const planned: PlannedRoute[] = []
  for (const { controller, use } of controllers) {
    for (const route of collectRoutes(controller, context, problems)) {
      if (route.options.internal !== true)
        checkDuplicate(route, versionInPath ? undefined : route.version, table, problems)
      planned.push(planRoute(route, use, planning))
    }
  }
  return planned
}

function planRoute(
  route: Route,
  use: PlannedController['use'],
  { settings, customArguments, reported, problems }: Planning,
): PlannedRoute {
  const { versions, clock } = settings
  const { access, closedBy } = readAccess(route, settings.closed, reported, problems)
  const limits = readLimits(route, settings.limits, problems)
  const classes = declaredClasses(route, problems)
  problems.addAll(findArgumentProblems(route, classes, emittedTypesOf(route) ?? []))
  const unknownKeys = route.options.unknownKeys ?? settings.unknownKeys
  const status = route.options.status ?? 200
  const groups = readGroups(route, problems)
  const isFiltered = isConcealed(handlerOf(route))
  const now = (): number => clock.now()
  const checks = compileChecks(
    classes,
    { unknownKeys, groups, status, isFilteredForCaller: isFiltered, now },
    problems,
  )
  const names = route.argumentNames
  const isPersonal = names.includes('user') || checks.returnsForCaller !== undefined
  const personalRoute = isPersonal
    ? { ...route, argumentNames: [...new Set([...names, 'user'])] }
    : route
  const around = planInterceptors(
    { route: personalRoute, access, body: classes.body },
    use,
    problems,
  )
  return Object.freeze({
    route,
    access,
    closedBy,
    isPersonal,
    ofPackage: isOfPackage(route.controller),
    unknownKeys,
    limits,
    classes,
    checks,
    media: bodyMedia({ route, classes }, docMetadata(route.controller, route.member)),
    customArguments,
    ...around,
    documents: [
      ...documentVersion(versions, route.version),
      ...around.documents,
      ...(isFiltered && route.method === 'GET' ? [documentLive] : []),
    ],
    headers: headersOf(route, versions),
  })
}

function handlerOf({ controller, member }: Route): unknown {
  return (controller.prototype as Readonly<Record<string, unknown>>)[member]
}

/**
 * Refuses an empty list, which is ambiguous: it could mean no group, but class-validator reads it as all groups.
 */
function readGroups(route: Route, problems: Problems): readonly string[] | undefined {
  const { groups } = route.options
  if (groups === undefined) return undefined
  const value: unknown = groups
  if (Array.isArray(value) && value.length > 0 && value.every((one) => typeof one === 'string')) {
    return groups
  }
  problems.at(describeRoute(route)).add({
    code: 'INVALID_OPTION',
    message: 'groups is not a list of names.',
    remedy: `Name groups of class-validator, groups: ['create'], or omit it.`,
  })
  return undefined
}

/** The headers of all responses of a route. */
function headersOf(
  { controller, member, version }: Route,
  versions: ResolvedVersions,
): HeaderList | undefined {
  const varies = version === undefined ? undefined : variesBy(versions)
  const ends = docMetadata(controller, member).deprecation
  if (varies === undefined && ends === undefined) return undefined
  return HeaderList.from({ ...ends, ...(varies === undefined ? {} : { Vary: varies }) })
}

function checkDuplicate(
  route: Route,
  version: string | undefined,
  table: VersionedTable<Route>,
  problems: Problems,
): void {
  const first = table.add(route.method, route.pattern, route, version)
  if (first === undefined) return
  const subject =
    first.pattern.text === route.pattern.text
      ? `${route.method} ${route.pattern.text} is`
      : `${route.method} ${first.pattern.text} and ${route.pattern.text} match the same requests and are`
  const names =
    first.name === route.name ? `${route.name} twice` : `both ${first.name} and ${route.name}`
  problems.add({
    code: 'DUPLICATE_ROUTE',
    message: `${subject} declared by ${names}.`,
    remedy: 'Remove one or change its path.',
  })
}

function readAccess(
  route: Route,
  closed: boolean,
  reported: Set<string>,
  problems: Problems,
): Pick<PlannedRoute, 'access' | 'closedBy'> {
  const metadata = readHandlerAccess(route.controller, route.member)
  for (const problem of metadata.problems) {
    // A class's own problems are reported with its first handler only.
    if (reported.has(problem.message)) continue
    reported.add(problem.message)
    problems.add(problem)
  }
  const { onMethod, onClass, ofRecord: { record, rule } = {} } = metadata
  const docSecure = docMetadata(route.controller, route.member).secure
  const { method } = route
  const access = accessRule({ method, onMethod, onClass, ofRecord: rule, docSecure, closed })
  const isOpened = (onMethod ?? onClass)?.open === true
  return { access, closedBy: isOpened && !access.open ? record : undefined }
}

function readLimits(route: Route, limits: Limits, problems: Problems): Limits {
  const { limit } = route.options
  if (limit === undefined) return limits
  const size = readSize(limit)
  if (size === undefined) {
    problems.at(describeRoute(route)).add({
      code: 'INVALID_OPTION',
      message: `limit is ${JSON.stringify(limit)}.`,
      remedy: `Use bytes, or a size such as '20mb'.`,
    })
    return limits
  }
  return Object.freeze({ ...limits, body: size, file: size, multipart: multipartAround(size) })
}
