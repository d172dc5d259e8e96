/**
 * Runs an application and restarts it after each change. A standby process has already loaded everything except the
 * application, so a restart is faster than the first start.
 */
import { Problems } from '../../errors/problems.js'
import type { ChildProcess } from 'node:child_process'
import { createServer } from 'node:net'
import { readEnvironment } from '../../bootstrap/environment.js'
import { startTypeChecker, type TypeChecker } from './type-checker.js'
import { SharedPort, findPortUser } from './shared-port.js'
import {
  endGroup,
  readLines,
  readChildMessage,
  type ChildMessage,
  type DevEvent,
  type ListenAddress,
  toListeningSocket,
  type ListeningSocket,
  type StopReason,
  childEnvironment,
  programFile,
  spawnNode,
} from './child-process.js'
import type { LogText } from '../../core/log-text.js'
import { pageAddress } from './page-access.js'
import type { Redactor } from '../../serving/redaction/redactor.js'
import { FileWatcher } from './file-watcher.js'

interface SuperviseOptions {
  readonly cwd: string
  /** Absolute path of the program. */
  readonly file: string
  /** The path as the user wrote it, for messages. */
  readonly named: string
  /** URL of the loader (tsx) for TypeScript sources. Undefined if none is needed. */
  readonly loader: string | undefined
  /** Also shows requests and job runs. */
  readonly reportsEvents: boolean
  readonly show: (event: DevEvent) => void
  /** Learns the application's names of secret fields. */
  readonly redactor: Redactor
  /** The secret that clients of the development page must send. */
  readonly secret: string
}

type ExplainingMessage = Extract<ChildMessage, { is: 'explaining' }>

/** Milliseconds that the application has to exit after SIGTERM. */
const shutdownTimeout = 500
/** Milliseconds after which clients that wait for a start get a response. */
const explainDelay = 3000
/** Milliseconds between two checks whether a used port is free. */
const portProbeInterval = 1000

export class Supervisor {
  readonly #options: SuperviseOptions
  readonly #fileWatcher: FileWatcher
  readonly #typeChecker: TypeChecker | undefined
  #running: ChildProcess | undefined
  #standby: ChildProcess | undefined
  #portTimer: NodeJS.Timeout | undefined
  readonly #port = new SharedPort()
  #waitTimer: NodeJS.Timeout | undefined
  /** The number of the latest start. Messages of earlier ones are ignored. */
  #currentStart = 0
  #closed = false
  #hasStarted = false

  constructor(options: SuperviseOptions) {
    this.#options = options
    const { cwd, show } = options
    this.#fileWatcher = new FileWatcher(cwd, (files) => {
      show({ event: 'changed', files })
      this.#typeChecker?.changed()
      // The standby process was started with the old variables.
      if (files.some((file) => file.startsWith('.env'))) this.#dropStandby()
      void this.#begin(performance.now())
    })
    this.#typeChecker = startTypeChecker(cwd, (errors) => {
      show({ event: 'types', errors })
    })
    void this.#begin(performance.now())
  }

  /** Ends all processes, watchers and timers. */
  async close(): Promise<void> {
    this.#closed = true
    this.#fileWatcher.close()
    clearInterval(this.#portTimer)
    clearTimeout(this.#waitTimer)
    this.#port.release()
    this.#dropStandby()
    this.#typeChecker?.close()
    await endChild(this.#running)
  }

  async #begin(startedAt: number): Promise<void> {
    const startNumber = ++this.#currentStart
    clearInterval(this.#portTimer)
    clearTimeout(this.#waitTimer)
    const { file, named, reportsEvents, secret, show } = this.#options
    const next = this.#standby ?? this.#spawn()
    this.#standby = undefined
    const before = this.#running
    this.#running = undefined
    await endChild(before)
    // There was another change, or `close` was called: the new process remains on standby.
    if (startNumber !== this.#currentStart || this.#closed) {
      this.#putBack(next)
      return
    }
    this.#running = next
    show({ event: 'starting', file: named })
    this.#watchChild(next, startNumber, startedAt)
    this.#port.begin(next, { file, named, reportsEvents, secret })
    this.#waitTimer = setTimeout(() => {
      const report = `${named} is still being started.`
      show({ event: 'waiting', file: named, seconds: explainDelay / 1000 })
      this.#explain({ title: 'The application is starting', report, summary: report, error: null })
    }, explainDelay)
  }

  /** Stores an unused process as the standby process, if there is none. */
  #putBack(child: ChildProcess): void {
    if (this.#closed || this.#standby !== undefined) endGroup(child, 'SIGKILL')
    else this.#standby = child
  }

  /**
   * Lets the standby process respond to requests with the reason.
   *
   * @param address what it opens if the program has never listened
   */
  #explain(reason: StopReason, address?: ListenAddress): void {
    this.#standby ??= this.#spawn()
    const { redactor, secret } = this.#options
    const report = redactor.text(reason.report)
    const summary = redactor.text(reason.summary)
    this.#port.explain(this.#standby, { reason: { ...reason, report, summary }, secret, address })
  }

  /** The address that the program will probably open. Undefined once it has started, because it has another one, or none. */
  #expectedAddress(): ListenAddress | undefined {
    if (this.#hasStarted) return undefined
    const { port = 3000, host = '::' } = readEnvironment(
      childEnvironment(this.#options.cwd),
      new Problems(),
    )
    return { port, host }
  }

  /** The standby process has opened the port to explain a failed start. */
  #holdExpected({ address, url }: ExplainingMessage, socket: ListeningSocket): void {
    this.#port.hold(address, socket, true)
    this.#options.show({ event: 'page', page: pageAddress(url, this.#options.secret) })
  }

  #watchChild(child: ChildProcess, startNumber: number, startedAt: number): void {
    const { show, secret } = this.#options
    let failure: StopReason | undefined
    let isPortTaken = false
    const isObsolete = (): boolean => startNumber !== this.#currentStart || this.#closed
    child.on('message', (received, handle) => {
      const message = readChildMessage(received)
      if (isObsolete() || message === undefined) {
        const socket = handle as ListeningSocket | undefined
        if (message?.is === 'opened') socket?.close()
        return
      }
      if (message.is === 'request') show({ event: 'request', request: message.request })
      else if (message.is === 'job') show({ event: 'job', job: message.job })
      else if (message.is === 'failed') {
        const { report, summary, error, port } = message
        failure = { title: 'The application cannot start', report, summary, error }
        isPortTaken = port !== undefined
        if (port !== undefined && this.#port.releaseIfTaken(port)) {
          void this.#begin(startedAt)
          return
        }
        show({ event: 'failed', report, port })
        if (port !== undefined) void this.#awaitPort(port, startNumber)
      } else if (message.is === 'opened') {
        this.#port.hold(message.address, toListeningSocket(handle))
      } else if (message.is === 'started') {
        clearTimeout(this.#waitTimer)
        this.#hasStarted = true
        const { url, usesSharedSocket, pages, routes, served, secrets } = message
        if (this.#standby === undefined) this.#standby = this.#spawn()
        else this.#port.explain(this.#standby, { reason: undefined, secret })
        if (!usesSharedSocket) this.#port.release()
        this.#options.redactor.learnNames(secrets)
        const page = url === undefined ? undefined : pageAddress(url, secret)
        const took = Math.round(performance.now() - startedAt)
        const addresses = pages.map(({ title, path }) => ({ title, url: `${url ?? ''}${path}` }))
        show({ event: 'ready', url, page, pages: addresses, routes, took })
        this.#fileWatcher.ignoreFolders(served)
      }
    })
    child.once('exit', (code) => {
      if (isObsolete()) return
      clearTimeout(this.#waitTimer)
      const report = `The program ended (${code ?? 'killed'}).`
      // A program that ends by itself, or whose port is in use, does not need a page.
      const opensPort = code !== 0 && !isPortTaken
      this.#explain(
        failure ?? { title: 'The application has ended', report, summary: report, error: null },
        opensPort ? this.#expectedAddress() : undefined,
      )
      if (failure === undefined) show({ event: 'ended', code })
    })
  }

  async #awaitPort(port: number, startNumber: number): Promise<void> {
    const by = await findPortUser(port)
    if (startNumber !== this.#currentStart || this.#closed) return
    this.#options.show({ event: 'port', port, by })
    this.#portTimer = setInterval(() => {
      const probe = createServer()
      probe.once('error', () => undefined)
      probe.listen(port, () => {
        probe.close(() => {
          if (startNumber === this.#currentStart && !this.#closed)
            void this.#begin(performance.now())
        })
      })
    }, portProbeInterval)
  }

  #spawn(): ChildProcess {
    const { cwd, loader, show } = this.#options
    const args = ['--enable-source-maps', ...(loader === undefined ? [] : ['--import', loader])]
    const child = spawnNode([...args, programFile('./dev-child.js', './child.ts')], {
      cwd,
      env: childEnvironment(cwd),
      stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
    })
    child.on('message', (received, handle) => {
      const message = readChildMessage(received)
      if (message?.is !== 'explaining') return
      const socket = toListeningSocket(handle)
      if (child === this.#standby && !this.#closed) this.#holdExpected(message, socket)
      else socket.close()
    })
    child.on('error', (error) => {
      show({ event: 'failed', report: `Node.js cannot be started: ${error.message}` })
    })
    readLines(child.stdout, (text) => {
      const line = readLog(text)
      show(line === undefined ? { event: 'output', text } : { event: 'log', line })
    })
    // A failed start is reported by a message, so its output on stderr is not shown again.
    let errors = ''
    readLines(child.stderr, (text) => (errors += `${text}\n`))
    child.stderr?.on('data', () => {
      clearTimeout(delay)
      delay = setTimeout(() => {
        if (child.exitCode === null && errors !== '')
          show({ event: 'output', text: errors.trimEnd() })
        errors = ''
      }, 100)
    })
    let delay: NodeJS.Timeout | undefined
    return child
  }

  #dropStandby(): void {
    if (this.#standby !== undefined) endGroup(this.#standby, 'SIGKILL')
    this.#standby = undefined
  }
}

/** Sends SIGTERM, and SIGKILL after the timeout. */
async function endChild(child: ChildProcess | undefined): Promise<void> {
  if (child === undefined || child.exitCode !== null || child.signalCode !== null) return
  const ended = new Promise<void>((resolve) => {
    child.once('exit', () => {
      resolve()
    })
  })
  child.kill('SIGTERM')
  const timer = setTimeout(() => {
    endGroup(child, 'SIGKILL')
  }, shutdownTimeout)
  await ended
  clearTimeout(timer)
}

/** @returns undefined if the text is not a log line */
function readLog(text: string): LogText | undefined {
  if (!text.startsWith('{')) return undefined
  try {
    const line = JSON.parse(text) as LogText
    return typeof line.level === 'number' ? line : undefined
  } catch {
    return undefined
  }
}
