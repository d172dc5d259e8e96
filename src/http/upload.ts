/** An uploaded file in the request's temporary folder, until it is moved. Source: decisions, Responses. */
import type { Readable } from 'node:stream'
import { randomUUID } from 'node:crypto'
import { createReadStream, type ReadStream } from 'node:fs'
import { copyFile, mkdir, readFile, rename, rm, stat } from 'node:fs/promises'
import { basename, dirname, extname, join, sep } from 'node:path'
import type { FileType } from './file-types.js'

/** An uploaded file. It is streamed to disk, and removed after the response unless it was moved. */
export interface UploadedFile {
  /** The client's name for the file, without folders and control characters. It is never used on disk. */
  readonly name: string
  /**
   * The media type, detected from the first bytes. If several types have the same bytes (CSV, JSON, DOCX), the client's
   * type and file name decide. Other text is `text/plain`, other bytes are `application/octet-stream`.
   */
  readonly type: string
  /** Bytes. */
  readonly size: number
  /** The current path. */
  readonly path: string
  /** Reads the file in chunks. */
  stream(): Readable
  /** Reads the complete file into memory. */
  bytes(): Promise<Buffer>
  /**
   * Stores the file permanently.
   *
   * @param target a folder (existing, or ending in `/`), where the file gets a new name with the extension of its type
   * (HTML, SVG and XML get `.txt`); any other target is the exact path. Missing folders are created.
   * @returns the new path
   */
  moveTo(target: string): Promise<string>
}

export interface UploadOptions {
  /** The client's name for the file, as sent. */
  readonly name: string
  /** The type of the bytes. */
  readonly content: FileType
  /** Bytes. */
  readonly size: number
  /** The temporary file. */
  readonly path: string
}

export class Upload implements UploadedFile {
  readonly name: string
  readonly type: string
  readonly size: number
  readonly #extension: string
  #path: string

  constructor(options: UploadOptions) {
    this.name = cleanFileName(options.name)
    this.type = options.content.type
    this.size = options.size
    this.#path = options.path
    this.#extension = options.content.extension
  }

  get path(): string {
    return this.#path
  }

  stream(): ReadStream {
    return createReadStream(this.#path)
  }

  bytes(): Promise<Buffer> {
    return readFile(this.#path)
  }

  /**
   * Stores the file permanently: in a folder (existing, or ending in `/`) under a new name with the extension of its
   * type, otherwise at the exact path, where it replaces an existing file.
   *
   * @throws {Error} if the temporary file no longer exists, or with the system's error if the target cannot be written
   */
  async moveTo(target: string): Promise<string> {
    const goal = (await isFolder(target)) ? join(target, randomUUID() + this.#extension) : target
    await mkdir(dirname(goal), { recursive: true })
    try {
      await move(this.#path, goal)
    } catch (cause) {
      if (!(await isMissing(this.#path))) throw cause
      const message = `UploadedFile.moveTo: "${this.name}" is no longer in its temporary folder.`
      const fix = 'It is removed when the response ends or the client goes away; move it before.'
      throw new Error(`${message} ${fix}`, { cause })
    }
    this.#path = goal
    return goal
  }
}

async function isFolder(target: string): Promise<boolean> {
  if (target.endsWith('/') || target.endsWith(sep)) return true
  try {
    return (await stat(target)).isDirectory()
  } catch {
    // It does not exist or is not readable. The move itself then reports the error.
    return false
  }
}

async function isMissing(path: string): Promise<boolean> {
  return stat(path).then(
    () => false,
    () => true,
  )
}

async function move(from: string, to: string): Promise<void> {
  try {
    await rename(from, to)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EXDEV') throw error
    await copyAcross(from, to)
  }
}

/**
 * Moves a file to another device: copies it next to the target, and renames the copy, so that no incomplete file is
 * visible.
 */
async function copyAcross(from: string, to: string): Promise<void> {
  const copy = join(dirname(to), `.${randomUUID()}`)
  try {
    await copyFile(from, copy)
    await rename(copy, to)
  } catch (error) {
    await rm(copy, { force: true })
    throw error
  }
  await rm(from, { force: true })
}

// Control characters, and marks that change the direction of text: "photo\u202Egnp.exe" is displayed as "photoexe.png".
const hidden = /[\u0000-\u001f\u007f-\u009f\u200e\u200f\u202a-\u202e\u2066-\u2069]/g
/** Bytes in UTF-8. File systems refuse names over 255 bytes, and applications often add a prefix. */
const longestName = 200

/** The client's name without folders (of either slash), control characters and more than 200 bytes. */
export function cleanFileName(name: string): string {
  const last = name.slice(Math.max(name.lastIndexOf('/'), name.lastIndexOf('\\')) + 1)
  const clean = last.replace(hidden, '').trim()
  if (clean === '' || clean === '.' || clean === '..') return 'unnamed'
  return shorten(clean)
}

function shorten(name: string): string {
  if (Buffer.byteLength(name) <= longestName) return name
  const extension = cleanExtension(name)
  const start = new TextEncoder().encode(name).subarray(0, longestName - extension.length)
  // The cut may split a character.
  const decoder = new TextDecoder('utf-8', { ignoreBOM: true })
  return decoder.decode(start, { stream: true }).trimEnd() + extension
}

/** `.jpg` for `Holiday.JPG`; empty if there is no extension of at most 16 letters and digits. */
function cleanExtension(name: string): string {
  const extension = extname(basename(name)).toLowerCase()
  return /^\.[a-z0-9]{1,16}$/.test(extension) ? extension : ''
}
