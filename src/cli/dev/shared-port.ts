/**
 * The listening socket of the application, shared between the processes of `filigree dev`. The first application process opens
 * it and sends it to the supervisor, which passes it to each following process. Clients that connect during a restart
 * wait in the system's queue. While no application runs, the standby process accepts them and explains why (503).
 */
import { execFile, type ChildProcess, type SendHandle } from 'node:child_process'
import { readdir, readFile, readlink } from 'node:fs/promises'
import type { Server } from 'node:http'
import type {
  BeginMessage,
  ChildMessage,
  ExplainMessage,
  ListenAddress,
  ListeningSocket,
} from './child-process.js'
import type { PortHandover } from '../../http/listener.js'
import { UnavailableServer } from './failure-pages.js'

/**
 * Finds the program that listens on a port of this machine.
 *
 * @returns `process 1234 (node dist/main.js)`, or `another program` if it cannot be found out
 */
export async function findPortUser(port: number): Promise<string> {
  const pid = (await findByProc(port)) ?? (await findByLsof(port))
  if (pid === undefined) return 'another program'
  const command = await commandOf(pid)
  return `process ${pid}${command === '' ? '' : ` (${command})`}`
}

/** On Linux, `/proc` lists sockets and the processes that use them. */
async function findByProc(port: number): Promise<string | undefined> {
  const inodes = new Set<string>()
  for (const file of ['/proc/net/tcp', '/proc/net/tcp6']) {
    const text = await readFile(file, 'utf8').catch(() => '')
    for (const line of text.split('\n').slice(1)) {
      const [, local = '', , state, , , , , , inode = ''] = line.trim().split(/\s+/)
      // 0A is the state LISTEN.
      if (state === '0A' && Number.parseInt(local.split(':')[1] ?? '', 16) === port)
        inodes.add(`socket:[${inode}]`)
    }
  }
  if (inodes.size === 0) return undefined
  for (const pid of await readdir('/proc').catch(() => [])) {
    if (!/^\d+$/.test(pid)) continue
    for (const entry of await readdir(`/proc/${pid}/fd`).catch(() => [])) {
      const target = await readlink(`/proc/${pid}/fd/${entry}`).catch(() => '')
      if (inodes.has(target)) return pid
    }
  }
  return undefined
}

function findByLsof(port: number): Promise<string | undefined> {
  return new Promise((resolve) => {
    const query = ['-nP', `-iTCP:${port}`, '-sTCP:LISTEN', '-Fp']
    execFile('lsof', query, (_error, out) => {
      resolve(/^p(\d+)$/m.exec(out)?.[1])
    })
  })
}

async function commandOf(pid: string): Promise<string> {
  const commandLine = await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => undefined)
  const text = commandLine?.replaceAll('\0', ' ') ?? (await commandByPs(pid))
  // Arguments can contain secrets, so only the program and its file are shown.
  return text.trim().split(/\s+/).slice(0, 2).join(' ')
}

function commandByPs(pid: string): Promise<string> {
  return new Promise((resolve) => {
    execFile('ps', ['-p', pid, '-o', 'command='], (_error, out) => {
      resolve(out)
    })
  })
}

/** The supervisor's side: stores the socket of the application, never accepts on it, and sends it to child processes. */
export class SharedPort {
  #address: ListenAddress | undefined
  #socket: ListeningSocket | undefined
  #isExpected = false
  #isDisabled = false

  /** @param isExpected the program has not opened the address, but is expected to */
  hold(address: ListenAddress, socket: ListeningSocket, isExpected = false): void {
    this.release()
    if (this.#isDisabled) {
      socket.close()
      return
    }
    this.#address = address
    this.#socket = socket
    this.#isExpected = isExpected
  }

  begin(child: ChildProcess, message: Omit<BeginMessage, 'is' | 'address'>): void {
    this.#send(child, { is: 'begin', address: this.#address, ...message }, this.#socket)
  }

  /**
   * Lets a standby process explain to clients why the application does not run. Without a reason it stops. The process opens
   * the address of the message if there is no socket.
   */
  explain(child: ChildProcess, message: Omit<ExplainMessage, 'is'>): void {
    const { reason, secret, address } = message
    if (this.#socket !== undefined)
      this.#send(child, { is: 'explain', reason, secret }, reason && this.#socket)
    else if (address !== undefined && !this.#isDisabled)
      this.#send(child, { is: 'explain', ...message }, undefined)
  }

  release(): void {
    this.#socket?.close()
    this.#socket = undefined
    this.#address = undefined
  }

  /**
   * A program that opens its port twice, or on another address, fails because the supervisor has the port. In this case the
   * port is released, and no socket is stored any more, unless the program never had the port.
   *
   * @returns true if the supervisor had the port
   */
  releaseIfTaken(port: number): boolean {
    if (this.#address?.port !== port) return false
    this.#isDisabled = !this.#isExpected
    this.release()
    return true
  }

  /** Sending fails only if the child has exited, which the supervisor handles elsewhere. */
  #send(
    child: ChildProcess,
    message: BeginMessage | ExplainMessage,
    socket: ListeningSocket | undefined,
  ): void {
    child.send(message, socket as SendHandle | undefined, () => undefined)
  }
}

/** The child's side: gives the received socket to the application's server, or sends the socket that the server opened. */
export class ChildPort implements PortHandover {
  /** True if the application listens on the socket that the supervisor has. */
  usesSharedSocket = false
  #received: { readonly address: ListenAddress; readonly socket: ListeningSocket } | undefined
  #unavailableServer: UnavailableServer | undefined

  receive(address: ListenAddress, socket: ListeningSocket): void {
    this.#received = { address, socket }
  }

  take(port: number, host: string): object | undefined {
    const received = this.#received
    this.#received = undefined
    this.usesSharedSocket = received?.address.port === port && received.address.host === host
    if (this.usesSharedSocket) return received?.socket
    received?.socket.close()
    return undefined
  }

  /** If a program opens several servers, only the first one is shared. */
  opened(port: number, host: string, server: Server): void {
    const { _handle: socket } = server as { _handle?: object | null }
    if (this.usesSharedSocket || socket === undefined || socket === null) return
    this.usesSharedSocket = true
    const message: ChildMessage = { is: 'opened', address: { port, host } }
    process.send?.(message, socket as SendHandle)
  }

  /** The application has started: a socket that it did not take is closed. */
  started(): void {
    this.#received?.socket.close()
    this.#received = undefined
  }

  /** Listens on the socket, or opens the address of the message and sends the socket to the supervisor. */
  async explain(
    message: ExplainMessage | undefined,
    socket: ListeningSocket | undefined,
  ): Promise<void> {
    this.#unavailableServer?.close()
    this.#unavailableServer = undefined
    const { reason, secret, address } = message ?? {}
    if (reason === undefined || secret === undefined) return
    const server = new UnavailableServer(reason, secret)
    this.#unavailableServer = server
    if (socket !== undefined) server.accept(socket)
    else if (address !== undefined) {
      const opened = await server.open(address)
      // Another program uses the port, or the next start has begun.
      if (opened === undefined || this.#unavailableServer !== server) {
        server.close()
        return
      }
      const explaining: ChildMessage = { is: 'explaining', address, url: opened.url }
      process.send?.(explaining, opened.socket as SendHandle)
    }
  }
}
