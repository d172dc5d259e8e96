/** Finds the routes that are most similar to a request without a route, to suggest them to the developer. */
import { editDistance } from '../errors/did-you-mean.js'
import { type Pattern, type Segment, restType } from './pattern.js'

export interface NearRoute {
  readonly method: string
  readonly pattern: Pattern
}

const maxRoutes = 6
/** Longer paths are cut, because comparing takes time that grows with the square of the length. */
const maxSegments = 16
const maxSegmentLength = 64

/** Costs of a difference between two paths. Two segments without a common letter cost 1. */
const costs = { segment: 0.8, method: 0.3, parameter: 0.25, wrongType: 0.6 }

/**
 * @param path as the request has it, without the query
 * @returns the most similar routes, the best first. Routes of equal similarity keep their order
 */
export function findNearestRoutes<Route extends NearRoute>(
  routes: readonly Route[],
  method: string,
  path: string,
): Route[] {
  const segments = path
    .split('/')
    .filter((segment) => segment !== '')
    .slice(0, maxSegments)
    .map((segment) => segment.slice(0, maxSegmentLength).toLowerCase())
  const ranked = routes.map((route) => {
    const cost = pathDistance(route.pattern.segments, segments)
    return { route, cost: cost + (route.method === method ? 0 : costs.method) }
  })
  return ranked
    .sort((a, b) => a.cost - b.cost)
    .slice(0, maxRoutes)
    .map(({ route }) => route)
}

/** The edit distance (Levenshtein) between the segments of a pattern and of a path. */
function pathDistance(pattern: readonly Segment[], path: readonly string[]): number {
  let last = Array.from({ length: path.length + 1 }, (_, column) => column * costs.segment)
  for (const [row, segment] of pattern.entries()) {
    const current = [(row + 1) * costs.segment]
    for (const [column, text] of path.entries()) {
      const replaced = (last[column] ?? 0) + segmentDistance(segment, text)
      const removed = (last[column + 1] ?? 0) + costs.segment
      const added = (current[column] ?? 0) + (isRest(segment) ? 0 : costs.segment)
      current.push(Math.min(replaced, removed, added))
    }
    last = current
  }
  return last[path.length] ?? 0
}

function segmentDistance(segment: Segment, text: string): number {
  if (segment.kind === 'parameter')
    return segment.type.convert(text) === undefined ? costs.wrongType : costs.parameter
  const expected = segment.text.slice(0, maxSegmentLength).toLowerCase()
  return editDistance(expected, text) / Math.max(expected.length, text.length)
}

/** A parameter of type `path` takes any number of segments. */
function isRest(segment: Segment): boolean {
  return segment.kind === 'parameter' && segment.type === restType
}
