/** What is told of the database's connections: those of its own pool, and those of each replica. */
import type { PoolState } from '../../index.js'
import type { Family, GaugeFamily, Together } from './families.js'
import { toText, type Labels } from './series.js'

type Counts = Omit<PoolState, 'replicas'>

/** The pool's own lines have no name of a server, as where there are no replicas. */
export function poolFamilies({ replicas = [], ...own }: PoolState): Family[] {
  const names = new Set<string>()
  const servers: { readonly of: Labels; readonly counts: Counts; readonly isUp: boolean }[] = []
  for (const { name, isUp, ...counts } of replicas) {
    // Two databases of one server.
    const replica = names.has(name) ? `${name}#${servers.length + 1}` : name
    names.add(replica)
    servers.push({ of: { replica }, counts, isUp })
  }
  const all = [{ of: {}, counts: own }, ...servers]
  const of = (measure: (counts: Counts) => number): Sample[] =>
    all.map((each) => [each.of, measure(each.counts)])
  const families = [
    gauges(
      'database_connections',
      'Connections of the pool.',
      all.flatMap(({ of: labels, counts: { open, idle } }): Sample[] => [
        [{ ...labels, state: 'used' }, open - idle],
        [{ ...labels, state: 'idle' }, idle],
      ]),
    ),
    gauges(
      'database_connections_max',
      'Largest number of connections.',
      of(({ most }) => most),
    ),
    gauges(
      'database_connections_waiting',
      'Callers waiting for a connection.',
      of(({ waiting }) => waiting),
    ),
  ]
  if (servers.length === 0) return families
  const up = servers.map(({ of: labels, isUp }): Sample => [labels, isUp ? 1 : 0])
  return [...families, gauges('database_replica_up', 'Whether the replica answers.', up, 'min')]
}

type Sample = readonly [Labels, number]

function gauges(
  name: string,
  help: string,
  samples: readonly Sample[],
  together: Together = 'sum',
): GaugeFamily {
  const written = samples.map(([labels, value]) => [toText(labels), value] as const)
  return { name, type: 'gauge', help, samples: written, together }
}
