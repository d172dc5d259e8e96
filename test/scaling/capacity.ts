/** What a load needs: processes, connections, servers and room, by figures of one's own. Source: docs/scaling.md. */

export interface Load {
  /** A second, at the busiest time. */
  readonly requests: number
  /** The share of them that only read, from 0 to 1. */
  readonly reads: number
  /** Rows of all tables together. */
  readonly rows: number
  /** Bytes of a row with its indexes. */
  readonly rowBytes: number
  /** The share of the rows that are asked for again and again, from 0 to 1: they should fit into memory. */
  readonly hot: number
}

export interface Costs {
  /** Microseconds of a core of the application for a request that reads, and for one that writes. */
  readonly appRead: number
  readonly appWrite: number
  /** Microseconds of a core of the database. */
  readonly dbRead: number
  readonly dbWrite: number
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
  /** Of each process, to each server. */
  readonly poolSize: number
  /** How busy cores may be, from 0 to 1: the rest is for bursts, and for a machine that is gone. */
  readonly busy: number
  /** Microseconds of a core that replaying a write costs a replica, of one core: replaying is not done by several. */
  readonly replay: number
}

export interface Plan {
  readonly processes: number
  readonly machines: number
  /** Servers that take writes, each with a part of the rows. */
  readonly shards: number
  /** Replicas of each of them. */
  readonly replicas: number
  /** To one primary, from all processes, without a pooler. */
  readonly connections: number
  readonly needsPooler: boolean
  /** Bytes. */
  readonly data: number
  readonly hotData: number
  /** Bytes a second, of all shards. */
  readonly wal: number
  /** What made the number of shards, the tightest first. */
  readonly limits: readonly Limit[]
}

export interface Limit {
  readonly what: string
  /** How many servers it alone would take. */
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
  const limits = [
    limit('cores for writes', (writes * costs.dbWrite) / 1e6 / machines.dbCores / machines.busy),
    limit('the log', wal / machines.walRate),
    limit('memory for hot rows', hotData / machines.dbMemory),
    limit('replaying on replicas', (writes * machines.replay) / 1e6 / machines.busy),
  ].sort((a, b) => b.servers - a.servers)
  const shards = Math.max(1, ...limits.map(({ servers }) => Math.ceil(servers)))
  // A replica replays all writes of its shard on one core beside its reads.
  const forReads = machines.dbCores * machines.busy - (writes * machines.replay) / 1e6 / shards
  const readCores = (reads * costs.dbRead) / 1e6 / shards
  const primarysLeft = machines.dbCores * machines.busy - (writes * costs.dbWrite) / 1e6 / shards
  const replicas = readCores <= primarysLeft ? 0 : Math.ceil(readCores / Math.max(0.1, forReads))
  const connections = processes * machines.poolSize
  return {
    processes,
    machines: Math.ceil(processes / machines.appCores),
    shards,
    replicas,
    connections,
    needsPooler: connections > machines.dbConnections,
    data,
    hotData,
    wal,
    limits,
  }
}

function limit(what: string, servers: number): Limit {
  return { what, servers }
}

/** What saturates first when the load grows, with one process, one server and no replica. */
export function firstLimits(load: Load, costs: Costs, machines: Machines): readonly Limit[] {
  const { reads } = load
  const app = reads * costs.appRead + (1 - reads) * costs.appWrite
  const db = reads * costs.dbRead + (1 - reads) * costs.dbWrite
  return [
    limit('one process of the application', 1e6 / app),
    limit('one machine of the application', (1e6 / app) * machines.appCores),
    limit('one database server', (1e6 / db) * machines.dbCores),
    limit('the log of one database server', machines.walRate / ((1 - reads) * costs.walBytes)),
  ].sort((a, b) => a.servers - b.servers)
}
