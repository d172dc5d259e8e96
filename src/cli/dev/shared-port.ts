/**
 * The port, as seen by a process of `filigree dev`: the application listens at the socket that the supervisor holds, or
 * tells him of the one that it has opened. A process that waits answers in place of an application that does not run.
 */

import { execFile, type ChildProcess, type SendHandle } from 'node:child_process'
import { readdir, readFile, readlink } from 'node:fs/promises'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { BeginMessage, ExplainMessage, PortPlace, ChildMessage } from './child-process.js'
import type { PortKeeper } from '../../http/port-keeper.js'
import { refuse } from './page-access.js'

/** Which program listens at a port of this machine. */

/** @returns `process 1234 (node dist/main.js)`, or `another program` where nobody says which */
export async function findPortUser(port: number): Promise<string> {
  const pid = (await findByProc(port)) ?? (await findByLsof(port))
  if (pid === undefined) return 'another program'
  const command = await commandOf(pid)
  return `process ${pid}${command === '' ? '' : ` (${command})`}`
}

/** Linux says so in files. */
async function findByProc(port: number): Promise<string | undefined> {
  const inodes = new Set<string>()
  for (const file of ['/proc/net/tcp', '/proc/net/tcp6']) {
    const text = await readFile(file, 'utf8').catch(() => '')
    for (const line of text.split('\n').slice(1)) {
      const [, local = '', , state, , , , , , inode = ''] = line.trim().split(/\s+/)
      // 0A: listening.
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
  const own = await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => undefined)
  const text = own?.replaceAll('\0', ' ') ?? (await commandByPs(pid))
  // Arguments may hold secrets: the program and its file say enough.
  return text.trim().split(/\s+/).slice(0, 2).join(' ')
}

function commandByPs(pid: string): Promise<string> {
  return new Promise((resolve) => {
    execFile('ps', ['-p', pid, '-o', 'command='], (_error, out) => {
      resolve(out)
    })
  })
}

/**
 * The socket that the application listens at, held from one of its processes to the next: who connects in between is
 * neither refused nor reset, but waits in the system until the next process accepts, or until the one that waits explains
 * why none does. The first process opens it, since only its program knows the port; the supervisor has it too, accepts
 * nobody, and hands it on.
 */

export class HeldPort {
  #place: PortPlace | undefined
  #socket: ListeningSocket | undefined
  #isOff = false

  hold(place: PortPlace, socket: ListeningSocket): void {
    this.letGo()
    if (this.#isOff) {
      socket.close()
      return
    }
    this.#place = place
    this.#socket = socket
  }

  begin(child: ChildProcess, message: Omit<BeginMessage, 'is' | 'place'>): void {
    this.#send(child, { is: 'begin', place: this.#place, ...message }, this.#socket)
  }

  /** @param report undefined: it shall answer nobody any more */
  explain(child: ChildProcess, message: Omit<ExplainMessage, 'is'>): void {
    if (this.#socket !== undefined)
      this.#send(
        child,
        { is: 'explain', ...message },
        message.report === undefined ? undefined : this.#socket,
      )
  }

  letGo(): void {
    this.#socket?.close()
    this.#socket = undefined
    this.#place = undefined
  }

  /**
   * A program that opens its port again, or at another address of this machine, finds it taken by nobody but us: from now
   * on nothing is held.
   *
   * @returns whether it is so
   */
  standsInTheWay(port: number): boolean {
    if (this.#place?.port !== port) return false
    this.#isOff = true
    this.letGo()
    return true
  }

  /** What cannot be sent has ended, which is heard elsewhere. */
  #send(
    child: ChildProcess,
    message: BeginMessage | ExplainMessage,
    socket: ListeningSocket | undefined,
  ): void {
    child.send(message, socket as SendHandle | undefined, () => undefined)
  }
}

/** What Node has of a socket that listens: of this process alone, whoever else has one to the same port. */
export interface ListeningSocket {
  close(): void
}

export class ChildPort implements PortKeeper {
  /** The application listens at what the supervisor holds. */
  isKept = false
  #given: { readonly place: PortPlace; readonly socket: ListeningSocket } | undefined
  #explainer: Explainer | undefined

  give(place: PortPlace, socket: ListeningSocket): void {
    this.#given = { place, socket }
  }

  take(port: number, host: string): object | undefined {
    const given = this.#given
    this.#given = undefined
    this.isKept = given?.place.port === port && given.place.host === host
    if (this.isKept) return given?.socket
    given?.socket.close()
    return undefined
  }

  /** Of several servers of a program the first is held. */
  opened(port: number, host: string, server: Server): void {
    const { _handle: socket } = server as { _handle?: object | null }
    if (this.isKept || socket === undefined || socket === null) return
    this.isKept = true
    const message: ChildMessage = { is: 'opened', place: { port, host } }
    process.send?.(message, socket as SendHandle)
  }

  /** The application has started, and listens where it will. */
  started(): void {
    this.#given?.socket.close()
    this.#given = undefined
  }

  explain(message: ExplainMessage | undefined, socket: ListeningSocket | undefined): void {
    this.#explainer?.close()
    const { report, secret } = message ?? {}
    this.#explainer =
      report === undefined || secret === undefined || socket === undefined
        ? undefined
        : new Explainer(report, secret, socket)
  }
}

/** Responds with 503 to every request, and with the reason to clients that may read the development page. */
class Explainer {
  #report: string
  readonly #secret: string
  readonly #server: Server
  readonly #sockets = new Set<Socket>()

  constructor(report: string, secret: string, socket: ListeningSocket) {
    this.#report = report
    this.#secret = secret
    this.#server = createServer((incoming, outgoing) => {
      this.#answer(incoming, outgoing)
    })
    this.#server.on('connection', (one: Socket) => {
      this.#sockets.add(one)
      one.once('close', () => this.#sockets.delete(one))
    })
    this.#server.listen(socket)
  }

  /** Browsers connect before they ask: who has done so is still answered, and sent to ask again. */
  close(): void {
    this.#report = 'The application was started again meanwhile. Ask once more.'
    this.#server.close()
    for (const socket of this.#sockets) socket.unref()
  }

  #answer(incoming: IncomingMessage, outgoing: ServerResponse): void {
    const text =
      refuse(incoming, this.#secret) === undefined
        ? this.#report
        : 'The application does not run at the moment. The terminal of `filigree dev` shows why.'
    incoming.resume()
    outgoing.writeHead(503, {
      ...{ 'Content-Type': 'text/plain; charset=utf-8', 'X-Content-Type-Options': 'nosniff' },
      ...{ 'Cache-Control': 'no-store', Connection: 'close' },
      // The second for browsers, which show the application as soon as it runs.
      ...{ 'Retry-After': '1', Refresh: '1' },
    })
    outgoing.end(`${text}\n`)
  }
}
