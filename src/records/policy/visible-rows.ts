/**
 * Calls `@Record({ rows })`, which decides which rows a caller may see and write. If the result is not `true`,
 * `false` or a filter, no row is visible, and the error is logged. Source: decisions, Records: access rules.
 */
import { silentLog, type Log } from '../../core/log.js'
import { isThenable } from '../../core/maybe-promise.js'
import type { Claims } from '../../http/request.js'
import type { Class } from '../../metadata/class.js'
import type { RowsCaller } from '../model/record.js'
import { skip } from '../model/skip.js'
import type { Table } from '../model/table.js'
import { anonymous, type Caller } from '../rights/caller.js'
import { providerOf, type RecordProviders } from '../statements/source.js'

export interface RowsParts {
  /** Receives errors of `rows`. */
  readonly log: Log
  /** Undefined outside applications. */
  readonly providers: Pick<RecordProviders, 'get'> | undefined
}

/** @returns a filter; true for all rows, if `rows` returns `true` or is not set; false for none */
export function visibleRows(
  table: Table,
  caller: Caller,
  { log, providers }: RowsParts,
): object | boolean {
  const { rows } = table.options
  if (rows === undefined || caller.trusted) return true
  try {
    const result: unknown = rows(caller.user, new RowsCallerContext(caller, providers))
    if (typeof result === 'boolean') return result
    const problem = findProblem(result, caller.user)
    if (problem === undefined) return result as object
    logProblem(table, log, problem)
    if (isThenable(result)) ignore(result, table, log)
  } catch (error) {
    logProblem(table, log, 'threw', error)
  }
  return false
}

/**
 * Describes the rows of a caller with these claims: `all`, `none`, `where {"owner":"7"}`, or the problem with the
 * result.
 */
export function describeRows(table: Table, claims: Claims | undefined): string {
  const problems: string[] = []
  const log = { ...silentLog, error: (_details: object, text: string) => void problems.push(text) }
  const auth = claims === undefined ? undefined : ({ by: 'token', claims } as const)
  const caller = { trusted: false, auth, user: claims ?? null, request: undefined }
  const result = visibleRows(table, caller, { log, providers: undefined })
  if (typeof result === 'object') return `where ${JSON.stringify(result)}`
  if (result) return 'all'
  return ['none', ...problems].join(': ')
}

/**
 * Whether a caller without a sign-in may see rows. If `rows` needs a provider, which does not exist yet, the result is
 * true, because nothing excludes it.
 */
export function showsAnonymous(table: Table): boolean {
  let needsProvider = false
  const providers = {
    get: (): never => {
      needsProvider = true
      throw new Error('Providers are not created yet.')
    },
  }
  return visibleRows(table, anonymous, { log: silentLog, providers }) !== false || needsProvider
}

/** Logs that the result of `rows` is invalid. */
export function logProblem({ type }: Table, log: Log, problem: string, error?: unknown): void {
  const message = `${type.name}: rows ${problem}. No row is visible. It must return a filter such as { owner: user.sub }, true or false.`
  log.error(
    error === undefined ? { record: type.name } : { record: type.name, err: error },
    message,
  )
}

class RowsCallerContext implements RowsCaller {
  readonly by?: 'key' | 'token'
  readonly #providers: Pick<RecordProviders, 'get'> | undefined

  constructor({ auth }: Caller, providers: Pick<RecordProviders, 'get'> | undefined) {
    if (auth !== undefined) this.by = auth.by === 'key' ? 'key' : 'token'
    this.#providers = providers
  }

  get get(): RowsCaller['get'] {
    return <P>(token: Class<P> | string | symbol) =>
      providerOf(this.#providers, token as Class) as P
  }
}

/** Handles the rejection of a promise that nothing awaits, because it would end the process. */
function ignore(result: PromiseLike<unknown>, table: Table, log: Log): void {
  Promise.resolve(result).catch((error: unknown) => {
    logProblem(table, log, 'rejected', error)
  })
}

/** @returns the problem with a result, as the end of a sentence that begins with `rows` */
function findProblem(result: unknown, user: Claims | null): string | undefined {
  if (isThenable(result)) return 'returned a promise'
  if (!isPlain(result)) return `returned ${nameOf(result)}, which is not a filter`
  const claimObjects = user === null ? none : objectsOf(user)
  return findProblemIn(result, claimObjects, [])
}

/** @param path the names that lead to the value */
function findProblemIn(
  value: unknown,
  claimObjects: ReadonlySet<unknown>,
  path: readonly string[],
): string | undefined {
  if (value === undefined || value === skip) {
    const valueName = value === skip ? 'skip' : 'undefined'
    return `returned a filter whose ${path.join('.')} is ${valueName}`
  }
  if (typeof value !== 'object' || value === null) return undefined
  if (claimObjects.has(value)) {
    // `in` may have a list of texts or numbers. Any other object from the claims would let the token choose the
    // operators of the filter.
    const isNames = path.at(-1) === 'in' && Array.isArray(value) && value.every(isScalar)
    return isNames ? undefined : 'returned a filter with an object or a list from the claims'
  }
  if (value instanceof Date || value instanceof Uint8Array) return undefined
  if (Array.isArray(value)) {
    // An empty `and` would match every row.
    if (value.length === 0 && path.at(-1) === 'and') return 'returned a filter without a condition'
    const indexes = Array.from(value.keys())
    return firstProblem(indexes, (index) =>
      findProblemIn(value[index], claimObjects, [...path, `${index}`]),
    )
  }
  if (!isPlain(value)) return `returned a filter with ${nameOf(value)} in it`
  const keys = Object.keys(value)
  if (keys.length === 0) return 'returned a filter without a condition'
  return firstProblem(keys, (key) => findProblemIn(value[key], claimObjects, [...path, key]))
}

function firstProblem<T>(items: readonly T[], find: (item: T) => string | undefined) {
  for (const item of items) {
    const problem = find(item)
    if (problem !== undefined) return problem
  }
  return undefined
}

const none: ReadonlySet<unknown> = new Set()
const cachedClaimObjects = new WeakMap<object, ReadonlySet<unknown>>()

/**
 * All objects and lists in the claims, for recognition by identity. Claims are frozen, so they are collected once.
 */
function objectsOf(claims: Claims): ReadonlySet<unknown> {
  const before = cachedClaimObjects.get(claims)
  if (before !== undefined) return before
  const found = new Set<unknown>([claims])
  for (const one of found) {
    for (const value of Object.values(one as object)) {
      if (typeof value === 'object' && value !== null) found.add(value)
    }
  }
  if (Object.isFrozen(claims)) cachedClaimObjects.set(claims, found)
  return found
}

function isPlain(value: unknown): value is Record<string, unknown> {
  if (typeof value !== 'object' || value === null) return false
  const prototype: unknown = Object.getPrototypeOf(value)
  return prototype === Object.prototype || prototype === null
}

function isScalar(value: unknown): boolean {
  return typeof value !== 'object' && value !== undefined
}

function nameOf(value: unknown): string {
  if (value === null || value === undefined) return String(value)
  if (typeof value !== 'object') return `a ${typeof value}`
  const { name } = (value as { constructor?: { name?: unknown } }).constructor ?? {}
  return typeof name === 'string' && name !== '' ? `a ${name}` : 'an object without a class'
}
