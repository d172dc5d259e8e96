/**
 * The file `.filigree/dev.json`, in which a running `filigree dev` stores its address and the result of its last start. Other
 * commands of the project, such as `filigree mcp`, read it. It is deleted when the process ends.
 */
import { mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { DevEvent, TypeCheckError } from './child-process.js'
import type { Redactor } from '../../serving/redaction/redactor.js'

export interface DevStatus {
  /** The process of `filigree dev`. */
  readonly pid: number
  readonly state: 'starting' | 'ready' | 'failed' | 'ended'
  /** The application's address, such as `http://localhost:3000`. Null until it listens. */
  readonly url: string | null
  /** The secret that clients of the development page must send. */
  readonly secret: string
  /** Why the application did not start, or why it ended. Without secrets. */
  readonly report: string | null
  readonly types: readonly TypeCheckError[]
}

const folderName = '.filigree'
const fileName = 'dev.json'

/** Writes the file at each event that changes the status. */
export class StatusFile {
  readonly #folder: string
  readonly #redactor: Redactor
  #status: DevStatus

  constructor(cwd: string, redactor: Redactor, secret: string) {
    this.#folder = join(cwd, folderName)
    this.#redactor = redactor
    this.#status = {
      pid: process.pid,
      state: 'starting',
      url: null,
      secret,
      report: null,
      types: [],
    }
  }

  update(event: DevEvent): void {
    const before = this.#status
    this.#status = { ...before, ...this.#changed(event) }
    if (event.event !== 'starting' && JSON.stringify(before) === JSON.stringify(this.#status))
      return
    this.#write()
  }

  #changed(event: DevEvent): Partial<DevStatus> {
    switch (event.event) {
      case 'starting':
        return { state: 'starting', url: null, report: null }
      case 'ready':
        return { state: 'ready', url: event.url ?? null, report: null }
      case 'failed':
        return { state: 'failed', url: null, report: this.#redactor.text(event.report) }
      case 'port':
        return { state: 'failed', report: `Port ${event.port} is used by ${event.by}.` }
      case 'ended':
        return {
          state: 'ended',
          url: null,
          report: `The program ended (${event.code ?? 'killed'}).`,
        }
      case 'types':
        return { types: event.errors.slice(0, maxTypeErrors).map((error) => this.#redact(error)) }
      default:
        return {}
    }
  }

  /** Messages of the compiler can contain values. */
  #redact(error: TypeCheckError): TypeCheckError {
    return { ...error, message: this.#redactor.text(error.message) }
  }

  #write(): void {
    try {
      // The folder contains secrets, so git must ignore it.
      if (mkdirSync(this.#folder, { recursive: true, mode: 0o700 }) !== undefined)
        writeFileSync(join(this.#folder, '.gitignore'), '*\n')
      const draft = join(this.#folder, `dev-${process.pid}.tmp`)
      writeFileSync(draft, `${JSON.stringify(this.#status, null, 2)}\n`, { mode: 0o600 })
      renameSync(draft, join(this.#folder, fileName))
    } catch {
      // A read-only project can still be served.
    }
  }

  /** Deletes the file, unless another process has replaced it. */
  remove(): void {
    if (readFile(this.#folder)?.pid === process.pid)
      rmSync(join(this.#folder, fileName), { force: true })
  }
}

const maxTypeErrors = 50

/** @returns the status of the running `filigree dev`, or undefined if it is not running */
export function readDevStatus(cwd: string): DevStatus | undefined {
  const status = readFile(join(cwd, folderName))
  return status !== undefined && isRunning(status.pid) ? status : undefined
}

function readFile(folder: string): DevStatus | undefined {
  try {
    const status = JSON.parse(readFileSync(join(folder, fileName), 'utf8')) as Partial<DevStatus>
    const { pid, url } = status
    const isOurs =
      typeof pid === 'number' && (url === null || (url !== undefined && URL.canParse(url)))
    return isOurs ? (status as DevStatus) : undefined
  } catch {
    return undefined
  }
}

function isRunning(pid: number): boolean {
  try {
    return Number.isInteger(pid) && pid > 0 && process.kill(pid, 0)
  } catch {
    return false
  }
}
