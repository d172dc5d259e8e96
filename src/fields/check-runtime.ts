/** Functions that compiled checks call: rare cases, and parts too long for the generated code. */
import { isMap } from '../core/json.js'
import { didYouMean } from '../errors/did-you-mean.js'
import { addBroken, type ConstraintRule } from './constraint-rule.js'
import { addFault, mostFaults, prefixPaths, type Fault } from './faults.js'
import { deepest } from './kinds/json.js'
import type { LateEntry } from './late-constraints.js'

/** A compiled function of one class. */
export type CheckFunction = (
  input: Record<string, unknown>,
  faults: Fault[],
  late: LateEntry[],
  depth: number,
) => unknown

export function addDeepFault(faults: Fault[]): void {
  addFault(faults, '', 'depth', `is nested deeper than ${deepest} levels`)
}

/** Reports unknown keys, with a suggestion for a typing mistake. */
export function addUnknownKeys(
  input: Record<string, unknown>,
  known: ReadonlySet<string>,
  suggested: readonly string[],
  faults: Fault[],
): void {
  for (const key in input) {
    if (faults.length >= mostFaults) return
    if (known.has(key) || !Object.hasOwn(input, key)) continue
    const meant = key.length <= 50 ? didYouMean(key, suggested) : ''
    addFault(faults, key === '' ? '""' : key, 'unknown', `is unknown${meant && `. ${meant}`}`)
  }
}

/** For constructors that define every declared property: removes properties that were not sent. */
export function dropUndefined(instance: Record<string, unknown>): void {
  // eslint-disable-next-line @typescript-eslint/no-dynamic-delete -- the keys are the class's own
  for (const key in instance) if (instance[key] === undefined) delete instance[key]
}

/** Where nested values of a property go, as class-validator sees it. */
export interface Nesting {
  readonly check: CheckFunction
  readonly rule: ConstraintRule
  readonly object: Record<string, unknown>
  readonly faults: Fault[]
  readonly late: LateEntry[]
}

/**
 * Builds what `@ValidateNested()` checks: an object, a list of them, lists of lists. Undefined passes; anything else is a
 * fault, null included, as there. The paths it leaves are relative to `value`.
 */
export function checkNested(value: unknown, nesting: Nesting, depth: number): unknown {
  const { faults, late } = nesting
  if (value === undefined) return value
  if (depth > deepest) {
    addDeepFault(faults)
    return value
  }
  if (isMap(value)) return nesting.check(value, faults, late, depth)
  if (!Array.isArray(value)) {
    addBroken(faults, nesting.rule, value, nesting.object, '')
    return value
  }
  const list: unknown[] = []
  for (let index = 0; index < value.length && faults.length < mostFaults; index++) {
    const before = faults.length
    const waiting = late.length
    list.push(checkNested(value[index], nesting, depth + 1))
    prefixPaths(faults, before, String(index))
    prefixPaths(late, waiting, String(index))
  }
  return list
}
