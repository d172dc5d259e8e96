/** The route over which the browser client has all live answers of a page. */
import { joinPaths, parsePattern } from '../routing/pattern.js'
import { frameworkRoute, type FrameworkRoute } from '../serving/framework-route.js'
import { openLiveQueries, liveQueriesPath, type Serve } from '../serving/live-queries.js'
import { promiseOf, readWithin, type ServeContext } from '../serving/serve-route.js'
import type { Settings } from './options.js'

/** Bytes of all asks together. */
const mostBytes = 256 * 1024

/** Open to everybody, since each ask is admitted by its own route; a token that comes is judged, and rotated, here. */
export function liveAsksRoute(
  { basePath, limits }: Settings,
  { gate, times }: ServeContext,
  serve: Serve,
): FrameworkRoute {
  const pattern = parsePattern(joinPaths(basePath, liveQueriesPath), 'bootstrap live', [])
  if (pattern === undefined) throw new Error(`${basePath}${liveQueriesPath} is no path.`)
  const readBody = readWithin({ limits: { ...limits, body: mostBytes }, declared: false }, times)
  return frameworkRoute({
    pattern,
    name: 'live',
    method: 'POST',
    before: [(request) => promiseOf(gate.recognise(request)), readBody],
    invoke: (request) => openLiveQueries(request, serve),
    after: [(request) => promiseOf(gate.rotate(request))],
    timeout: times.handler,
  })
}
