/** The configuration files of the cluster. Source: docs/scaling.md, Failover, which shows the same settings. */

/** A PostgreSQL server with its Patroni. */
export interface NodePorts {
  readonly name: string
  readonly postgres: number
  /** Of Patroni's REST API. */
  readonly rest: number
}

export interface PatroniSettings {
  readonly node: NodePorts
  readonly etcd: number
  /** The folder of the node's data. */
  readonly folder: string
  /** The folder of PostgreSQL's programs. */
  readonly programs: string
}

export const password = 'failover'
/** The name of the cluster in etcd. */
const scope = 'filigree'

/** The text of `patroni.yml`. JSON is YAML. */
export function patroniFile({ node, etcd, folder, programs }: PatroniSettings): string {
  const local = '127.0.0.1'
  const user = (username: string): object => ({ username, password })
  return JSON.stringify({
    scope,
    name: node.name,
    restapi: { listen: `${local}:${node.rest}`, connect_address: `${local}:${node.rest}` },
    etcd3: { host: `${local}:${etcd}` },
    bootstrap: {
      dcs: {
        ttl: 20,
        loop_wait: 2,
        retry_timeout: 5,
        synchronous_mode: true,
        postgresql: {
          use_pg_rewind: true,
          use_slots: true,
          parameters: {
            max_connections: 100,
            synchronous_commit: 'on',
            wal_log_hints: 'on',
            wal_keep_size: '256MB',
          },
        },
      },
      initdb: [{ encoding: 'UTF8' }, { locale: 'C' }, 'data-checksums'],
      pg_hba: [
        `host replication replicator ${local}/32 scram-sha-256`,
        `host all all ${local}/32 scram-sha-256`,
      ],
    },
    postgresql: {
      listen: `${local}:${node.postgres}`,
      connect_address: `${local}:${node.postgres}`,
      data_dir: `${folder}/data`,
      bin_dir: programs,
      pgpass: `${folder}/pgpass`,
      authentication: {
        superuser: user('postgres'),
        replication: user('replicator'),
        rewind: user('rewinder'),
      },
      parameters: { unix_socket_directories: folder },
    },
  })
}

/** The text of `haproxy.cfg`: every connection goes to the server whose Patroni says that it is the primary. */
export function haproxyFile(port: number, nodes: readonly NodePorts[]): string {
  const servers = nodes.map(
    ({ name, postgres, rest }) => `  server ${name} 127.0.0.1:${postgres} check port ${rest}`,
  )
  return `global
  maxconn 1000

defaults
  mode tcp
  timeout connect 1s
  timeout client 1h
  timeout server 1h
  timeout check 1s
  retries 0

listen primary
  bind 127.0.0.1:${port}
  option httpchk GET /primary
  http-check expect status 200
  default-server inter 500ms fastinter 200ms downinter 200ms fall 2 rise 1 on-marked-down shutdown-sessions
${servers.join('\n')}
`
}
