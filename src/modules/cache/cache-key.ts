/** The rule of `@CacheFor`: how long an answer is kept, and which callers share it. */
import {
  readSeconds,
  rejectUnknownOptions,
  type CallerAccess,
  type DecoratorProblem,
  type HttpRequest,
  type RouteInfo,
} from '../../index.js'

/** What the answer depends on, besides the path. */
export type CacheBy = 'query' | 'user' | ((request: HttpRequest) => string | undefined)

export interface CacheRule {
  /** Default `['query']`. */
  by?: readonly CacheBy[]
}

/** Arguments that are the same for all callers. */
const sameForAllCallers: ReadonlySet<string> = new Set(['query'])
/** Arguments that show a handler what its gate has read, and no other header. */
const identityArguments: ReadonlySet<string> = new Set(['query', 'user'])
/** Arguments of the framework that show no query; the application's own may. */
const withoutQuery: ReadonlySet<string> = new Set(['user', 'session', 'cookies', 'headers'])

/** The faults to report at the start. */
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
  // On a record it also applies to the mutations made for it, where it has no effect.
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
      message: 'keeps answers of GraphQL for callers without a token alone',
      remedy: 'Take `by` out.',
    })
  }
  if (caller !== undefined && !isPersonal) {
    problems.push({
      message: `its handler names ${caller}, so its answer may depend on the caller`,
      remedy: "Write by: ['user'], or remove the argument.",
    })
  }
  return problems
}

function isBy(one: unknown): boolean {
  return one === 'query' || one === 'user' || typeof one === 'function'
}

/** The first argument by which a handler may recognize its caller. */
function findCallerArgument(route: RouteInfo): string | undefined {
  return argumentsOutsidePath(route).find((name) => !sameForAllCallers.has(name))
}

function argumentsOutsidePath({ arguments: names, path }: RouteInfo): string[] {
  const inPath = new Set([...path.matchAll(/[<{]([\w$]+)/g)].map(([, name]) => name))
  return names.filter((name) => !inPath.has(name))
}

/** @returns a function that makes the key of a request */
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

/** @returns whether all requests of one key may have an answer, by what was read of its caller */
export function createShareCheck(
  { by = ['query'] }: CacheRule,
  route: RouteInfo,
): (reads: CallerAccess) => boolean {
  if (by.some((one) => typeof one === 'function')) return () => true
  if (!by.includes('user')) return ({ identity, sent }) => !identity && !sent
  const byCredentials = argumentsOutsidePath(route).some((name) => !identityArguments.has(name))
  return ({ sent }) => byCredentials || !sent
}

/** The same for every order of the names. */
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

/** What a handler may recognize a caller by whom the gate does not know. */
function credentialsOf({ auth, headers }: HttpRequest): unknown {
  return [headers.cookie, auth === undefined ? headers.authorization : undefined]
}

/** Claims that describe the token and not the user. */
const tokenClaims: ReadonlySet<string> = new Set(['exp', 'iat', 'nbf', 'jti', 'auth_time'])

function userOf({ auth, user }: HttpRequest): unknown {
  if (auth?.by === 'key') return 'operator'
  if (user === null) return null
  return Object.entries(user)
    .filter(([name]) => !tokenClaims.has(name))
    .sort(([one], [other]) => (one < other ? -1 : 1))
}
