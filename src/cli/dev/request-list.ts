/** The list of recorded requests: what a row shows, and which requests contain a text. */
import { isOfPackage } from '../../bootstrap/module.js'
import type { HttpRequest } from '../../http/request.js'
import type { RecordedRequest, RecordedStep } from './recorder.js'

/** Files that a page loads by itself, requests to pages of the framework and of packages, and all others. */
export type RequestKind = 'application' | 'asset' | 'framework'

const assetPath =
  /\.(?:avif|css|eot|gif|ico|jpe?g|m?js|map|otf|png|svg|ttf|webmanifest|webp|woff2?)$|^\/\.well-known\//i
const assetUses: ReadonlySet<string> = new Set([
  ...['audio', 'font', 'image', 'manifest', 'script', 'style', 'track', 'video', 'worker'],
])

/** @param path without the query */
export function kindOf({ route, headers, method }: HttpRequest, path: string): RequestKind {
  if (route?.controller !== undefined)
    return isOfPackage(route.controller) ? 'framework' : 'application'
  const isAsset =
    route?.name === 'static' ||
    assetUses.has(headers['sec-fetch-dest'] ?? '') ||
    (route === undefined && assetPath.test(path))
  if (isAsset) return 'asset'
  // Operations of GraphQL and live queries are the application's. The IDE is read with GET.
  const isOperation = method === 'POST' && (route?.name === 'graphql' || route?.name === 'live')
  return route === undefined || isOperation ? 'application' : 'framework'
}

/** A request in the list. */
export interface RequestSummary extends Pick<
  RecordedRequest,
  'number' | 'time' | 'method' | 'url' | 'route' | 'status' | 'ms' | 'caller' | 'kind'
> {
  readonly statements: number
  readonly failed: boolean
}

export function toSummary(request: RecordedRequest): RequestSummary {
  const { number, time, method, url, route, status, ms, caller, kind, fault } = request
  const statements = countStatements(request.steps)
  return {
    ...{ number, time, method, url, route, status, ms, caller, kind, statements },
    failed: fault !== null,
  }
}

function countStatements(steps: readonly RecordedStep[]): number {
  return steps.reduce(
    (sum, step) => sum + (step.kind === 'statement' ? 1 : 0) + countStatements(step.steps),
    0,
  )
}

/** Looks for a text in everything that the page shows of a request: its address, body, headers, SQL, log and error. */
export function containsText(request: RecordedRequest, text: string): boolean {
  return JSON.stringify(request)
    .toLowerCase()
    .includes(JSON.stringify(text.toLowerCase()).slice(1, -1))
}
