import { describe, expect, it } from '@jest/globals'
import fc from 'fast-check'
import { MultipartParser } from '../../../src/http/bodies/multipart-parser.js'
import { headOf, multipartOf } from './body-server.js'

const mebi = 1024 * 1024

/** What is found in a body that comes in chunks of a size. */
function findAll(boundary: string, body: Buffer, size: number): { kind: string; bytes?: Buffer }[] {
  const parser = new MultipartParser(boundary, 8192)
  const found: { kind: string; bytes?: Buffer }[] = []
  for (let start = 0; start < body.length; start += size) {
    found.push(...parser.take(body.subarray(start, start + size)))
  }
  parser.finish()
  return found
}

describe('MultipartParser', () => {
  it.each([
    ['a', 'a'],
    ['CR', '\r'],
    ['LF', '\n'],
    ['CR LF', '\r\n'],
    ['-', '-'],
    ['CR LF - -', '\r\n--'],
    ['the beginnings of the boundary', '\r\n--bound'],
    ['what is a boundary but for its end', '\r\n--boundary-'],
    ['a boundary with CR behind it', '\r\n--boundary\r'],
    ['many beginnings', '\r\r\n\r\n-\r\n--\r\n--b'],
  ])('gives the bytes of a part once for each chunk: %s', (_what, text) => {
    const content = Buffer.alloc(2 * mebi, text)
    const body = Buffer.concat([
      Buffer.from(`--boundary\r\n${headOf('f', 'a')}\r\n\r\n`),
      content,
      Buffer.from('\r\n--boundary--'),
    ])
    for (const size of [64 * 1024, 65_537]) {
      const found = findAll('boundary', body, size)
      expect(found.length).toBeLessThanOrEqual(Math.ceil(body.length / size) + 3)
      const bytes = Buffer.concat(found.flatMap((one) => one.bytes ?? []))
      expect(bytes.equals(content)).toBe(true)
    }
  })

  it('finds the same, wherever chunks begin', () => {
    const texts = fc.array(
      fc.constantFrom('\r', '\n', '\r\n', '-', '--', 'b', '--b', '\r\n--b', '\r\n--bb', 'x', ' '),
      { maxLength: 12 },
    )
    const safe = texts
      .map((pieces) => pieces.join(''))
      .filter((text) => !/\r\n--b(?:\r\n|--)/.test(`\r\n${text}\r\n`))
    fc.assert(
      fc.property(
        fc.array(safe, { maxLength: 4 }),
        fc.integer({ min: 1, max: 40 }),
        (all, size) => {
          const body = Buffer.from(
            multipartOf('b', ...all.map((text) => ({ head: headOf('a'), body: text }))),
            'latin1',
          )
          const values: string[] = []
          let current = ''
          for (const { kind, bytes } of findAll('b', body, size)) {
            if (kind === 'head') current = ''
            else if (kind === 'end') values.push(current)
            else current += bytes?.toString('latin1') ?? ''
          }
          expect(values).toEqual(all)
        },
      ),
      { numRuns: 400 },
    )
  })
})
