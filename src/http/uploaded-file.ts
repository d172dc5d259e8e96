/** A file that a client uploaded: streamed to disk, removed after the response unless it was moved. */
import type { Readable } from 'node:stream'

export interface UploadedFile {
  /** The client's name for it, cleaned: no folders, no control characters. Never used on disk as it is. */
  readonly name: string
  /** The media type the client gave, lower case; `application/octet-stream` where it gave none. */
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
   * @param target a folder (existing, or ending in `/`), where it gets a fresh safe name with the cleaned extension;
   * else the very path. Missing folders are made.
   * @returns the new path
   */
  moveTo(target: string): Promise<string>
}
