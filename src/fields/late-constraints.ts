/**
 * class-validator's rules that need the finished object: conditions, custom and asynchronous constraints, and every rule
 * that is not written as code. They run after the whole input is built, as `validate()` runs after `plainToInstance()`.
 * Source: class-validator, src/validation/ValidationExecutor.ts.
 */
import { addBroken, holds, type ConstraintRule } from './constraint-rule.js'
import { addFault, mostFaults, prefixPaths, type Fault, type Waiting } from './faults.js'

/** A property's late rules, planned once. */
export interface LateProperty {
  readonly name: string
  /** All must be true for anything to be checked. */
  readonly conditions: readonly ((object: unknown, value: unknown) => boolean)[]
  readonly rules: readonly ConstraintRule[]
}

/** One property of one object of an input, waiting. */
export interface LateEntry extends Waiting {
  readonly property: LateProperty
  readonly object: Record<string, unknown>
  /** What the value itself broke, told only if the conditions hold: nested faults, `required`. */
  readonly held?: HeldFaults
}

export interface HeldFaults {
  readonly faults: Fault[]
  readonly late: LateEntry[]
}

/** Runs what waits. Answers a promise only where a constraint did; by then `faults` is complete. */
export function runLate(late: readonly LateEntry[], faults: Fault[]): Promise<unknown> | undefined {
  const pending: Promise<void>[] = []
  const queue = [...late]
  // The queue grows while it is walked: held objects bring their own.
  for (const entry of queue) {
    if (faults.length >= mostFaults) break
    runEntry(entry, { faults, pending, queue })
  }
  return pending.length === 0 ? undefined : Promise.all(pending)
}

interface Run {
  readonly faults: Fault[]
  readonly pending: Promise<void>[]
  readonly queue: LateEntry[]
}

function runEntry(entry: LateEntry, run: Run): void {
  const { property, object, held, path } = entry
  const value = object[property.name]
  // Each is asked, as there, even after one said no.
  const answers = property.conditions.map((condition) => condition(object, value))
  if (!answers.every(Boolean)) return
  if (held !== undefined) {
    prefixPaths(held.faults, 0, path)
    prefixPaths(held.late, 0, path)
    for (const fault of held.faults) if (run.faults.length < mostFaults) run.faults.push(fault)
    run.queue.push(...held.late)
  }
  for (const rule of property.rules) {
    const answer = holds(rule, value, object)
    if (answer === false) addBroken(run.faults, rule, value, object, path)
    if (typeof answer === 'boolean') continue
    const settled = answer.then((kept) => {
      if (!kept) addBroken(run.faults, rule, value, object, path)
    })
    run.pending.push(settled)
  }
}

/** Holds back one fault of the value itself until the conditions are known. */
export function holdFault(code: string, text: string): HeldFaults {
  const faults: Fault[] = []
  addFault(faults, '', code, text)
  return { faults, late: [] }
}
