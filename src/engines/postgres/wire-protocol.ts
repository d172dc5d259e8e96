/** Reads and writes the messages of PostgreSQL's wire protocol. Source: PostgreSQL, Frontend/Backend Protocol. */
import type { Driver, Field } from './driver.js'

/**
 * The columns of a statement's result, and the conversion of their texts to values. JSON, dates and timestamps stay text,
 * which the record's codecs read.
 */
export interface Columns {
  readonly names: readonly string[]
  /** By position; `undefined` if the text is the value. */
  readonly read: readonly (((text: string) => unknown) | undefined)[]
}

export const noColumns: Columns = Object.freeze({ names: [], read: [] })

/** Reads the server's description of a statement's columns. */
export type ColumnReader = (fields: readonly Field[]) => Columns

export function createColumnReader({ types }: Driver): ColumnReader {
  const readerOf = (oid: number): ((text: string) => unknown) | undefined => {
    if (textTypes.has(oid)) return undefined
    return numbers.has(oid) ? Number : types.getTypeParser(oid, 'text')
  }
  return (fields) => ({
    names: fields.map(({ name }) => name),
    read: fields.map(({ dataTypeID }) => readerOf(dataTypeID)),
  })
}

/**
 * int8, text, json, varchar, char, date, time, timestamptz, numeric, uuid, jsonb. pg would make a Date at midnight in
 * the local time zone from a day.
 */
const textTypes: ReadonlySet<number> = new Set([
  20, 25, 114, 1042, 1043, 1082, 1083, 1184, 1700, 2950, 3802,
])

/** int2, int4, oid, float4, float8. */
const numbers: ReadonlySet<number> = new Set([21, 23, 26, 700, 701])

export interface StatementMessage {
  /** The name of the prepared statement; empty if it runs once. */
  readonly name: string
  /** The text, if it must be prepared first. */
  readonly text: string | undefined
  /** Whether to close an earlier statement of this name. */
  readonly closes: boolean
  /** Names of other statements to close. */
  readonly dropped?: readonly string[]
  /** Whether to request the columns and the types of placeholders from the server. */
  readonly describes: boolean
  readonly values: readonly unknown[]
  /** Converts values that are not text, numbers, booleans or bytes. */
  readonly toText: (value: unknown) => string | Uint8Array | null
}

const code = { bind: 66, close: 67, describe: 68, parse: 80 } as const
const executeSync = Buffer.from('450000000900000000005300000004', 'hex')

/** Reused for all statements: its content is copied before other code runs. */
let bytes = Buffer.allocUnsafe(16_384)
let end = 0

/** A larger buffer is not reused. */
const maxReusedBytes = 1_048_576

/**
 * Writes a statement's messages into one buffer: Parse if it is not prepared, Describe if its columns are unknown (the
 * response contains the types of its placeholders too), Bind, Execute, Sync. Source: PostgreSQL, Frontend/Backend
 * Protocol, Message Formats.
 */
export function writeStatement(message: StatementMessage): Buffer {
  end = 0
  const { name, text, closes, describes, dropped = [] } = message
  for (const old of dropped) writeNamed(code.close, old)
  if (text !== undefined) {
    if (closes) writeNamed(code.close, name)
    writeParse(name, text)
  }
  if (describes) writeNamed(code.describe, name)
  writeBind(message)
  const written = Buffer.allocUnsafe(end + executeSync.length)
  bytes.copy(written, 0, 0, end)
  executeSync.copy(written, end)
  if (bytes.length > maxReusedBytes) bytes = Buffer.allocUnsafe(16_384)
  return written
}

function writeNamed(type: number, name: string): void {
  const start = begin(type)
  reserve(1)
  bytes[end++] = 83 // S: a statement
  writeName(name)
  finish(start)
}

function writeParse(name: string, text: string): void {
  const start = begin(code.parse)
  writeName(name)
  writeName(text)
  writeShort(0)
  finish(start)
}

function writeBind({ name, values, toText }: StatementMessage): void {
  const start = begin(code.bind)
  // The portal's name is empty.
  writeName('')
  writeName(name)
  writeShort(values.length)
  const formats = end
  reserve(2 * values.length)
  bytes.fill(0, end, end + 2 * values.length)
  end += 2 * values.length
  writeShort(values.length)
  for (let index = 0; index < values.length; index++) {
    const value = toSent(values[index], toText)
    if (value === null) writeInt(-1)
    else if (typeof value === 'string') writeText(value)
    else {
      bytes[formats + 2 * index + 1] = 1
      writeInt(value.length)
      reserve(value.length)
      bytes.set(value, end)
      end += value.length
    }
  }
  // All columns are sent as text.
  writeShort(0)
  finish(start)
}

function toSent(
  value: unknown,
  toText: (value: unknown) => string | Uint8Array | null,
): string | Uint8Array | null {
  if (value === null || value === undefined) return null
  switch (typeof value) {
    case 'string':
      return value
    case 'number':
    case 'bigint':
    case 'boolean':
      return String(value)
    default:
      return value instanceof Uint8Array ? value : toText(value)
  }
}

function begin(type: number): number {
  reserve(5)
  bytes[end] = type
  end += 5
  return end - 4
}

function finish(start: number): void {
  bytes.writeInt32BE(end - start, start)
}

function reserve(more: number): void {
  if (end + more <= bytes.length) return
  const larger = Buffer.allocUnsafe(Math.max(2 * bytes.length, end + more))
  bytes.copy(larger, 0, 0, end)
  bytes = larger
}

function writeShort(value: number): void {
  reserve(2)
  bytes[end++] = (value >> 8) & 0xff
  bytes[end++] = value & 0xff
}

function writeInt(value: number): void {
  reserve(4)
  bytes.writeInt32BE(value, end)
  end += 4
}

/** Followed by a zero byte. */
function writeName(text: string): void {
  writeCharacters(text)
  reserve(1)
  bytes[end++] = 0
}

/** Preceded by its length in bytes. */
function writeText(text: string): void {
  const start = end
  writeInt(0)
  writeCharacters(text)
  bytes.writeInt32BE(end - start - 4, start)
}

/** Short texts are mostly ASCII and faster to write in JavaScript. */
const short = 40

function writeCharacters(text: string): void {
  reserve(3 * text.length)
  if (text.length > short) {
    end += bytes.write(text, end)
    return
  }
  for (let index = 0; index < text.length; index++) {
    const character = text.charCodeAt(index)
    if (character >= 128) {
      end += bytes.write(text.slice(index), end)
      return
    }
    bytes[end++] = character
  }
}
