import type { Problem } from '../errors/declaration-error.js'
import { emittedArgumentTypes } from '../metadata/dialect.js'
import { describeRoute, type Route } from './route.js'

/**
 * Finds suspicious routes. They are logged as warnings, and the application starts.
 *
 * @returns warnings with the codes `UNREACHABLE_ROUTE`, `BODY_ON_GET` and `BODY_UNCHECKED`
 */
export function findRouteWarnings(routes: readonly Route[]): Problem[] {
  return [...routes.flatMap(warningsOf), ...uncheckedBodies(routes)]
}

function warningsOf(route: Route): Problem[] {
  return [...unreachableSegments(route), ...unreadBody(route)].map((warning) => ({
    ...warning,
    message: `${describeRoute(route)}: ${warning.message}`,
  }))
}

/** Body types in the source have no effect if the compiler emits no types. One warning names all such routes. */
function uncheckedBodies(routes: readonly Route[]): Problem[] {
  // A handler with several routes is named once.
  const names = new Set(routes.filter(takesUnknownBody).map(({ name }) => name))
  if (names.size === 0) return []
  const message = `${[...names].join(', ')}: the body is not checked, because the compiler emits no types.`
  const remedy =
    'Write { body: NewItem } in the options of the route, or { body: Object } if any value is allowed.'
  return [{ code: 'BODY_UNCHECKED', message, remedy }]
}

function takesUnknownBody({ method, controller, member, argumentNames, options }: Route): boolean {
  if (method === 'GET' || options.body !== undefined || !argumentNames.includes('body'))
    return false
  return emittedArgumentTypes(controller, member) === undefined
}

function unreachableSegments({ pattern }: Route): Problem[] {
  const code = 'UNREACHABLE_ROUTE'
  return pattern.segments.flatMap((segment) => {
    if (segment.kind !== 'static') return []
    const { text } = segment
    if (text === '.' || text === '..') {
      const message = `clients resolve the segment "${text}" before they send a path.`
      return [{ code, message, remedy: 'Write the resolved path.' }]
    }
    const escape = /%[\da-f]{2}/i.exec(text)?.[0]
    if (escape === undefined) return []
    const message = `"${escape}" matches only this text, because patterns are written decoded.`
    return [{ code, message, remedy: `Write the character: "${decoded(text)}".` }]
  })
}

function unreadBody({ method, argumentNames, options }: Route): Problem[] {
  if (method !== 'GET') return []
  const named = ['body', 'files'].find((name) => argumentNames.includes(name))
  if (named === undefined && options.body === undefined) return []
  const message = `uses "${named ?? 'body'}", but the body of a GET request is never read.`
  const remedy = 'Declare the route with @Post, or use `query`.'
  return [{ code: 'BODY_ON_GET', message, remedy }]
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}
