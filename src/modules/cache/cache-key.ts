/** The rule of `@CacheFor`: its problems, the cache key of a request, and which callers share a response. */
import {
  readSeconds,
  rejectUnknownOptions,
  type CallerAccess,
  type DecoratorProblem,
  type HttpRequest,
  type RouteInfo,
} from '../../index.js'

/** What a response depends on, in addition to the path. */
export type CacheBy = 'query' | 'user' | ((request: HttpRequest) => string | undefined)

export interface CacheRule {
  /** Default `['query']`. */
  by?: readonly CacheBy[]
}

/** Arguments that are the same for all callers. */
const sameForAllCallers: ReadonlySet<string> = new Set(['query'])
/** Arguments that show a handler the identity from the gate, but no other header. */
const identityArguments: ReadonlySet<string> = new Set(['query', 'user'])
/** Built-in arguments that do not contain the query. Custom arguments may contain it. */
const withoutQuery: ReadonlySet<string> = new Set(['user', 'session', 'cookies', 'headers'])

/** Problems that are reported at the start. */
export function findRuleProblems(
  time: unknown,
  rule: unknown,
  route: RouteInfo,
): DecoratorProblem[] {
  const { by = ['query'] } = (rule ?? {}) as { by?: unknown }
  const problems: DecoratorProblem[] = rejectUnknownOptions(rule, ['by'])
  if (readSeconds(time) === undefined) {
    problems.push({
      message: `its time is ${JSON.stringify(time)}`,
      remedy: "Write '60s' or '5m'.",
    })
  }
  const isField = route.controller === undefined
  // On a record, the decorator also applies to mutations, where it has no effect.
  if (route.method !== 'GET' && !isField) {
    problems.push({ message: 'caches GET only', remedy: 'Move it to a GET route.' })
  }
  const isValidBy = Array.isArray(by) && by.every(isBy)
  if (!isValidBy) {
    problems.push({ message: 'by is not a list', remedy: "Write by: ['query', 'user']." })
    return problems
  }
  const caller = findCallerArgument(route)
  const isPersonal = by.some((one) => one === 'user' || typeof one === 'function')
  if (isField && isPersonal) {
    problems.push({
      message: 'caches GraphQL results for anonymous callers only',
      remedy: 'Remove `by`.',
    })
  }
  if (caller !== undefined && !isPersonal) {
    problems.push({
      message: `its handler names ${caller}, so its response may depend on the caller`,
      remedy: "Write by: ['user'], or remove the argument.",
    })
  }
  return problems
}

function isBy(one: unknown): boolean {
  return one === 'query' || one === 'user' || typeof one === 'function'
}

/** The first argument that may identify the caller. */
function findCallerArgument(route: RouteInfo): string | undefined {
  return argumentsOutsidePath(route).find((name) => !sameForAllCallers.has(name))
}

function argumentsOutsidePath({ arguments: names, path }: RouteInfo): string[] {
  const inPath = new Set([...path.matchAll(/[<{]([\w$]+)/g)].map(([, name]) => name))
  return names.filter((name) => !inPath.has(name))
}

/** @returns a function that creates the cache key of a request */
export function createKeyReader(
  { by = ['query'] }: CacheRule,
  route: RouteInfo,
): (request: HttpRequest) => string {
  const names = argumentsOutsidePath(route)
  const byQuery = by.includes('query') || names.some((name) => !withoutQuery.has(name))
  const byUser = by.includes('user')
  const byCredentials = names.some((name) => !identityArguments.has(name))
  const customParts = by.filter((one) => typeof one === 'function')
  return (request) => {
    const parts: unknown[] = [request.path]
    if (byQuery) parts.push(queryOf(request))
    if (byUser) parts.push(userOf(request), byCredentials ? credentialsOf(request) : null)
    for (const readPart of customParts) parts.push(readPart(request))
    return JSON.stringify([route.name, parts])
  }
}

/**
 * @returns a function that checks whether requests with the same key may share a response, from what was read of the caller
 */
export function createShareCheck(
  { by = ['query'] }: CacheRule,
  route: RouteInfo,
): (reads: CallerAccess) => boolean {
  if (by.some((one) => typeof one === 'function')) return () => true
  if (!by.includes('user')) return ({ identity, sent }) => !identity && !sent
  const byCredentials = argumentsOutsidePath(route).some((name) => !identityArguments.has(name))
  return ({ sent }) => byCredentials || !sent
}

/** Independent of the order of the parameters. */
function queryOf({ url }: HttpRequest): string {
  const mark = url.indexOf('?')
  if (mark === -1) return ''
  return url
    .slice(mark + 1)
    .split('&')
    .map((pair, index) => ({ name: pair.split('=', 1)[0] ?? '', pair, index }))
    .sort((one, other) =>
      one.name === other.name ? one.index - other.index : one.name < other.name ? -1 : 1,
    )
    .map(({ pair }) => pair)
    .join('&')
}

/** Credentials that the gate does not check, but a handler may. */
function credentialsOf({ auth, headers }: HttpRequest): unknown {
  return [headers.cookie, auth === undefined ? headers.authorization : undefined]
}

/** Claims that describe the token, not the user. */
const tokenClaims: ReadonlySet<string> = new Set(['exp', 'iat', 'nbf', 'jti', 'auth_time'])

function userOf({ auth, user }: HttpRequest): unknown {
  if (auth?.by === 'key') return 'operator'
  if (user === null) return null
  return Object.entries(user)
    .filter(([name]) => !tokenClaims.has(name))
    .sort(([one], [other]) => (one < other ? -1 : 1))
}
