/**
 * Counters and a histogram with labels, written in Prometheus's format.
 * Source: Prometheus, Exposition formats, "Text-based format".
 */

export type Labels = Readonly<Record<string, string>>

/** Labels without the braces: `{method="GET",route="/items"}`. */
function toText(labels: Labels): string {
  return Object.entries(labels)
    .map(([name, value]) => `${name}="${escape(value)}"`)
    .join(',')
}

function escape(value: string): string {
  return value.replace(/[\\"\n]/g, (character) => (character === '\n' ? '\\n' : `\\${character}`))
}

/** A single number without labels. */
export function writeSample(
  lines: string[],
  name: string,
  type: 'gauge' | 'counter',
  help: string,
  value: number,
): void {
  lines.push(`# HELP ${name} ${help}`, `# TYPE ${name} ${type}`, `${name} ${value}`)
}

/** Numbers that differ by their labels, without memory. */
export function writeGauges(
  lines: string[],
  name: string,
  help: string,
  samples: readonly (readonly [Labels, number])[],
): void {
  lines.push(`# HELP ${name} ${help}`, `# TYPE ${name} gauge`)
  for (const [labels, value] of samples) {
    const text = toText(labels)
    lines.push(text === '' ? `${name} ${value}` : `${name}{${text}} ${value}`)
  }
}

/** Finds the entry for labels by their values; the names are always the same. */
class ByLabels<T> {
  readonly #found = new Map<string, { readonly text: string; readonly value: T }>()
  readonly #make: () => T

  constructor(make: () => T) {
    this.#make = make
  }

  get(labels: Labels): { text: string; value: T } {
    let key = ''
    for (const name in labels) key += `${labels[name] ?? ''}\n`
    let found = this.#found.get(key)
    if (found === undefined) {
      found = { text: toText(labels), value: this.#make() }
      this.#found.set(key, found)
    }
    return found
  }

  values(): Iterable<{ readonly text: string; readonly value: T }> {
    return this.#found.values()
  }
}

export class Counters {
  readonly #series = new ByLabels(() => ({ sum: 0 }))

  add(labels: Labels, by: number): void {
    this.#series.get(labels).value.sum += by
  }

  write(lines: string[], name: string, help: string): void {
    lines.push(`# HELP ${name} ${help}`, `# TYPE ${name} counter`)
    for (const { text, value } of this.#series.values()) lines.push(`${name}{${text}} ${value.sum}`)
  }
}

/** One series of a histogram: a set of labels. */
export class Series {
  readonly counts: number[]
  readonly #bounds: readonly number[]
  sum = 0
  count = 0

  constructor(bounds: readonly number[]) {
    this.#bounds = bounds
    this.counts = bounds.map(() => 0)
  }

  observe(value: number): void {
    this.sum += value
    this.count++
    const { counts } = this
    for (let index = 0; index < counts.length; index++) {
      if (value > (this.#bounds[index] ?? Infinity)) continue
      counts[index] = (counts[index] ?? 0) + 1
      return
    }
  }
}

export class Histogram {
  readonly #name: string
  readonly #bounds: readonly number[]
  readonly #series: ByLabels<Series>

  /** @param bounds the buckets' upper bounds, ascending */
  constructor(name: string, bounds: readonly number[]) {
    this.#name = name
    this.#bounds = bounds
    this.#series = new ByLabels(() => new Series(bounds))
  }

  series(labels: Labels): Series {
    return this.#series.get(labels).value
  }

  write(lines: string[], help: string): void {
    const name = this.#name
    lines.push(`# HELP ${name} ${help}`, `# TYPE ${name} histogram`)
    for (const { text, value } of this.#series.values()) {
      let below = 0
      for (const [index, bound] of this.#bounds.entries()) {
        below += value.counts[index] ?? 0
        lines.push(`${name}_bucket{${text},le="${bound}"} ${below}`)
      }
      lines.push(`${name}_bucket{${text},le="+Inf"} ${value.count}`)
      lines.push(`${name}_sum{${text}} ${value.sum}`, `${name}_count{${text}} ${value.count}`)
    }
  }
}
