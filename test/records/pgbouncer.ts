/** Starts PgBouncer in transaction mode, if it is installed. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { freePort } from '../free-port.js'

export interface Pooler {
  /** @returns the URL of a database of the server, through the pooler */
  through(url: string): string
  close(): Promise<void>
}

/** Debian installs it in a folder that is only in root's PATH. */
const folders = [...(process.env.PATH ?? '').split(delimiter), '/usr/sbin']

/** The program's path, or `undefined` if PgBouncer is not installed. */
export const pgbouncer = folders
  .map((folder) => join(folder, 'pgbouncer'))
  .find((file) => existsSync(file))

/** @param server the URL of a server. All clients of a database share two connections to it. */
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

/** Waits for the start, and reads the log to the end so that the process never blocks on it. */
function untilUp(log: NodeJS.ReadableStream): Promise<void> {
  return new Promise((resolve, reject) => {
    let output = ''
    log.on('data', (chunk) => {
      output = `${output}${String(chunk)}`.slice(-10_000)
      if (output.includes('process up')) resolve()
    })
    log.on('end', () => {
      reject(new Error(`PgBouncer ended:\n${output}`))
    })
  })
}
