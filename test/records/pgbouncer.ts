/** A PgBouncer of the tests' own, in transaction mode, where the machine has one. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { freePort } from './postgres-server.js'

export interface Pooler {
  /** The address of a database of the server, through the pooler. */
  through(url: string): string
  close(): Promise<void>
}

/** Debian keeps it where only root's PATH leads. */
const folders = [...(process.env.PATH ?? '').split(delimiter), '/usr/sbin']

/** `undefined` where PgBouncer is not installed. */
export const pgbouncer = folders
  .map((folder) => join(folder, 'pgbouncer'))
  .find((file) => existsSync(file))

/** @param server the address of a server; two of its connections are shared by all who come to one of its databases */
export async function startPgBouncer(server: string): Promise<Pooler> {
  const { hostname, port, username, password } = new URL(server)
  const folder = await mkdtemp(join(tmpdir(), 'filigree-pgbouncer-'))
  const listenPort = await freePort()
  const isRoot = process.getuid?.() === 0
  await chmod(folder, 0o755)
  await writeFile(
    join(folder, 'pgbouncer.ini'),
    `[databases]
* = host=${hostname} port=${port} user=${username} password=${password}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${listenPort}
unix_socket_dir =
auth_type = any
pool_mode = transaction
default_pool_size = 2
max_client_conn = 200
log_connections = 0
log_disconnections = 0
${isRoot ? 'user = nobody' : ''}
`,
  )
  const child = spawn(pgbouncer ?? 'pgbouncer', [join(folder, 'pgbouncer.ini')], {
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  await untilUp(child.stderr)
  return {
    through: (url) => {
      const address = new URL(url)
      address.host = `127.0.0.1:${listenPort}`
      return address.href
    },
    close: async () => {
      const ended = once(child, 'exit')
      child.kill('SIGTERM')
      await ended
      await rm(folder, { recursive: true, force: true })
    },
  }
}

/** Reads its log to the end, so that it is never held up by it. */
function untilUp(log: NodeJS.ReadableStream): Promise<void> {
  return new Promise((resolve, reject) => {
    let told = ''
    log.on('data', (chunk) => {
      told = `${told}${String(chunk)}`.slice(-10_000)
      if (told.includes('process up')) resolve()
    })
    log.on('end', () => {
      reject(new Error(`PgBouncer ended:\n${told}`))
    })
  })
}
