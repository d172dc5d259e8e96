/**
 * `.filigree/dev.json`: where a running `filigree dev` can be asked, and how its last start went, for other commands of the
 * same project. It is there as long as the process is.
 */
import { mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { DevEvent, TypeFault } from './child-process.js'
import type { Redactor } from './redactor.js'

export interface DevNotice {
  /** The process of `filigree dev`. */
  readonly pid: number
  readonly state: 'starting' | 'ready' | 'failed' | 'ended'
  /** Of the application, once it listens: `http://localhost:3000`. */
  readonly url: string | null
  /** What clients of the development page must send. */
  readonly secret: string
  /** Why it did not start, or has ended; without secrets. */
  readonly report: string | null
  readonly types: readonly TypeFault[]
}

const folderName = '.filigree'
const fileName = 'dev.json'

/** Writes the notice at each event that changes it. */
export class NoticeBoard {
  readonly #folder: string
  readonly #redactor: Redactor
  #notice: DevNotice

  constructor(cwd: string, redactor: Redactor, secret: string) {
    this.#folder = join(cwd, folderName)
    this.#redactor = redactor
    this.#notice = {
      ...{ pid: process.pid, state: 'starting', url: null, secret },
      ...{ report: null, types: [] },
    }
  }

  note(event: DevEvent): void {
    const before = this.#notice
    this.#notice = { ...before, ...this.#changed(event) }
    if (event.event !== 'starting' && JSON.stringify(before) === JSON.stringify(this.#notice))
      return
    this.#write()
  }

  #changed(event: DevEvent): Partial<DevNotice> {
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
          ...{ state: 'ended', url: null },
          report: `The program ended (${event.code ?? 'killed'}).`,
        }
      case 'types':
        return { types: event.errors.slice(0, mostFaults).map((fault) => this.#shown(fault)) }
      default:
        return {}
    }
  }

  /** The compiler quotes values. */
  #shown(fault: TypeFault): TypeFault {
    return { ...fault, message: this.#redactor.text(fault.message) }
  }

  #write(): void {
    try {
      // As the keys for development are kept: a folder that git passes over.
      if (mkdirSync(this.#folder, { recursive: true, mode: 0o700 }) !== undefined)
        writeFileSync(join(this.#folder, '.gitignore'), '*\n')
      const draft = join(this.#folder, `dev-${process.pid}.tmp`)
      writeFileSync(draft, `${JSON.stringify(this.#notice, null, 2)}\n`, { mode: 0o600 })
      renameSync(draft, join(this.#folder, fileName))
    } catch {
      // A project that cannot be written to is served all the same.
    }
  }

  /** Another one may have begun meanwhile. */
  takeDown(): void {
    if (readFile(this.#folder)?.pid === process.pid)
      rmSync(join(this.#folder, fileName), { force: true })
  }
}

const mostFaults = 50

/** @returns undefined where none runs */
export function readNotice(cwd: string): DevNotice | undefined {
  const notice = readFile(join(cwd, folderName))
  return notice !== undefined && isRunning(notice.pid) ? notice : undefined
}

function readFile(folder: string): DevNotice | undefined {
  try {
    const notice = JSON.parse(readFileSync(join(folder, fileName), 'utf8')) as Partial<DevNotice>
    const { pid, url } = notice
    const isOurs =
      typeof pid === 'number' && (url === null || (url !== undefined && URL.canParse(url)))
    return isOurs ? (notice as DevNotice) : undefined
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
