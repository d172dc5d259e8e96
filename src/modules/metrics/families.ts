/** What is measured, as plain data: it can be sent to another process, added to what that one measured, and written. */
import type { Measured } from './series.js'

interface FamilyOf<Type extends string, Value> {
  /** Without `_total`. */
  readonly name: string
  readonly type: Type
  readonly help: string
  /** By their labels, as they are written. */
  readonly samples: readonly (readonly [labels: string, value: Value])[]
}

export type CounterFamily = FamilyOf<'counter', number>

export interface GaugeFamily extends FamilyOf<'gauge', number> {
  /** What stands for several processes. */
  readonly together: Together
}

export interface HistogramFamily extends FamilyOf<'histogram', Measured> {
  /** The buckets' upper bounds, ascending. */
  readonly bounds: readonly number[]
}

export type Together = 'sum' | 'max' | 'min'
export type Family = CounterFamily | GaugeFamily | HistogramFamily

/** A number without labels. */
export function gauge(
  name: string,
  help: string,
  value: number,
  together: Together = 'sum',
): GaugeFamily {
  return { name, type: 'gauge', help, samples: [['', value]], together }
}

export function counter(
  name: string,
  help: string,
  samples: number | CounterFamily['samples'],
): CounterFamily {
  return {
    name,
    type: 'counter',
    help,
    samples: typeof samples === 'number' ? [['', samples]] : samples,
  }
}

/** Adds up what several processes have measured, in the order of the first that has it. */
export function together(parts: readonly (readonly Family[])[]): Family[] {
  const found = new Map<string, Family>()
  for (const family of parts.flat()) {
    const before = found.get(family.name)
    found.set(family.name, before === undefined ? family : join(before, family))
  }
  return [...found.values()]
}

function join(one: Family, other: Family): Family {
  if (one.type === 'histogram') {
    if (other.type !== 'histogram') return one
    return { ...one, samples: joined(one.samples, other.samples, addMeasured) }
  }
  if (other.type === 'histogram') return one
  const how = one.type === 'gauge' ? one.together : 'sum'
  return { ...one, samples: joined(one.samples, other.samples, ways[how]) }
}

const ways: Readonly<Record<Together, (one: number, other: number) => number>> = {
  sum: (one, other) => one + other,
  max: Math.max,
  min: Math.min,
}

function joined<Value>(
  one: readonly (readonly [string, Value])[],
  other: readonly (readonly [string, Value])[],
  add: (one: Value, other: Value) => Value,
): [string, Value][] {
  const found = new Map(one)
  for (const [labels, value] of other) {
    const before = found.get(labels)
    found.set(labels, before === undefined ? value : add(before, value))
  }
  return [...found]
}

function addMeasured(one: Measured, other: Measured): Measured {
  const latest = (index: number) => {
    const [first, second] = [one.exemplars?.[index] ?? null, other.exemplars?.[index] ?? null]
    return first === null || (second !== null && second.at > first.at) ? second : first
  }
  return {
    counts: one.counts.map((count, index) => count + (other.counts[index] ?? 0)),
    sum: one.sum + other.sum,
    exemplars:
      one.exemplars === undefined && other.exemplars === undefined
        ? undefined
        : one.counts.map((_, index) => latest(index)),
  }
}

/** The same with a label more on each sample. */
export function labelled(families: readonly Family[], label: string): Family[] {
  const add = <Value>([labels, value]: readonly [string, Value]): [string, Value] => [
    labels === '' ? label : `${labels},${label}`,
    value,
  ]
  return families.map((family) =>
    family.type === 'histogram'
      ? { ...family, samples: family.samples.map(add) }
      : { ...family, samples: family.samples.map(add) },
  )
}

/** What stays of a process that has ended: what it counted. */
export function counted(families: readonly Family[]): Family[] {
  return families.filter(({ type }) => type !== 'gauge')
}
