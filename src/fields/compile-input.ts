/** Compiles a shape into the check of an input: from what was parsed to an instance, or 400 with every fault. Source: decisions, Responses. */
import { isMap } from '../core/json.js'
import { addProblems, DeclarationError, type Problem } from '../errors/declaration-error.js'
import { CheckWriter } from './check-code.js'
import type { RulePart } from './check-constraints.js'
import type { CheckFunction } from './check-runtime.js'
import { FunctionSet } from './function-set.js'
import { addFault, mostFaults, prefixPaths, toHttpError, type Fault } from './faults.js'
import { orderFaults } from './fault-order.js'
import { runLate, type LateEntry } from './late-constraints.js'
import type { Shape } from './shape.js'

export interface InputOptions {
  /** A key that no field has: refused with 400, or left out. Default `refuse`. */
  unknownKeys?: 'refuse' | 'drop'
  /** For updates: every key may be absent, defaults are not applied. Nested objects stay whole. Default false. */
  partial?: boolean
  /** The input is a list of such objects. Default false. */
  list?: boolean
  /**
   * Who sends the input: a client may not name read-only and hidden fields or a record's key; a program may. Default
   * `client`.
   */
  from?: 'client' | 'program'
  /** What the input is called in messages. Default `the body`. */
  whole?: string
  /** `own` leaves out the rules that look at the whole object, `row` asks nothing else. Default `all`. */
  part?: RulePart
  /** Only class-validator's rules of these groups. Default: all rules, as its `validate()` does. */
  groups?: readonly string[]
  /** The time that `default: 'now'` takes, in milliseconds since 1970. Default: the system's. */
  now?: () => number
  /** Gets the faults of the shape's nested classes; without it they are thrown. */
  problems?: Problem[]
}

/**
 * Checks a value and builds the instance. Answers a promise only where an asynchronous rule of class-validator did.
 *
 * @throws {HttpError} 400 `VALIDATION`, `errors` naming at most 50 faults by path (a promise rejects with it)
 */
export type Check<T> = (value: unknown) => T | Promise<T>

/**
 * The compiled check of a shape. Nothing of the input is called or converted: `"5"` is no number, and a getter is read once.
 *
 * ```ts
 * const check = compileInput(readShape(NewItem))
 * check({ name: 'Lamp', price: 9 })             // NewItem { name: 'Lamp', price: 9 }
 * check({ name: 5 })                             // 400 name must be a string; price is required
 * ```
 *
 * @throws {DeclarationError} a nested class has faults and nobody collects them
 */
export function compileInput<T extends object>(
  shape: Shape<T>,
  options: InputOptions & { list: true },
): Check<T[]>
export function compileInput<T extends object>(shape: Shape<T>, options?: InputOptions): Check<T>
export function compileInput(shape: Shape, options: InputOptions = {}): Check<unknown> {
  const { build, waits } = compileBuild(shape, options)
  const whole = options.whole ?? 'the body'
  const order = inOrder(shape, options.list)
  return (value) => {
    const faults: Fault[] = []
    const late: LateEntry[] = waits ? [] : nothing
    const built = buildSafely(build, value, { faults, late, whole })
    if (late.length > 0) return settle(built, { faults, late, whole, order })
    if (faults.length > 0) throw toHttpError(order(faults, faults.length), whole)
    return built
  }
}

/**
 * The rules of a shape that look at the whole object: conditions, custom and asynchronous constraints.
 *
 * @returns `undefined` where there are none
 */
export function compileRowRules(
  shape: Shape,
  options: Pick<InputOptions, 'from' | 'whole'>,
): Check<object> | undefined {
  const all: InputOptions = { ...options, part: 'row', unknownKeys: 'drop' }
  return compileBuild(shape, all).waits ? compileInput(shape, all) : undefined
}

/** One run of a check. */
export interface CheckRun {
  readonly faults: Fault[]
  readonly late: LateEntry[]
  readonly whole: string
  readonly order: Order
}

/** The faults in the order in which they are sent; `atOnce` of them were found before anything was awaited. */
type Order = (faults: readonly Fault[], atOnce: number) => readonly Fault[]

export function inOrder(shape: Shape, isList = false): Order {
  return (faults, atOnce) => orderFaults(shape, faults, atOnce, isList)
}

export type Build = (value: unknown, faults: Fault[], late: LateEntry[]) => unknown

/** The part of the check that is compiled; the caller runs what waits and answers. */
export function compileBuild(
  shape: Shape,
  options: InputOptions,
): { build: Build; waits: boolean } {
  const functions = new FunctionSet()
  const problems: Problem[] = []
  const writer = new CheckWriter(functions, {
    unknownKeys: options.unknownKeys ?? 'refuse',
    partial: options.partial ?? false,
    from: options.from ?? 'client',
    groups: options.groups,
    part: options.part ?? 'all',
    now: options.now ?? Date.now,
    problems,
  })
  const name = collecting(problems, () => writer.functionFor(shape, true))
  if (name === undefined || problems.length > 0) {
    if (options.problems === undefined) throw new DeclarationError(problems)
    addProblems(problems, options.problems)
    // Never run: an application with problems does not start.
    return { build: () => undefined, waits: false }
  }
  const check = functions.compile(name) as CheckFunction
  return {
    build: options.list === true ? buildList(check) : buildOne(check),
    waits: writer.waits,
  }
}

/** Joins what a nested class's thunk throws to the other problems. */
function collecting<T>(problems: Problem[], make: () => T): T | undefined {
  try {
    return make()
  } catch (error) {
    if (!(error instanceof DeclarationError)) throw error
    problems.push(...error.problems)
    return undefined
  }
}

function buildOne(check: CheckFunction): Build {
  return (value, faults, late) => {
    if (isMap(value)) return check(value, faults, late, 1)
    addFault(faults, '', 'type', 'must be an object')
    return undefined
  }
}

function buildList(check: CheckFunction): Build {
  const one = buildOne(check)
  return (value, faults, late) => {
    const list: unknown[] = []
    if (!Array.isArray(value)) addFault(faults, '', 'type', 'must be a list')
    else {
      for (let index = 0; index < value.length && faults.length < mostFaults; index++) {
        const before = faults.length
        const waiting = late.length
        list.push(one(value[index], faults, late))
        if (faults.length > before) prefixPaths(faults, before, String(index))
        if (late.length > waiting) prefixPaths(late, waiting, String(index))
      }
    }
    return list
  }
}

/**
 * Values made by a program can throw when they are read (getters, proxies): that is a fault of the input, not of the
 * server.
 */
export function buildSafely(
  build: Build,
  value: unknown,
  { faults, late, whole }: Omit<CheckRun, 'order'>,
): unknown {
  try {
    return build(value, faults, late)
  } catch (cause) {
    if (isReadable(value)) throw cause
    const unreadable: Fault = { path: '', code: 'type', text: 'cannot be read' }
    throw toHttpError([unreadable], whole, cause)
  }
}

/** Runs the checks that waited for the whole input, then gives the result. */
export function settle<T>(built: T, { faults, late, whole, order }: CheckRun): T | Promise<T> {
  const before = faults.length
  let atOnce = before
  try {
    const pending = runLate(late, faults)
    atOnce = faults.length
    if (pending !== undefined) return pending.then(() => answer())
  } catch (cause) {
    // One of the application's own rules failed on an input already known to be wrong.
    if (before > 0) throw toHttpError(faults, whole, cause)
    throw cause
  }
  return answer()

  function answer(): T {
    if (faults.length > 0) throw toHttpError(order(faults, atOnce), whole)
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

/** Shared by every run of a check in which nothing waits; never written. */
const nothing: LateEntry[] = []
