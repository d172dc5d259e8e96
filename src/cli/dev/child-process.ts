/**
 * The processes that `filigree dev` and `filigree mcp` start: starting and ending them, their output, and the messages between
 * the supervisor of `filigree dev` and the application's process.
 */
import { spawn, type ChildProcess, type StdioOptions } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseEnv } from 'node:util'
import type { ListedPage } from '../describe-application.js'
import type { LogText } from '../../core/log-text.js'
import type { ErrorReport } from '../describe-error.js'

interface SpawnOptions {
  readonly cwd: string
  readonly env?: NodeJS.ProcessEnv
  readonly stdio: StdioOptions
}

/**
 * Starts Node.js in a process group of its own, so that `endGroup` also ends the processes that it starts. The process exits
 * when this one does.
 */
export function spawnNode(args: readonly string[], options: SpawnOptions): ChildProcess {
  return spawn(process.execPath, ['--import', exitWithParentCode(), ...args], {
    ...options,
    detached: process.platform !== 'win32',
  })
}

/** @returns the path of a program of this package: the built file, or the source if it is not built */
export function programFile(built: string, source: string): string {
  const file = fileURLToPath(new URL(built, import.meta.url))
  return existsSync(file) ? file : fileURLToPath(new URL(source, import.meta.url))
}

/** The environment of an application's process: variables of `.env` apply if the environment does not have them. */
export function childEnvironment(cwd: string): NodeJS.ProcessEnv {
  const file = join(cwd, '.env')
  const fileVariables = existsSync(file) ? parseEnv(readFileSync(file, 'utf8')) : {}
  return { NODE_ENV: 'development', ...fileVariables, ...process.env }
}

/** Milliseconds between two checks whether the parent process is still running. */
const parentCheckInterval = 300

/**
 * Code for `node --import` that ends the process when its parent has exited for any reason. It checks in a thread, so that an
 * endless loop in the program does not stop it.
 */
function exitWithParentCode(): string {
  const watch = `
    const isClosed = () => {
      if (process.ppid !== parent) return true
      try { process.kill(parent, 0); return false } catch { return true }
    }
    setInterval(() => {
      if (!isClosed()) return
      // The process leads a group, so this also ends the processes that it has started.
      try { process.kill(-process.pid, 'SIGKILL') } catch { process.kill(process.pid, 'SIGKILL') }
    }, ${parentCheckInterval})`
  const code = `
    import { Worker } from 'node:worker_threads'
    const parent = 'const parent = ' + process.ppid
    new Worker(parent + ${JSON.stringify(watch)}, { eval: true, execArgv: [] }).unref()`
  return `data:text/javascript,${encodeURIComponent(code)}`
}

/** A port and host that the application listens on. */
export interface ListenAddress {
  readonly port: number
  readonly host: string
}

/** A handle of a listening socket. Closing it does not close the handles of other processes. */
export interface ListeningSocket {
  close(): void
}

/** @param handle what came with a message: Node passes handles of sockets without their type */
export function toListeningSocket(handle: unknown): ListeningSocket {
  return handle as ListeningSocket
}

/** Why the application does not run. */
export interface StopReason {
  readonly title: string
  readonly report: string
  /** The report without sources and stacks, for browsers of this machine that have not opened the development page. */
  readonly summary: string
  /** The error with its source, unless the report has the source lines. */
  readonly error: ErrorReport | null
}

/** To a standby process: respond to requests with the reason. The shared socket, if any, is sent with the message. */
export interface ExplainMessage {
  readonly is: 'explain'
  /** Undefined stops the responses. */
  readonly reason: StopReason | undefined
  /** The address to open if no socket is sent. */
  readonly address?: ListenAddress | undefined
  /** The secret that a client must send to read the report. */
  readonly secret: string
}

/** To a standby process: run the program. */
export interface BeginMessage {
  readonly is: 'begin'
  /** The address of the shared socket, which is sent with the message. */
  readonly address: ListenAddress | undefined
  /** Absolute path of the program. */
  readonly file: string
  /** The path as the user wrote it, for messages. */
  readonly named: string
  /** Also sends each request and job run. */
  readonly reportsEvents: boolean
  /** The secret that clients of the development page must send. */
  readonly secret: string
}

/** An event of `filigree dev`. With `--json` each is written as one line of JSON. */
export type DevEvent =
  | { readonly event: 'starting'; readonly file: string }
  | {
      readonly event: 'ready'
      readonly url: string | undefined
      /** The address of the development page, with its secret. */
      readonly page: string | undefined
      /** The application's pages for people, such as its documentation. */
      readonly pages: readonly { readonly title: string; readonly url: string }[]
      readonly routes: number
      /** Milliseconds since the change, or since the start. */
      readonly took: number
    }
  /** The start takes longer than usual. */
  | { readonly event: 'waiting'; readonly file: string; readonly seconds: number }
  | { readonly event: 'failed'; readonly report: string; readonly port?: number | undefined }
  /** The address of the page that shows why the first start failed, with its secret. */
  | { readonly event: 'page'; readonly page: string }
  | { readonly event: 'ended'; readonly code: number | null }
  | { readonly event: 'changed'; readonly files: readonly string[] }
  | { readonly event: 'types'; readonly errors: readonly TypeCheckError[] }
  | { readonly event: 'port'; readonly port: number; readonly by: string }
  | { readonly event: 'output'; readonly text: string }
  | { readonly event: 'log'; readonly line: LogText }
  | { readonly event: 'request'; readonly request: object }
  | { readonly event: 'job'; readonly job: object }

export interface TypeCheckError {
  readonly file: string
  readonly line: number
  readonly column: number
  readonly code: string
  readonly message: string
}

/** From the application's process to the supervisor. */
export type ChildMessage =
  | {
      readonly is: 'started'
      readonly url: string | undefined
      /** It listens on the shared socket. */
      readonly usesSharedSocket: boolean
      /** Pages for people, such as the documentation. */
      readonly pages: readonly ListedPage[]
      readonly routes: number
      /** Folders of static files. Changes in them need no restart. */
      readonly served: readonly string[]
      /** Names of hidden and secured fields. */
      readonly secrets: readonly string[]
    }
  | {
      readonly is: 'failed'
      readonly report: string
      /** Without sources and stacks. */
      readonly summary: string
      readonly error: ErrorReport | null
      readonly port: number | undefined
    }
  /** The application opened this address. The socket is sent with the message. */
  | { readonly is: 'opened'; readonly address: ListenAddress }
  /** The standby process opened this address to explain a failed start. The socket is sent with the message. */
  | { readonly is: 'explaining'; readonly address: ListenAddress; readonly url: string }
  | { readonly is: 'request'; readonly request: object }
  | { readonly is: 'job'; readonly job: object }

/** @returns undefined for messages that the application itself sent, such as `process.send('ready')` */
export function readChildMessage(message: unknown): ChildMessage | undefined {
  const { is } = (message ?? {}) as { is?: unknown }
  return typeof is === 'string' && kinds.has(is) ? (message as ChildMessage) : undefined
}

const kinds: ReadonlySet<string> = new Set<ChildMessage['is']>([
  'started',
  'failed',
  'opened',
  'explaining',
  'request',
  'job',
])

/** Sends a signal to a process and to the processes that it has started. */
export function endGroup({ pid }: ChildProcess, signal: NodeJS.Signals): void {
  if (pid === undefined) return
  for (const target of process.platform === 'win32' ? [pid] : [-pid, pid]) {
    try {
      process.kill(target, signal)
      return
    } catch {
      // It has exited already, or does not lead a group.
    }
  }
}

/** Calls `onLine` for each complete line of a stream. */
export function readLines(
  stream: NodeJS.ReadableStream | null,
  onLine: (line: string) => void,
): void {
  let rest = ''
  stream?.on('data', (data: Buffer) => {
    const lines = (rest + data.toString()).split('\n')
    rest = lines.pop() ?? ''
    for (const line of lines) onLine(line)
  })
}
