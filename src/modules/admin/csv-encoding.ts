/** Reads the encodings in which spreadsheets save CSV: UTF-8, and UTF-16 with a byte order mark. */
import { isUtf8 } from 'node:buffer'
import { CsvError } from './csv-format.js'
import { yieldToEventLoop } from './page-records.js'

/** Checks that a file is UTF-8. Converts UTF-16 with a byte order mark. @throws {CsvError} */
export async function toUtf8(file: Buffer): Promise<Buffer> {
  if (file[0] === 0xff && file[1] === 0xfe) return await fromUtf16(file)
  if (!isUtf8(file)) throw notUtf8()
  return file
}

/** Converts in small parts, so that other requests run between them. */
async function fromUtf16(file: Buffer): Promise<Buffer> {
  const decoder = new TextDecoder('utf-16le', { fatal: true })
  // Two bytes of UTF-16 become at most three.
  const bytes = Buffer.allocUnsafeSlow(Math.ceil(file.length / 2) * 3)
  let length = 0
  for (let start = 0; start < file.length; start += partBytes) {
    const part = file.subarray(start, start + partBytes)
    try {
      const text = decoder.decode(part, { stream: start + partBytes < file.length })
      length += bytes.write(text, length)
    } catch {
      throw notUtf8()
    }
    await yieldToEventLoop()
  }
  return bytes.subarray(0, length)
}

const partBytes = 262_144

function notUtf8(): CsvError {
  return new CsvError(1, 'is not UTF-8: save the file as CSV UTF-8')
}
