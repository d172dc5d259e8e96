/** The settings of a capacity simulation, with their defaults and the command line parser. */
import type { Costs, Load, Machines } from './capacity.js'

export type Settings = Load & Costs & Machines

interface Setting {
  readonly value: number
  readonly about: string
}

/** The default costs were measured with `npm run measure` on shared cores (docs/scaling.md). Measure your own. */
export const defaults: Readonly<Record<keyof Settings, Setting>> = {
  requests: { value: 100_000, about: 'requests a second at the busiest time' },
  reads: { value: 0.9, about: 'share of them that only read, 0 to 1' },
  rows: { value: 1e9, about: 'rows of all tables' },
  rowBytes: { value: 300, about: 'bytes of a row with its indexes' },
  hot: { value: 0.1, about: 'share of the rows that memory should hold, 0 to 1' },
  appRead: { value: 150, about: 'µs of an application core for a request that reads' },
  appWrite: { value: 170, about: 'µs of an application core for a request that writes' },
  dbRead: { value: 80, about: 'µs of a database core for a read' },
  dbWrite: { value: 220, about: 'µs of a database core for a write' },
  routeRead: { value: 0, about: 'µs of a core of the coordinator of Citus for a read' },
  routeWrite: { value: 0, about: 'µs of a core of the coordinator of Citus for a write' },
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

/** The costs on Citus 13.2 with PostgreSQL 15, for statements of one tenant. */
const onCitus: Readonly<Partial<Settings>> = {
  appRead: 185,
  appWrite: 205,
  dbRead: 410,
  dbWrite: 630,
  routeRead: 345,
  routeWrite: 440,
}

const citusOption = '--citus'

const shares: ReadonlySet<string> = new Set(['reads', 'hot', 'busy'])

/** @returns the settings, or the help or an error message as text */
export function readSettings(
  args: readonly string[],
): Settings | { readonly text: string; readonly failed: boolean } {
  if (args.includes('--help')) return { text: help(), failed: false }
  const settings = Object.fromEntries(
    Object.entries(defaults).map(([name, { value }]) => [name, value]),
  ) as unknown as { -readonly [K in keyof Settings]: number }
  if (args.includes(citusOption)) Object.assign(settings, onCitus)
  const pairs = args.filter((arg) => arg !== citusOption)
  for (let index = 0; index < pairs.length; index += 2) {
    const arg = pairs[index] ?? ''
    const name = arg.slice(2)
    if (!arg.startsWith('--') || !Object.hasOwn(defaults, name)) {
      return { text: `Unknown option "${arg}".\n\n${help()}`, failed: true }
    }
    const text = (pairs[index + 1] ?? '').replaceAll('_', '')
    const value = text === '' ? NaN : Number(text)
    const maximum = shares.has(name) ? 1 : Infinity
    if (!(value >= 0) || value > maximum || (value === 0 && name === 'busy')) {
      const range = maximum === 1 ? 'from 0 to 1' : 'of 0 or more'
      return { text: `--${name} needs a number ${range}.`, failed: true }
    }
    settings[name as keyof Settings] = value
  }
  return settings
}

function help(): string {
  const lines = Object.entries(defaults).map(
    ([name, { value, about }]) => `  --${name.padEnd(14)} ${about} (${value})`,
  )
  return [
    `npm run simulate -- [${citusOption}] [--option value]…`,
    `  ${citusOption.padEnd(16)} the costs of Citus; other options replace them`,
    ...lines,
  ].join('\n')
}
