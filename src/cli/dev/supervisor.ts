/**
 * Runs an application and starts it again at each change. The next process waits beside the running one, with everything
 * loaded but the application, so that a start is faster than the first.
 */
import { spawn, type ChildProcess } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseEnv } from 'node:util'
import { checkTypes, type TypeCheck } from './type-checker.js'
import { type ListeningSocket, HeldPort, findPortUser } from './shared-port.js'
import {
  endGroup,
  readLines,
  readChildMessage,
  type DevEvent,
  type LogText,
  leashCode,
} from './child-process.js'
import { pageAddress } from './page-access.js'
import type { Redactor } from './redactor.js'
import { FileWatch } from './file-watcher.js'

export interface SuperviseOptions {
  readonly cwd: string
  /** Absolute path of the program. */
  readonly file: string
  /** As it was named. */
  readonly named: string
  /** Address of what lets Node import the program's sources; undefined where it can. */
  readonly loader: string | undefined
  /** Tell of requests, too. */
  readonly tells: boolean
  readonly show: (event: DevEvent) => void
  /** Gets to know what the application hides. */
  readonly redactor: Redactor
  /** What clients of the development page must send. */
  readonly secret: string
}

/** Milliseconds that the application has to end by itself. */
const patience = 500
/** Milliseconds after which those who wait for a start are told so. */
const longestWait = 10_000
/** Milliseconds between two looks at a port that is not free. */
const portPace = 1000

export class Supervisor {
  readonly #options: SuperviseOptions
  readonly #watch: FileWatch
  readonly #types: TypeCheck | undefined
  #running: ChildProcess | undefined
  #standby: ChildProcess | undefined
  #portTimer: NodeJS.Timeout | undefined
  readonly #port = new HeldPort()
  #waitTimer: NodeJS.Timeout | undefined
  /** Each start has a number: what an earlier one says counts no more. */
  #start = 0
  #closed = false

  constructor(options: SuperviseOptions) {
    this.#options = options
    const { cwd, show } = options
    this.#watch = new FileWatch(cwd, (files) => {
      show({ event: 'changed', files })
      this.#types?.changed()
      // What waits has read the earlier ones.
      if (files.some((file) => file.startsWith('.env'))) this.#dropStandby()
      void this.#begin(performance.now())
    })
    this.#types = checkTypes(cwd, (errors) => {
      show({ event: 'types', errors })
    })
    void this.#begin(performance.now())
  }

  /** Ends everything that it has started. */
  async close(): Promise<void> {
    this.#closed = true
    this.#watch.close()
    clearInterval(this.#portTimer)
    clearTimeout(this.#waitTimer)
    this.#port.letGo()
    this.#dropStandby()
    this.#types?.close()
    await endChild(this.#running)
  }

  async #begin(began: number): Promise<void> {
    const own = ++this.#start
    clearInterval(this.#portTimer)
    clearTimeout(this.#waitTimer)
    const { file, named, tells, secret, show } = this.#options
    const next = this.#standby ?? this.#spawn()
    this.#standby = undefined
    const before = this.#running
    this.#running = undefined
    await endChild(before)
    // Another change came meanwhile, or the end: the process has not begun and waits on.
    if (own !== this.#start || this.#closed) {
      this.#putBack(next)
      return
    }
    this.#running = next
    show({ event: 'starting', file: named })
    this.#heed(next, own, began)
    this.#port.begin(next, { file, named, tells, secret })
    this.#waitTimer = setTimeout(() => {
      this.#explain(`${named} is still being started.`)
    }, longestWait)
  }

  /** A process that has not begun is as good as another. */
  #putBack(child: ChildProcess): void {
    if (this.#closed || this.#standby !== undefined) endGroup(child, 'SIGKILL')
    else this.#standby = child
  }

  /** The process that waits tells those who come why nobody else does. */
  #explain(report: string): void {
    this.#standby ??= this.#spawn()
    const { redactor, secret } = this.#options
    this.#port.explain(this.#standby, { report: redactor.text(report), secret })
  }

  #heed(child: ChildProcess, own: number, began: number): void {
    const { show, secret } = this.#options
    let fault: string | undefined
    const isPast = (): boolean => own !== this.#start || this.#closed
    child.on('message', (given, handle) => {
      const message = readChildMessage(given)
      if (isPast() || message === undefined) {
        const socket = handle as ListeningSocket | undefined
        if (message?.is === 'opened') socket?.close()
        return
      }
      if (message.is === 'request') show({ event: 'request', request: message.request })
      else if (message.is === 'job') show({ event: 'job', job: message.job })
      else if (message.is === 'failed') {
        const { report, port } = message
        fault = report
        if (port !== undefined && this.#port.standsInTheWay(port)) {
          void this.#begin(began)
          return
        }
        show({ event: 'failed', report, port })
        if (port !== undefined) void this.#awaitPort(port, own)
      } else if (message.is === 'opened') {
        this.#port.hold(message.place, handle as unknown as ListeningSocket)
      } else {
        clearTimeout(this.#waitTimer)
        const { url, isKept, routes, served, secrets } = message
        if (this.#standby === undefined) this.#standby = this.#spawn()
        else this.#port.explain(this.#standby, { report: undefined, secret })
        if (!isKept) this.#port.letGo()
        this.#options.redactor.learnNames(secrets)
        const page = url === undefined ? undefined : pageAddress(url, secret)
        const took = Math.round(performance.now() - began)
        show({ event: 'ready', url, page, routes, took })
        this.#watch.leaveOut(served)
      }
    })
    child.once('exit', (code) => {
      if (isPast()) return
      clearTimeout(this.#waitTimer)
      this.#explain(fault ?? `The program ended (${code ?? 'killed'}).`)
      if (fault === undefined) show({ event: 'ended', code })
    })
  }

  async #awaitPort(port: number, own: number): Promise<void> {
    const by = await findPortUser(port)
    if (own !== this.#start || this.#closed) return
    this.#options.show({ event: 'port', port, by })
    this.#portTimer = setInterval(() => {
      const probe = createServer()
      probe.once('error', () => undefined)
      probe.listen(port, () => {
        probe.close(() => {
          if (own === this.#start && !this.#closed) void this.#begin(performance.now())
        })
      })
    }, portPace)
  }

  #spawn(): ChildProcess {
    const { cwd, loader, show } = this.#options
    const args = ['--enable-source-maps', '--import', leashCode()]
    if (loader !== undefined) args.push('--import', loader)
    const child = spawn(process.execPath, [...args, childFile()], {
      cwd,
      env: environment(cwd),
      stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
      detached: process.platform !== 'win32',
    })
    child.on('error', (error) => {
      show({ event: 'failed', report: `Node.js cannot be started: ${error.message}` })
    })
    readLines(child.stdout, (text) => {
      const line = readLog(text)
      show(line === undefined ? { event: 'output', text } : { event: 'log', line })
    })
    // A start that fails is told by its message; the same comes here once more.
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

/** The built file beside this one, or the source. */
function childFile(): string {
  const built = fileURLToPath(new URL('./dev-child.js', import.meta.url))
  return existsSync(built) ? built : fileURLToPath(new URL('./child.ts', import.meta.url))
}

/** Variables of `.env` count where the environment has none. */
export function environment(cwd: string): NodeJS.ProcessEnv {
  const file = join(cwd, '.env')
  const own = existsSync(file) ? parseEnv(readFileSync(file, 'utf8')) : {}
  return { NODE_ENV: 'development', ...own, ...process.env }
}

/** First it may end by itself. */
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
  }, patience)
  await ended
  clearTimeout(timer)
}

/** @returns undefined for what is no line of a log */
function readLog(text: string): LogText | undefined {
  if (!text.startsWith('{')) return undefined
  try {
    const line = JSON.parse(text) as LogText
    return typeof line.level === 'number' ? line : undefined
  } catch {
    return undefined
  }
}
