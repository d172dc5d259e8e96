/** Counts the bytes of rows, so that a client's read ends before it takes much memory. */
import { EngineError } from './engine-error.js'
import type { Row } from './engine.js'

/** @returns the bytes of the texts and binary values of a row. A character counts as one byte */
export function bytesOfRow(row: Row): number {
  let bytes = 0
  for (const value of row) {
    if (typeof value === 'string') bytes += value.length
    else if (value instanceof Uint8Array) bytes += value.byteLength
  }
  return bytes
}

/** @throws {EngineError} `tooLarge` */
export function checkReadBytes(rows: readonly Row[], maxBytes: number): void {
  let bytes = 0
  for (const row of rows) {
    bytes += bytesOfRow(row)
    if (bytes > maxBytes) throw tooLargeError()
  }
}

/** The error of a read whose rows have too many bytes. */
export function tooLargeError(): EngineError {
  return new EngineError('tooLarge', 'The rows of the read have too many bytes.')
}
