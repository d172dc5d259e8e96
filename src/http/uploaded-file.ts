/** A file that a client uploaded: streamed to disk, removed after the response unless it was moved. */
import type { Readable } from 'node:stream'

export interface UploadedFile {
  /** The client's name for it, cleaned: no folders, no control characters. Never used on disk as it is. */
  readonly name: string
  /**
   * The media type that the first bytes show. Where bytes cannot tell (CSV, JSON, DOCX), what the client says decides
   * between the types that fit. Other text is `text/plain`, other bytes are `application/octet-stream`.
   */
  readonly type: string
  /** Bytes. */
  readonly size: number
  /** Where it lies now. */
  readonly path: string
  /** Reads it piece by piece. */
  stream(): Readable
  /** Reads all of it into memory. */
  bytes(): Promise<Buffer>
  /**
   * Keeps the file.
   *
   * @param target a folder (existing, or ending in `/`), where the file gets a fresh name with the extension of its type
   * (HTML, SVG and XML get `.txt`); any other target is the exact path. Missing folders are created.
   * @returns the new path
   */
  moveTo(target: string): Promise<string>
}
