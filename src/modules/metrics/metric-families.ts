/** What is measured, as plain data: it can be sent to another process, added to what that one measured, and written. */

interface FamilyOf<Type extends string, Value> {
  /** Without `_total`. */
  readonly name: string
  readonly type: Type
  readonly help: string
  /** By their labels, as they are written. */
  readonly samples: readonly (readonly [labels: string, value: Value])[]
}

type CounterFamily = FamilyOf<'counter', number>

export interface GaugeFamily extends FamilyOf<'gauge', number> {
  /** What stands for several processes. */
  readonly aggregation: Aggregation
}

interface HistogramFamily extends FamilyOf<'histogram', HistogramValue> {
  /** The buckets' upper bounds, ascending. */
  readonly bounds: readonly number[]
}

export type Aggregation = 'sum' | 'max' | 'min'
export type Family = CounterFamily | GaugeFamily | HistogramFamily

/** A number without labels. */
export function gauge(
  name: string,
  help: string,
  value: number,
  aggregation: Aggregation = 'sum',
): GaugeFamily {
  return { name, type: 'gauge', help, samples: [['', value]], aggregation }
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
export function mergeFamilies(parts: readonly (readonly Family[])[]): Family[] {
  const found = new Map<string, Family>()
  for (const family of parts.flat()) {
    const before = found.get(family.name)
    found.set(family.name, before === undefined ? family : mergeFamily(before, family))
  }
  return [...found.values()]
}

function mergeFamily(one: Family, other: Family): Family {
  if (one.type === 'histogram') {
    if (other.type !== 'histogram') return one
    return { ...one, samples: mergeSamples(one.samples, other.samples, addHistograms) }
  }
  if (other.type === 'histogram') return one
  const aggregation = one.type === 'gauge' ? one.aggregation : 'sum'
  return { ...one, samples: mergeSamples(one.samples, other.samples, aggregations[aggregation]) }
}

const aggregations: Readonly<Record<Aggregation, (one: number, other: number) => number>> = {
  sum: (one, other) => one + other,
  max: Math.max,
  min: Math.min,
}

function mergeSamples<Value>(
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

function addHistograms(one: HistogramValue, other: HistogramValue): HistogramValue {
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
export function addLabel(families: readonly Family[], label: string): Family[] {
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
export function countersOnly(families: readonly Family[]): Family[] {
  return families.filter(({ type }) => type !== 'gauge')
}

/** Counters and histograms with labels: what they count is found without making an object. */

export type Labels = Readonly<Record<string, string>>

/** Labels without the braces: `method="GET",route="/items"`. */
export function toLabelText(labels: Labels): string {
  return Object.entries(labels)
    .map(([name, value]) => `${name}="${escape(value)}"`)
    .join(',')
}

function escape(value: string): string {
  return value.replace(/[\\"\n]/g, (character) => (character === '\n' ? '\\n' : `\\${character}`))
}

/** A number by up to three labels, which are given by their values in turn. */
export class Counters {
  readonly #names: readonly string[]
  readonly #counters = new Map<string, Map<string, Map<string, Counter>>>()

  /** @param names the labels' names */
  constructor(...names: string[]) {
    this.#names = names
  }

  get(first: string, second: string, third = ''): Counter {
    let bySecond = this.#counters.get(first)
    if (bySecond === undefined)
      this.#counters.set(first, (bySecond = new Map<string, Map<string, Counter>>()))
    let byThird = bySecond.get(second)
    if (byThird === undefined) bySecond.set(second, (byThird = new Map<string, Counter>()))
    let counter = byThird.get(third)
    if (counter === undefined) byThird.set(third, (counter = { sum: 0 }))
    return counter
  }

  /** Each with its labels. */
  samples(): [labels: string, value: number][] {
    const samples: [string, number][] = []
    for (const [first, bySecond] of this.#counters) {
      for (const [second, byThird] of bySecond) {
        for (const [third, { sum }] of byThird) {
          const values = [first, second, third]
          const labels = this.#names.map((name, at) => [name, values[at] ?? ''] as const)
          samples.push([toLabelText(Object.fromEntries(labels)), sum])
        }
      }
    }
    return samples
  }
}

export interface Counter {
  sum: number
}

/** What one of the measured belonged to, so that it can be looked at: of each bucket the last. */
export interface Exemplar {
  readonly traceId: string
  readonly value: number
  /** Seconds since 1970. */
  readonly at: number
}

/** Measured values by the buckets that they fall into. */
export interface HistogramValue {
  /** One for each bucket and for what is above all of them; not added up. */
  readonly counts: readonly number[]
  readonly sum: number
  readonly exemplars?: readonly (Exemplar | null)[] | undefined
}

/** One series of a histogram: a set of labels. */
export class Series {
  readonly counts: number[]
  readonly #bounds: readonly number[]
  sum = 0
  exemplars: (Exemplar | null)[] | undefined

  /** @param bounds the buckets' upper bounds, ascending */
  constructor(bounds: readonly number[]) {
    this.#bounds = bounds
    this.counts = new Array<number>(bounds.length + 1).fill(0)
  }

  /** @returns the bucket that it is counted in */
  observe(value: number): number {
    const bounds = this.#bounds
    this.sum += value
    let index = 0
    while (index < bounds.length && value > (bounds[index] as number)) index++
    ;(this.counts[index] as number)++
    return index
  }

  setExemplar(bucket: number, exemplar: Exemplar): void {
    this.exemplars ??= this.counts.map(() => null)
    this.exemplars[bucket] = exemplar
  }
}
