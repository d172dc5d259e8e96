/**
 * Compiles a shape into the check of an input, which converts parsed JSON to an instance or throws a 400 with every
 * violation. Source: decisions, Responses.
 */
import { isMap } from '../core/json.js'
import { DeclarationError } from '../errors/declaration-error.js'
import { Problems } from '../errors/problems.js'
import { CheckWriter } from './check-code.js'
import type { RuleScope } from './check-constraints.js'
import { type CheckFunction, runDeferred, type DeferredCheck } from './constraint-runner.js'
import { FunctionSet } from './function-set.js'
import {
  addViolation,
  maxViolations,
  prefixPaths,
  toHttpError,
  type Violation,
} from './violations.js'
import { type Shape, readShape } from './shape.js'
import { readConstraints, type Constraint } from './class-validator.js'

export interface InputOptions {
  /** Whether a key without a field is refused with 400 or left out. Default `refuse`. */
  unknownKeys?: 'refuse' | 'drop'
  /**
   * For updates: every key may be absent, and defaults are not applied. Nested objects stay complete. Default false.
   */
  partial?: boolean
  /** The input is a list of such objects. Default false. */
  list?: boolean
  /**
   * The sender of the input. Only a program may set read-only and hidden fields and a record's key. Default `client`.
   */
  from?: 'client' | 'program'
  /** The name of the input in messages. Default `the body`. */
  inputName?: string
  /** `field` omits the rules that need the complete object, `object` checks only those. Default `all`. */
  scope?: RuleScope
  /** Only class-validator's rules of these groups. Default: all rules, as its `validate()` does. */
  groups?: readonly string[]
  /** The time that `default: 'now'` takes, in milliseconds since 1970. Default: the system's. */
  now?: () => number
  /** Receives the declaration problems of the shape's nested classes. Default: they are thrown. */
  problems?: Problems
}

/**
 * Checks a value and builds the instance. Returns a promise only if an asynchronous class-validator rule returned one.
 *
 * @throws {HttpError} 400 `VALIDATION`; `errors` has at most 50 violations by path (a promise rejects with it)
 */
export type InputCheck<T> = (value: unknown) => T | Promise<T>

/**
 * Compiles the check of a shape. It does not convert the input: `"5"` is not a number. It reads each property once.
 *
 * ```ts
 * const check = compileInput(readShape(NewItem))
 * check({ name: 'Lamp', price: 9 })             // NewItem { name: 'Lamp', price: 9 }
 * check({ name: 5 })                             // 400 name must be a string; price is required
 * ```
 *
 * @throws {DeclarationError} if a nested class has problems and `problems` is not set
 */
export function compileInput<T extends object>(
  shape: Shape<T>,
  options: InputOptions & { list: true },
): InputCheck<T[]>
export function compileInput<T extends object>(
  shape: Shape<T>,
  options?: InputOptions,
): InputCheck<T>
export function compileInput(shape: Shape, options: InputOptions = {}): InputCheck<unknown> {
  const { build, hasDeferredRules } = compileBuilder(shape, options)
  const inputName = options.inputName ?? 'the body'
  const order = createViolationOrder(shape, options.list)
  return (value) => {
    const violations: Violation[] = []
    const deferred: DeferredCheck[] = hasDeferredRules ? [] : noDeferredChecks
    const built = buildSafely(build, value, {
      violations,
      deferred,
      inputName,
    })
    if (deferred.length > 0) return finishCheck(built, { violations, deferred, inputName, order })
    if (violations.length > 0) throw toHttpError(order(violations, violations.length), inputName)
    return built
  }
}

/**
 * Compiles the rules of a shape that need the complete object: conditions, custom and asynchronous constraints.
 *
 * @returns `undefined` if there are none
 */
export function compileObjectRules(
  shape: Shape,
  options: Pick<InputOptions, 'from' | 'inputName'>,
): InputCheck<object> | undefined {
  const all: InputOptions = { ...options, scope: 'object', unknownKeys: 'drop' }
  return compileBuilder(shape, all).hasDeferredRules ? compileInput(shape, all) : undefined
}

/** One run of a check. */
export interface CheckRun {
  readonly violations: Violation[]
  readonly deferred: DeferredCheck[]
  readonly inputName: string
  readonly order: ViolationOrder
}

/**
 * Sorts violations into the order in which they are sent. The first `immediateCount` were found before anything was
 * awaited.
 */
type ViolationOrder = (
  violations: readonly Violation[],
  immediateCount: number,
) => readonly Violation[]

export function createViolationOrder(shape: Shape, isList = false): ViolationOrder {
  return (violations, immediateCount) => orderViolations(shape, violations, immediateCount, isList)
}

export type BuildInstance = (
  value: unknown,
  violations: Violation[],
  deferred: DeferredCheck[],
) => unknown

/** Compiles the part that builds the instance. The caller runs the deferred checks and reports the violations. */
export function compileBuilder(
  shape: Shape,
  options: InputOptions,
): { build: BuildInstance; hasDeferredRules: boolean } {
  const functions = new FunctionSet()
  const problems = new Problems()
  const writer = new CheckWriter(functions, {
    unknownKeys: options.unknownKeys ?? 'refuse',
    partial: options.partial ?? false,
    from: options.from ?? 'client',
    groups: options.groups,
    scope: options.scope ?? 'all',
    now: options.now ?? Date.now,
    problems,
  })
  const name = collectProblems(problems, () => writer.functionFor(shape, true))
  if (name === undefined || problems.count > 0) {
    if (options.problems === undefined) throw new DeclarationError(problems.list)
    options.problems.addAll(problems.list)
    // Never called, because an application with problems does not start.
    return { build: () => undefined, hasDeferredRules: false }
  }
  const check = functions.compile(name) as CheckFunction
  return {
    build: options.list === true ? buildList(check) : buildOne(check),
    hasDeferredRules: writer.hasDeferredRules,
  }
}

/** Adds the problems that the thunk of a nested class throws. */
function collectProblems<T>(problems: Problems, make: () => T): T | undefined {
  try {
    return make()
  } catch (error) {
    if (!(error instanceof DeclarationError)) throw error
    problems.addAll(error.problems)
    return undefined
  }
}

function buildOne(check: CheckFunction): BuildInstance {
  return (value, violations, deferred) => {
    if (isMap(value)) return check(value, violations, deferred, 1)
    addViolation(violations, '', 'type', 'must be an object')
    return undefined
  }
}

function buildList(check: CheckFunction): BuildInstance {
  const buildItem = buildOne(check)
  return (value, violations, deferred) => {
    const list: unknown[] = []
    if (!Array.isArray(value)) addViolation(violations, '', 'type', 'must be a list')
    else {
      for (let index = 0; index < value.length && violations.length < maxViolations; index++) {
        const before = violations.length
        const deferredBefore = deferred.length
        list.push(buildItem(value[index], violations, deferred))
        if (violations.length > before) prefixPaths(violations, before, String(index))
        if (deferred.length > deferredBefore) prefixPaths(deferred, deferredBefore, String(index))
      }
    }
    return list
  }
}

/**
 * A program's value may throw when it is read, for example by a getter. This is a violation of the input, not an error of
 * the server.
 */
export function buildSafely(
  build: BuildInstance,
  value: unknown,
  { violations, deferred, inputName }: Omit<CheckRun, 'order'>,
): unknown {
  try {
    return build(value, violations, deferred)
  } catch (cause) {
    if (isReadable(value)) throw cause
    const unreadable: Violation = { path: '', code: 'type', text: 'cannot be read' }
    throw toHttpError([unreadable], inputName, cause)
  }
}

/** Runs the deferred checks, which need the complete input, and returns the result. */
export function finishCheck<T>(
  built: T,
  { violations, deferred, inputName, order }: CheckRun,
): T | Promise<T> {
  const before = violations.length
  let immediateCount = before
  try {
    const pending = runDeferred(deferred, violations)
    immediateCount = violations.length
    if (pending !== undefined) return pending.then(() => finish())
  } catch (cause) {
    // A rule of the application threw for an input that is invalid anyway.
    if (before > 0) throw toHttpError(violations, inputName, cause)
    throw cause
  }
  return finish()

  function finish(): T {
    if (violations.length > 0) throw toHttpError(order(violations, immediateCount), inputName)
    return built
  }
}

function isReadable(value: unknown): boolean {
  try {
    JSON.stringify(value)
    return true
  } catch {
    return false
  }
}

/** Shared by all checks without deferred rules. Nothing is added to it. */
const noDeferredChecks: DeferredCheck[] = []

interface PropertyOrder {
  readonly rank: number
  readonly ruleRanks: ReadonlyMap<unknown, number>
  readonly nested: (() => Shape) | undefined
}

/** By property. Null for a class with `@Field` declarations, whose violations are found in the right order. */
const orders = new WeakMap<Shape, ReadonlyMap<string, PropertyOrder> | null>()

/**
 * Sorts the violations of a class that only class-validator describes into class-validator's order: unknown keys first,
 * then property by property, the rules of a property in the order of declaration before violations inside its value.
 * Source: class-validator, src/validation/ValidationExecutor.ts.
 *
 * @param immediateCount the number of violations that were found before anything was awaited
 * @param isList the input is a list of such objects
 */
function orderViolations(
  shape: Shape,
  violations: readonly Violation[],
  immediateCount: number,
  isList: boolean,
): readonly Violation[] {
  if (violations.length < 2 || (!isList && orderOf(shape) === null)) return violations
  const ranked = violations.map((violation, index) => {
    const isDeferred = index >= immediateCount
    return { violation, rank: rankOf(shape, violation, isDeferred, isList) }
  })
  return ranked
    .sort((one, other) => compare(one.rank, other.rank))
    .map(({ violation }) => violation)
}

function rankOf(
  root: Shape,
  { path, metadata }: Violation,
  isDeferred: boolean,
  isList: boolean,
): number[] {
  const rank: number[] = []
  let shape: Shape | undefined = root
  let rest = path.split('.')
  if (isList) rank.push(Number(rest.shift()))
  while (shape !== undefined) {
    const properties = orderOf(shape)
    if (properties === null) return rank
    const property = properties.get(rest[0] ?? '')
    if (property === undefined) return [...rank, -1]
    rank.push(property.rank)
    rest = rest.slice(1)
    if (rest.length === 0) {
      const order = property.ruleRanks.get(metadata) ?? property.ruleRanks.size
      return [...rank, 0, isDeferred ? 1 : 0, order]
    }
    rank.push(1)
    while (/^\d+$/.test(rest[0] ?? '')) rank.push(Number(rest.shift()))
    shape = property.nested?.()
  }
  return rank
}

function compare(one: readonly number[], other: readonly number[]): number {
  for (const [index, rank] of one.entries()) {
    const otherRank = other[index]
    if (otherRank === undefined) return 0
    if (rank !== otherRank) return rank - otherRank
  }
  return 0
}

function orderOf(shape: Shape): ReadonlyMap<string, PropertyOrder> | null {
  let cached = orders.get(shape)
  if (cached === undefined) orders.set(shape, (cached = readOrder(shape)))
  return cached
}

function readOrder({ type, fields, byName }: Shape): ReadonlyMap<string, PropertyOrder> | null {
  if (fields.some(({ declared }) => declared !== undefined)) return null
  const properties = new Map<string, PropertyOrder>()
  for (const [name, constraints] of readConstraints(type)) {
    const nested = byName.get(name)?.nested
    properties.set(name, {
      rank: properties.size,
      ruleRanks: new Map(
        [...isDefinedRules(constraints), ...otherRules(constraints)].map((one, index) => [
          one.metadata,
          index,
        ]),
      ),
      nested: nested && (() => readShape(nested())),
    })
  }
  return properties
}

/** class-validator runs these rules first. */
function isDefinedRules(constraints: readonly Constraint[]): Constraint[] {
  return constraints.filter(({ metadata }) => metadata.type === 'isDefined')
}

function otherRules(constraints: readonly Constraint[]): Constraint[] {
  return constraints.filter(({ metadata }) => metadata.type !== 'isDefined')
}
