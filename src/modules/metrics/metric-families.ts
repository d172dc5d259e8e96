/** Metric families as plain data, which can be sent to another process, merged and written; and the counters and histograms behind them. */
interface FamilyOf<Type extends string, Value> {
  /** Without `_total`. */
  readonly name: string
  readonly type: Type
  readonly help: string
  /** The values by their label text. */
  readonly samples: readonly (readonly [labels: string, value: Value])[]
}

type CounterFamily = FamilyOf<'counter', number>

export interface GaugeFamily extends FamilyOf<'gauge', number> {
  /** How the values of several processes are combined. */
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

/** Merges the families of several processes, in the order of their first occurrence. */
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

/** Adds a label to each sample. */
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

/** The families of an ended process that remain: counters and histograms. */
export function countersOnly(families: readonly Family[]): Family[] {
  return families.filter(({ type }) => type !== 'gauge')
}

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

/** Counters with up to three labels. A lookup creates no object. */
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

  /** All counters with their label text. */
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

/** An example of a measured value: the last one of its bucket. */
export interface Exemplar {
  readonly traceId: string
  readonly value: number
  /** Seconds since 1970. */
  readonly at: number
}

/** The values of a histogram. */
export interface HistogramValue {
  /** One count for each bucket and one for larger values; not cumulative. */
  readonly counts: readonly number[]
  readonly sum: number
  readonly exemplars?: readonly (Exemplar | null)[] | undefined
}

/** One series of a histogram: one set of labels. */
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

  /** @returns the index of its bucket */
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
