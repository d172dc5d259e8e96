/** The tools as a caller may see them: their descriptions are made for the rights of the caller. Source: decisions, Records: access rules. */
import {
  describeRecord,
  visibleRecords,
  type ApplicationState,
  type Class,
  type HttpRequest,
  type RouteDescriptions,
  type RouteInfo,
  type Routes,
} from '../../index.js'
import type { EntryView } from './access-list.js'
import { describeTool, type RouteTool } from './tool-schema.js'

/** @returns undefined if the descriptions of all tools are the same for all callers */
export function createCallerView(
  tools: readonly RouteTool[],
  routes: Routes,
  { database, records }: ApplicationState,
): ((request: HttpRequest) => Promise<EntryView<RouteTool>>) | undefined {
  const listed = tools.map(({ route }) => route)
  const secured = records.filter((type) => (describeRecord(type)?.secured.length ?? 0) > 0)
  if (database === undefined || secured.length === 0) return undefined
  const named = findNamedClasses(routes, listed)
  const restricted = secured.filter((type) => named.has(type))
  if (restricted.length === 0) return undefined
  return async (request) => {
    const visible = await visibleRecords(database, restricted, request)
    let descriptions: RouteDescriptions | undefined
    return {
      key: visible.key,
      describe: (tool) => {
        descriptions ??= routes.describe(listed, visible)
        return describeTool(tool, descriptions, visible)
      },
    }
  }
}

/** The classes whose members the descriptions name. */
function findNamedClasses(routes: Routes, listed: readonly RouteInfo[]): ReadonlySet<Class> {
  const named = new Set<Class>()
  const shows = (type: Class): boolean => {
    named.add(type)
    return true
  }
  routes.describe(listed, { shows, textOf: (_type, text) => text })
  return named
}
