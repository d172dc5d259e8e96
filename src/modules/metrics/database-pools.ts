/** What is told of the database's connections: those of its own pool, and those of each replica. */
import type { PoolState } from '../../index.js'
import { writeGauges, type Labels } from './series.js'

type Counts = Omit<PoolState, 'replicas'>

/** The pool's own lines have no name of a server, as where there are no replicas. */
export function writePools(lines: string[], { replicas = [], ...own }: PoolState): void {
  const names = new Set<string>()
  const servers: { readonly of: Labels; readonly counts: Counts; readonly isUp: boolean }[] = []
  for (const { name, isUp, ...counts } of replicas) {
    // Two databases of one server.
    const replica = names.has(name) ? `${name}#${servers.length + 1}` : name
    names.add(replica)
    servers.push({ of: { replica }, counts, isUp })
  }
  const all = [{ of: {}, counts: own }, ...servers]
  const of = (measure: (counts: Counts) => number): [Labels, number][] =>
    all.map((each) => [each.of, measure(each.counts)])
  writeGauges(
    lines,
    'database_connections',
    'Connections of the pool.',
    all.flatMap(({ of: labels, counts: { open, idle } }): [Labels, number][] => [
      [{ ...labels, state: 'used' }, open - idle],
      [{ ...labels, state: 'idle' }, idle],
    ]),
  )
  writeGauges(
    lines,
    'database_connections_max',
    'Largest number of connections.',
    of(({ most }) => most),
  )
  writeGauges(
    lines,
    'database_connections_waiting',
    'Callers waiting for a connection.',
    of(({ waiting }) => waiting),
  )
  if (servers.length === 0) return
  writeGauges(
    lines,
    'database_replica_up',
    'Whether the replica answers.',
    servers.map(({ of: labels, isUp }) => [labels, isUp ? 1 : 0]),
  )
}
