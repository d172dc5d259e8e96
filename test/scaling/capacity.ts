/** Capacity planning: the processes, connections, servers and memory that a load needs. Source: docs/scaling.md. */

export interface Load {
  /** Requests per second at the busiest time. */
  readonly requests: number
  /** The share of requests that only read, from 0 to 1. */
  readonly reads: number
  /** Rows of all tables together. */
  readonly rows: number
  /** Bytes of a row with its indexes. */
  readonly rowBytes: number
  /** The share of frequently read rows, from 0 to 1. They should fit into memory. */
  readonly hot: number
}

export interface Costs {
  /** Microseconds of a core of the application for a request that reads, and for one that writes. */
  readonly appRead: number
  readonly appWrite: number
  /** Microseconds of a core of the database; on Citus of a worker. */
  readonly dbRead: number
  readonly dbWrite: number
  /** Microseconds of a core of the coordinator of Citus; 0 without one. */
  readonly routeRead: number
  readonly routeWrite: number
  /** Bytes of the write-ahead log for a write. */
  readonly walBytes: number
}

export interface Machines {
  readonly appCores: number
  readonly dbCores: number
  /** Bytes that a database server has for pages. */
  readonly dbMemory: number
  /** Bytes a second that a server's log may take. */
  readonly walRate: number
  /** Connections that a database server may have. */
  readonly dbConnections: number
  /** Connections of each process to each server. */
  readonly poolSize: number
  /** The allowed load of cores, from 0 to 1. The rest is for bursts and failed machines. */
  readonly busy: number
  /** Microseconds for replaying a write on a replica. Replay uses a single core. */
  readonly replay: number
}

export interface Plan {
  readonly processes: number
  readonly machines: number
  /** Servers that accept writes, each with a part of the rows. On Citus, workers. */
  readonly shards: number
  /** Cores of the coordinator of Citus, and of its workers together. */
  readonly coordinatorCores: number
  readonly workerCores: number
  /** Replicas of each shard. */
  readonly replicas: number
  /** Connections of all processes to one primary, without a pooler. */
  readonly connections: number
  readonly needsPooler: boolean
  /** Bytes. */
  readonly data: number
  readonly hotData: number
  /** Bytes per second of all shards. */
  readonly wal: number
  /** The limits that determine the number of shards, the tightest first. */
  readonly limits: readonly Limit[]
}

export interface Limit {
  readonly resource: string
  /** The number of servers that this resource alone would require. */
  readonly servers: number
}

export function planFor(load: Load, costs: Costs, machines: Machines): Plan {
  const reads = load.requests * load.reads
  const writes = load.requests - reads
  const appCores = (reads * costs.appRead + writes * costs.appWrite) / 1e6 / machines.busy
  const processes = Math.max(1, Math.ceil(appCores))
  const data = load.rows * load.rowBytes
  const hotData = data * load.hot
  const wal = writes * costs.walBytes
  const onCitus = hasCoordinator(costs)
  const coresFor = (read: number, write: number): number =>
    (reads * read + writes * write) / 1e6 / machines.busy
  // Workers take over reads too, so Citus needs no replicas for them.
  const coresOfPrimaries = coresFor(onCitus ? costs.dbRead : 0, costs.dbWrite)
  const limits = [
    limit(onCitus ? 'cores' : 'cores for writes', coresOfPrimaries / machines.dbCores),
    limit('the log', wal / machines.walRate),
    limit('memory for hot rows', hotData / machines.dbMemory),
    limit('replaying on replicas', (writes * machines.replay) / 1e6 / machines.busy),
  ].sort((a, b) => b.servers - a.servers)
  const shards = Math.max(1, ...limits.map(({ servers }) => Math.ceil(servers)))
  // A replica replays all writes of its shard on one core, in addition to its reads.
  const forReads = machines.dbCores * machines.busy - (writes * machines.replay) / 1e6 / shards
  const readCores = (reads * costs.dbRead) / 1e6 / shards
  const primaryReadCores =
    machines.dbCores * machines.busy - (writes * costs.dbWrite) / 1e6 / shards
  const replicas =
    onCitus || readCores <= primaryReadCores ? 0 : Math.ceil(readCores / Math.max(0.1, forReads))
  const connections = processes * machines.poolSize
  return {
    processes,
    machines: Math.ceil(processes / machines.appCores),
    shards,
    replicas,
    coordinatorCores: coresFor(costs.routeRead, costs.routeWrite),
    workerCores: onCitus ? coresOfPrimaries : 0,
    connections,
    needsPooler: connections > machines.dbConnections,
    data,
    hotData,
    wal,
    limits,
  }
}

/** Whether the database is Citus, whose coordinator routes each statement to a worker. */
export function hasCoordinator({ routeRead, routeWrite }: Costs): boolean {
  return routeRead > 0 || routeWrite > 0
}

function limit(resource: string, servers: number): Limit {
  return { resource, servers }
}

/** The order in which resources saturate as the load grows, with one process, one server and no replica. */
export function firstLimits(load: Load, costs: Costs, machines: Machines): readonly Limit[] {
  const { reads } = load
  const app = reads * costs.appRead + (1 - reads) * costs.appWrite
  const db = reads * costs.dbRead + (1 - reads) * costs.dbWrite
  const route = reads * costs.routeRead + (1 - reads) * costs.routeWrite
  const onCitus = hasCoordinator(costs)
  const coordinator = limit('the coordinator', (1e6 / route) * machines.dbCores)
  return [
    ...(onCitus ? [coordinator] : []),
    limit('one process of the application', 1e6 / app),
    limit('one machine of the application', (1e6 / app) * machines.appCores),
    limit(onCitus ? 'one worker' : 'one database server', (1e6 / db) * machines.dbCores),
    limit('the log of one database server', machines.walRate / ((1 - reads) * costs.walBytes)),
  ].sort((a, b) => a.servers - b.servers)
}
