/** The figures of a simulation: what is known of one machine, and what one says oneself. */
import type { Costs, Load, Machines } from './capacity.js'

export type Figures = Load & Costs & Machines

interface Figure {
  readonly value: number
  readonly about: string
}

/** Costs as `npm run measure` told on 4 cores that others used too (docs/scaling.md): bring your own. */
export const figures: Readonly<Record<keyof Figures, Figure>> = {
  requests: { value: 100_000, about: 'requests a second at the busiest time' },
  reads: { value: 0.9, about: 'share of them that only read, 0 to 1' },
  rows: { value: 1e9, about: 'rows of all tables' },
  rowBytes: { value: 300, about: 'bytes of a row with its indexes' },
  hot: { value: 0.1, about: 'share of the rows that memory should hold, 0 to 1' },
  appRead: { value: 150, about: 'µs of an application core for a request that reads' },
  appWrite: { value: 170, about: 'µs of an application core for a request that writes' },
  dbRead: { value: 80, about: 'µs of a database core for a read' },
  dbWrite: { value: 220, about: 'µs of a database core for a write' },
  walBytes: { value: 450, about: 'bytes of the write-ahead log for a write' },
  appCores: { value: 8, about: 'cores of a machine of the application' },
  dbCores: { value: 32, about: 'cores of a database server' },
  dbMemory: { value: 96 * 2 ** 30, about: 'bytes that a database server has for pages' },
  walRate: { value: 100e6, about: 'bytes a second that a log may take' },
  dbConnections: { value: 500, about: 'connections that a database server may have' },
  poolSize: { value: 10, about: 'connections of each process' },
  busy: { value: 0.6, about: 'how busy cores may be, 0 to 1' },
  replay: { value: 20, about: 'µs of one core for replaying a write on a replica' },
}

const shares: ReadonlySet<string> = new Set(['reads', 'hot', 'busy'])

/** @returns the figures; or a text: the help, or what is wrong */
export function readFigures(
  words: readonly string[],
): Figures | { readonly text: string; readonly failed: boolean } {
  if (words.includes('--help')) return { text: help(), failed: false }
  const given = Object.fromEntries(
    Object.entries(figures).map(([name, { value }]) => [name, value]),
  ) as unknown as { -readonly [K in keyof Figures]: number }
  for (let index = 0; index < words.length; index += 2) {
    const word = words[index] ?? ''
    const name = word.slice(2)
    if (!word.startsWith('--') || !Object.hasOwn(figures, name)) {
      return { text: `There is no figure "${word}".\n\n${help()}`, failed: true }
    }
    const text = (words[index + 1] ?? '').replaceAll('_', '')
    const value = text === '' ? NaN : Number(text)
    const most = shares.has(name) ? 1 : Infinity
    if (!(value >= 0) || value > most || (value === 0 && name === 'busy')) {
      const range = most === 1 ? 'from 0 to 1' : 'of 0 or more'
      return { text: `--${name} needs a number ${range}.`, failed: true }
    }
    given[name as keyof Figures] = value
  }
  return given
}

function help(): string {
  const lines = Object.entries(figures).map(
    ([name, { value, about }]) => `  --${name.padEnd(14)} ${about} (${value})`,
  )
  return ['npm run simulate -- [--figure value]…', ...lines].join('\n')
}
