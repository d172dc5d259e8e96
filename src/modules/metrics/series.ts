/** Counters and histograms with labels: what they count is found without making an object. */

export type Labels = Readonly<Record<string, string>>

/** Labels without the braces: `method="GET",route="/items"`. */
export function toText(labels: Labels): string {
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
  readonly #found = new Map<string, Map<string, Map<string, Counter>>>()

  /** @param names the labels' names */
  constructor(...names: string[]) {
    this.#names = names
  }

  of(first: string, second: string, third = ''): Counter {
    let bySecond = this.#found.get(first)
    if (bySecond === undefined)
      this.#found.set(first, (bySecond = new Map<string, Map<string, Counter>>()))
    let byThird = bySecond.get(second)
    if (byThird === undefined) bySecond.set(second, (byThird = new Map<string, Counter>()))
    let counter = byThird.get(third)
    if (counter === undefined) byThird.set(third, (counter = { sum: 0 }))
    return counter
  }

  /** Each with its labels. */
  samples(): [labels: string, value: number][] {
    const samples: [string, number][] = []
    for (const [first, bySecond] of this.#found) {
      for (const [second, byThird] of bySecond) {
        for (const [third, { sum }] of byThird) {
          const values = [first, second, third]
          const labels = this.#names.map((name, at) => [name, values[at] ?? ''] as const)
          samples.push([toText(Object.fromEntries(labels)), sum])
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
export interface Measured {
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

  show(bucket: number, exemplar: Exemplar): void {
    this.exemplars ??= this.counts.map(() => null)
    this.exemplars[bucket] = exemplar
  }
}
