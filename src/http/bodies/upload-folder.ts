/** The temporary folder of one request's uploads. Source: decisions, Requests; Uploads. */
import { hash, randomUUID } from 'node:crypto'
import { createWriteStream, rmSync, type WriteStream } from 'node:fs'
import { mkdtemp, readdir, rm, stat } from 'node:fs/promises'
import { hostname, tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Stream } from 'node:stream'
import { detectedBytes } from '../file-types.js'
import { clientLeft, tooLarge } from '../refusals.js'

/** Bytes that may wait for a slow disk, for each running upload. */
const writeAhead = 256 * 1024

const noBytes = Buffer.alloc(0)

export interface ReceiveOptions {
  /** The maximum size of the file in bytes. Larger files are 413. */
  readonly limit: number
  /** Paused while the disk is slower. */
  readonly input: { pause(): unknown; resume(): unknown }
}

export interface StoredFile {
  readonly path: string
  /** The size in bytes on the disk. */
  readonly size: number
  /** Its first bytes, which determine its type. */
  readonly start: Buffer
}

export class UploadFolder {
  readonly path: string
  readonly #writers = new Set<WriteStream>()
  #removed: Promise<void> | undefined

  private constructor(path: string) {
    this.path = path
  }

  /** Creates a folder with mode 0700 in the system's temporary folder. */
  static async create(): Promise<UploadFolder> {
    const path = await mkdtemp(join(tmpdir(), `filigree-upload-${process.pid}-${host()}-`))
    remember(path)
    return new UploadFolder(path)
  }

  /**
   * Writes one part's data, from events `data` and `end`, to a file of a random name.
   *
   * @throws {HttpError} 413; `CLIENT_GONE` if the folder was removed meanwhile
   * @throws {Error} the system's error, or if the disk has fewer bytes than were sent
   */
  receive(part: Stream, { limit, input }: ReceiveOptions): Promise<StoredFile> {
    return new Promise((resolve, reject) => {
      if (this.#removed !== undefined) throw clientLeft()
      const path = join(this.path, randomUUID())
      const writer = this.#open(path)
      let size = 0
      let start = noBytes
      const resume = (): void => {
        input.resume()
      }
      part.on('data', (chunk: Buffer) => {
        size += chunk.length
        if (start.length < detectedBytes) {
          start = Buffer.concat([start, chunk.subarray(0, detectedBytes - start.length)])
        }
        if (size > limit) reject(tooLarge('A file', limit))
        else if (!writer.write(chunk)) input.pause()
      })
      // An ended writer emits no `drain`, so the input must be resumed here.
      part.on('end', () => writer.end(resume))
      writer.on('drain', resume)
      writer.on('error', reject)
      writer.on('close', () => {
        // If the file was over the limit, `resolve` would leave the error of this promise to nobody.
        if (writer.writableFinished) verify({ path, size, start }).then(resolve, reject)
        else reject(clientLeft())
      })
    })
  }

  /** Aborts running writes and removes the folder with its files. May be called again. */
  remove(): Promise<void> {
    this.#removed ??= this.#remove()
    return this.#removed
  }

  #open(path: string): WriteStream {
    // The default mode: the folder is private, and a file that was moved out of it may be read.
    const writer = createWriteStream(path, { flags: 'wx', highWaterMark: writeAhead })
    this.#writers.add(writer)
    writer.once('close', () => this.#writers.delete(writer))
    return writer
  }

  async #remove(): Promise<void> {
    // A file that is still being opened would appear after the folder was read.
    await Promise.all([...this.#writers].map(abandon))
    try {
      await rm(this.path, { recursive: true, force: true, maxRetries: 3 })
      remaining?.delete(this.path)
    } catch (error) {
      process.emitWarning(`Uploads: cannot remove ${this.path}: ${String(error)}`)
    }
  }
}

/** The existing folders. A process that ends during requests removes them. */
let remaining: Set<string> | undefined

function remember(path: string): void {
  if (remaining === undefined) {
    const folders = new Set<string>()
    process.once('exit', () => {
      for (const folder of folders) rmSync(folder, { recursive: true, force: true })
    })
    remaining = folders
  }
  remaining.add(path)
}

/** If machines or containers share a folder, a process id alone does not identify a process. */
function host(): string {
  return hash('sha256', hostname(), 'hex').slice(0, 8)
}

/** Removes the folders of processes of this machine that were killed. */
export async function removeLeftFolders(): Promise<void> {
  const form = /^filigree-upload-(\d+)-([0-9a-f]{8})-/
  for (const name of await readdir(tmpdir())) {
    const [, pid = '', of] = form.exec(name) ?? []
    if (of !== host() || isRunning(Number(pid))) continue
    await rm(join(tmpdir(), name), { recursive: true, force: true })
  }
}

function isRunning(pid: number): boolean {
  // A restarted container may give the same id to its process.
  if (pid === process.pid) return remaining !== undefined
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return (error as NodeJS.ErrnoException).code !== 'ESRCH'
  }
}

function abandon(writer: WriteStream): Promise<void> {
  return new Promise((resolve) => {
    writer.once('close', () => {
      resolve()
    })
    writer.destroy()
  })
}

/** A full disk can lose the last bytes without an error. */
async function verify(file: StoredFile): Promise<StoredFile> {
  const { path, size } = file
  const stored = await stat(path)
  if (stored.size !== size) {
    throw new Error(`Uploads: ${path} holds ${stored.size} bytes of ${size}. Is the disk full?`)
  }
  return file
}
