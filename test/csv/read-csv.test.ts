/** `readCsv`: the cells of a file row by row, from any source. Source: docs/csv.md. */
import { Readable } from 'node:stream'
import { describe, expect, it } from '@jest/globals'
import { HttpError, readCsv, type CsvSource } from 'filigree'

async function cellsOf(source: CsvSource): Promise<(readonly string[])[]> {
  const rows: (readonly string[])[] = []
  for await (const { cells } of readCsv(source)) rows.push(cells)
  return rows
}

/** The text in chunks of this many bytes. */
function* inChunks(text: string | Buffer, size: number): Generator<Buffer> {
  const bytes = typeof text === 'string' ? Buffer.from(text) : text
  for (let start = 0; start < bytes.length; start += size) yield bytes.subarray(start, start + size)
}

const text =
  '\ufeffname,price,note\r\n"Oak, big",9.50,"two\r\nlines"\r\n\r\n  \nStühle 🪑,1,"a ""quoted"" word"\rlast,,""'
const cells = [
  ['name', 'price', 'note'],
  ['Oak, big', '9.50', 'two\r\nlines'],
  ['Stühle 🪑', '1', 'a "quoted" word'],
  ['last', '', ''],
]

describe('readCsv', () => {
  it.each([1, 2, 3, 5, 7, 64])('reads chunks of %i bytes', async (size) => {
    expect(await cellsOf(inChunks(text, size))).toEqual(cells)
    expect(await cellsOf(Readable.from(inChunks(text, size)))).toEqual(cells)
  })

  it('reads texts, bytes, lists, streams and files', async () => {
    expect(await cellsOf(text)).toEqual(cells)
    expect(await cellsOf(Buffer.from(text))).toEqual(cells)
    expect(await cellsOf(new Uint8Array(Buffer.from(text)))).toEqual(cells)
    expect(await cellsOf(Array.from(text, (character) => character))).toEqual(cells)
    // Each chunk is half a character.
    expect(await cellsOf(text.split(''))).toEqual(cells)
    expect(await cellsOf(new Blob([text]) as never)).toEqual(cells)
    expect(await cellsOf({ stream: () => Readable.from([text]) })).toEqual(cells)
  })

  it.each([1, 2, 3, 100])('reads UTF-16 in chunks of %i bytes', async (size) => {
    expect(await cellsOf(inChunks(Buffer.from(text, 'utf16le'), size))).toEqual(cells)
  })

  it('reads semicolons if the first line has no comma', async () => {
    expect(await cellsOf('a;b\n1,5;2\n')).toEqual([
      ['a', 'b'],
      ['1,5', '2'],
    ])
    expect(await cellsOf('"a;x",b\n1;5,2\n')).toEqual([
      ['a;x', 'b'],
      ['1;5', '2'],
    ])
  })

  it('numbers the rows of the file, and takes the apostrophe before a formula away', async () => {
    const rows = []
    for await (const row of readCsv("a\n\n'=1+1\n'quoted'\n")) rows.push(row)
    expect(rows).toEqual([
      { row: 1, cells: ['a'] },
      { row: 3, cells: ['=1+1'] },
      { row: 4, cells: ["'quoted'"] },
    ])
  })

  it('has no rows for an empty file', async () => {
    for (const empty of ['', '\n\n', Buffer.alloc(0), [], '\ufeff'])
      expect(await cellsOf(empty)).toEqual([])
  })

  it.each([
    ['a\n"b\n', 2, 'unclosedQuote'],
    ['a\n"b"c\n', 2, 'textAfterQuote'],
    [Buffer.from('a\nM\u00fcller\n', 'latin1'), 1, 'encoding'],
    [Buffer.from('\ufeffa\n', 'utf16le').subarray(0, -1), 1, 'encoding'],
    [Buffer.from([0xc3]), 1, 'encoding'],
    [`a\n${','.repeat(1000)}\n`, 2, 'tooManyCells'],
    [`a\n${'x'.repeat(1_048_577)}\n`, 2, 'rowTooLong'],
    [`a\n"${'x'.repeat(1_048_577)}"\n`, 2, 'rowTooLong'],
  ] as const)('rejects a malformed file (%#)', async (file, row, code) => {
    for (const source of [file, inChunks(file, 50_000)]) {
      const error: unknown = await cellsOf(source).catch((caught: unknown) => caught)
      expect(error).toBeInstanceOf(HttpError)
      expect(error).toMatchObject({ status: 400, code: 'MALFORMED_CSV', errors: [{ row, code }] })
    }
  })

  it('rejects more rows than maxRows, after it has read the others', async () => {
    const rows: number[] = []
    const read = async (): Promise<void> => {
      for await (const { row } of readCsv('a\n1\n2\n3\n', { maxRows: 2 })) rows.push(row)
    }
    await expect(read()).rejects.toMatchObject({
      message: 'Row 4: This row exceeds the limit of 2 rows.',
      errors: [{ row: 4, code: 'tooManyRows' }],
    })
    expect(rows).toEqual([1, 2, 3])
  })

  it('closes a stream that is not read to its end, and passes on the error of one that breaks', async () => {
    const endless = Readable.from(
      (function* () {
        for (;;) yield 'a,b\n'
      })(),
    )
    for await (const { row } of readCsv(endless)) if (row === 3) break
    expect(endless.destroyed).toBe(true)
    const broken = Readable.from(
      (function* () {
        yield 'a,b\n1,2\n3,'
        throw new Error('the connection broke')
      })(),
    )
    const rows: (readonly string[])[] = []
    const read = async (): Promise<void> => {
      for await (const row of readCsv(broken)) rows.push(row.cells)
    }
    await expect(read()).rejects.toThrow('the connection broke')
    expect(rows).toEqual([
      ['a', 'b'],
      ['1', '2'],
    ])
  })

  it('gives rows as they arrive', async () => {
    let send = (_chunk: string): void => undefined
    const chunks = (async function* () {
      for (;;) yield await new Promise<string>((resolve) => (send = resolve))
    })()
    const rows = readCsv(chunks)
    const first = rows.next()
    await Promise.resolve()
    send('a,b\nc')
    expect((await first).value).toEqual({ row: 1, cells: ['a', 'b'] })
    await rows.return()
  })

  it('takes only files', () => {
    expect(() => readCsv(7 as never)).toThrow(
      'readCsv: takes a text, bytes, a stream, or an uploaded file.',
    )
  })
})
