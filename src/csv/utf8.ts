/** Reads a CSV file of any source as UTF-8: the encodings in which spreadsheets save it are UTF-8, and UTF-16 with a byte order mark. */
import { TextDecoder } from 'node:util'
import { malformedCsv } from './csv-error.js'

type Part = string | Uint8Array

/**
 * A CSV file: its text or bytes, a stream of them, or something with such a stream, such as an uploaded file. A file that can be
 * read twice can be imported again after a conflict of transactions.
 */
export type CsvSource =
  Part | Iterable<Part> | AsyncIterable<Part> | { stream(): Iterable<Part> | AsyncIterable<Part> }

/** How much of a file was read. */
export interface ReadProgress {
  /** Bytes of the file, or characters of a text. */
  position: number
}

/** Larger parts of a file are decoded one after another, so that other requests run between them. */
const partBytes = 65_536

/** False for a stream, which can be read once. */
export function canReadAgain(source: CsvSource): boolean {
  return typeof source === 'string' || source instanceof Uint8Array || !isIterable(source)
}

function isIterable(source: object): source is Iterable<Part> | AsyncIterable<Part> {
  return Symbol.asyncIterator in source || Symbol.iterator in source
}

/** @throws {TypeError} the source is not a file */
export function checkSource(where: string, source: unknown): asserts source is CsvSource {
  const isSource =
    typeof source === 'string' ||
    (typeof source === 'object' &&
      source !== null &&
      (isIterable(source) || typeof (source as { stream?: unknown }).stream === 'function'))
  if (isSource) return
  throw new TypeError(`${where}: takes a text, bytes, a stream, or an uploaded file.`)
}

/**
 * The bytes of a file in UTF-8, without a byte order mark. UTF-16 is converted.
 *
 * @param progress is changed with each part of the file
 * @throws {HttpError} 400 `MALFORMED_CSV` for another encoding
 */
export async function* toUtf8(
  source: CsvSource,
  progress: ReadProgress = { position: 0 },
): AsyncGenerator<Buffer, void> {
  const decoder = new PartDecoder()
  for await (const part of partsOf(source)) {
    progress.position += part.length
    const text = decoder.decode(part)
    if (text !== '') yield Buffer.from(text)
  }
  const rest = decoder.end()
  if (rest !== '') yield Buffer.from(rest)
}

async function* partsOf(source: CsvSource): AsyncGenerator<Part, void> {
  if (typeof source === 'string' || source instanceof Uint8Array) {
    yield* slicesOf(source)
    return
  }
  const parts = isIterable(source) ? source : source.stream()
  for await (const part of parts) yield* slicesOf(part)
}

function* slicesOf(part: Part): Generator<Part, void> {
  for (let start = 0; start < part.length; start += partBytes)
    yield typeof part === 'string'
      ? part.slice(start, start + partBytes)
      : part.subarray(start, start + partBytes)
}

/** Decodes the parts of a file, which may end within a character. */
class PartDecoder {
  #decoder: TextDecoder | undefined
  /** The first byte, if the first part has only one. The encoding is known from the second byte on. */
  #first: Uint8Array = new Uint8Array()
  /** The first half of a character of a text. */
  #half = ''
  #isFirstText = true

  decode(part: Part): string {
    return typeof part === 'string' ? this.#joinText(part) : this.#decodeBytes(part)
  }

  end(): string {
    if (this.#decoder === undefined && this.#first.length === 0) return this.#half
    return this.#run((decoder) => decoder.decode(this.#decoder ? undefined : this.#first))
  }

  #joinText(part: string): string {
    const text = this.#half + (this.#isFirstText ? part.replace(/^\ufeff/, '') : part)
    this.#isFirstText = false
    this.#half = /[\ud800-\udbff]$/.exec(text)?.[0] ?? ''
    return text.slice(0, text.length - this.#half.length)
  }

  #decodeBytes(part: Uint8Array): string {
    if (this.#decoder !== undefined) return this.#run((one) => one.decode(part, { stream: true }))
    const bytes = this.#first.length === 0 ? part : Buffer.concat([this.#first, part])
    this.#first = bytes
    if (bytes.length < 2) return ''
    const isUtf16 = bytes[0] === 0xff && bytes[1] === 0xfe
    this.#decoder = new TextDecoder(isUtf16 ? 'utf-16le' : 'utf-8', { fatal: true })
    return this.#run((one) => one.decode(bytes, { stream: true }))
  }

  #run(decode: (decoder: TextDecoder) => string): string {
    try {
      return decode(this.#decoder ?? new TextDecoder('utf-8', { fatal: true }))
    } catch {
      throw malformedCsv(1, 'encoding', 'The file is not UTF-8. Save it as CSV UTF-8.')
    }
  }
}
