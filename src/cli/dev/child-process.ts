/** Processes that `filigree dev` starts: their lines, and their end. */

import type { ChildProcess } from 'node:child_process'

/**
 * Ends a process of `filigree dev` when that is gone, however it ended: a thread looks for it, so that an endless loop
 * or a call that waits holds nothing up.
 */

/** Milliseconds between two looks. */
const pace = 300

/** Code for `node --import`, for programs that are not ours. */
export function leashCode(): string {
  const watch = `
    const gone = () => {
      if (process.ppid !== parent) return true
      try { process.kill(parent, 0); return false } catch { return true }
    }
    setInterval(() => {
      if (!gone()) return
      // The process leads a group: what it has started ends with it.
      try { process.kill(-process.pid, 'SIGKILL') } catch { process.kill(process.pid, 'SIGKILL') }
    }, ${pace})`
  const code = `
    import { Worker } from 'node:worker_threads'
    const parent = 'const parent = ' + process.ppid
    new Worker(parent + ${JSON.stringify(watch)}, { eval: true, execArgv: [] }).unref()`
  return `data:text/javascript,${encodeURIComponent(code)}`
}

/** What `filigree dev` and the process of the application tell each other, and what `--json` writes. */

/** A port as the application asks for it. */
export interface PortPlace {
  readonly port: number
  readonly host: string
}

/** To a process that waits: answer those who come to this port. Its socket comes beside it. */
export interface ExplainMessage {
  readonly is: 'explain'
  /** Why the application does not; undefined: answer nobody any more. */
  readonly report: string | undefined
  /** What a client must send to read the report. */
  readonly secret: string
}

/** To the application's process: begin. */
export interface BeginMessage {
  readonly is: 'begin'
  /** Where somebody listens already; the socket comes beside it. */
  readonly place: PortPlace | undefined
  /** Absolute path of the program. */
  readonly file: string
  /** As it was named. */
  readonly named: string
  /** Tell of each request, too. */
  readonly tells: boolean
  /** What clients of the development page must send. */
  readonly secret: string
}

/** What happens, one JSON line each with `--json`. */
export type DevEvent =
  | { readonly event: 'starting'; readonly file: string }
  | {
      readonly event: 'ready'
      readonly url: string | undefined
      /** The address of the development page, with its secret. */
      readonly page: string | undefined
      readonly routes: number
      /** Milliseconds since the change, or since the start. */
      readonly took: number
    }
  | { readonly event: 'failed'; readonly report: string; readonly port?: number | undefined }
  | { readonly event: 'ended'; readonly code: number | null }
  | { readonly event: 'changed'; readonly files: readonly string[] }
  | { readonly event: 'types'; readonly errors: readonly TypeFault[] }
  | { readonly event: 'port'; readonly port: number; readonly by: string }
  | { readonly event: 'output'; readonly text: string }
  | { readonly event: 'log'; readonly line: LogText }
  | { readonly event: 'request'; readonly request: object }
  | { readonly event: 'job'; readonly job: object }

export interface TypeFault {
  readonly file: string
  readonly line: number
  readonly column: number
  readonly code: string
  readonly message: string
}

/** A line of the log, as pino writes it. */
export interface LogText {
  readonly level: number
  readonly time?: number
  readonly msg?: string
  readonly err?: { readonly message?: string; readonly stack?: string }
  readonly [field: string]: unknown
}

/** From the application's process. */
export type ChildMessage =
  | {
      readonly is: 'started'
      readonly url: string | undefined
      /** It listens at the socket that is held. */
      readonly isKept: boolean
      readonly routes: number
      /** Folders whose files are served as they are: their changes need no new start. */
      readonly served: readonly string[]
      /** Names of hidden and secured fields. */
      readonly secrets: readonly string[]
    }
  | { readonly is: 'failed'; readonly report: string; readonly port: number | undefined }
  /** The socket comes beside it. */
  | { readonly is: 'opened'; readonly place: PortPlace }
  | { readonly is: 'request'; readonly request: object }
  | { readonly is: 'job'; readonly job: object }

/** @returns undefined for what the application has sent by itself, `process.send('ready')` for example */
export function readChildMessage(given: unknown): ChildMessage | undefined {
  const { is } = (given ?? {}) as { is?: unknown }
  return typeof is === 'string' && kinds.has(is) ? (given as ChildMessage) : undefined
}

const kinds: ReadonlySet<string> = new Set<ChildMessage['is']>([
  'started',
  'failed',
  'opened',
  'request',
  'job',
])

/** The process, and what it has started. */
export function endGroup({ pid }: ChildProcess, signal: NodeJS.Signals): void {
  if (pid === undefined) return
  for (const target of process.platform === 'win32' ? [pid] : [-pid, pid]) {
    try {
      process.kill(target, signal)
      return
    } catch {
      // It has ended already, or leads no group.
    }
  }
}

export function readLines(
  stream: NodeJS.ReadableStream | null,
  take: (line: string) => void,
): void {
  let rest = ''
  stream?.on('data', (data: Buffer) => {
    const lines = (rest + data.toString()).split('\n')
    rest = lines.pop() ?? ''
    for (const line of lines) take(line)
  })
}
