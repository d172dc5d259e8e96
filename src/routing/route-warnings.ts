/** Finds what is odd about routes and no fault: the log says so at bootstrap, the application starts. */
import type { Problem } from '../errors/declaration-error.js'
import type { Route } from './route.js'

/** @returns warnings of the codes `UNREACHABLE_ROUTE` and `BODY_ON_GET` */
export function findRouteWarnings(routes: readonly Route[]): Problem[] {
  return routes.flatMap((route) => {
    const where = `${route.method} ${route.pattern.text} (${route.name})`
    return [...unreachableSegments(route), ...unreadBody(route)].map((warning) => ({
      ...warning,
      message: `${where}: ${warning.message}`,
    }))
  })
}

function unreachableSegments({ pattern }: Route): Problem[] {
  const code = 'UNREACHABLE_ROUTE'
  return pattern.segments.flatMap((segment) => {
    if (segment.kind !== 'static') return []
    const { text } = segment
    if (text === '.' || text === '..') {
      const message = `clients resolve the segment "${text}" before they send a path.`
      return [{ code, message, remedy: 'Write the path it leads to.' }]
    }
    const escape = /%[\da-f]{2}/i.exec(text)?.[0]
    if (escape === undefined) return []
    const message = `"${escape}" stands for itself, since patterns are written decoded.`
    return [{ code, message, remedy: `Write the character: "${decoded(text)}".` }]
  })
}

function unreadBody({ method, argumentNames, options }: Route): Problem[] {
  if (method !== 'GET') return []
  const named = ['body', 'files'].find((name) => argumentNames.includes(name))
  if (named === undefined && options.body === undefined) return []
  const message = `asks for "${named ?? 'body'}", and the body of a GET request is never read.`
  const remedy = 'Declare the route with @Post, or take what it needs from `query`.'
  return [{ code: 'BODY_ON_GET', message, remedy }]
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}
