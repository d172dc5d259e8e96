/** Our multipart parser returns the same as formidable, wherever the chunks are split. */
import { afterAll, beforeAll, expect, it } from '@jest/globals'
import fc from 'fast-check'
import formidable from 'formidable'
import { once } from 'node:events'
import type { IncomingMessage } from 'node:http'
import { connect } from 'node:net'
import { Readable, Writable } from 'node:stream'
import {
  bootstrap,
  Controller,
  Module,
  NoAuth,
  Post,
  type Application,
  type UploadedFiles,
} from '../../src/index.js'
import { seed } from '../random.js'

interface FoundFile {
  readonly field: string
  readonly name: string
  readonly hex: string
}

interface Form {
  readonly fields: readonly (readonly [string, string])[]
  readonly files: readonly FoundFile[]
}

const listOf = <Value>(value: Value | Value[]): Value[] => (Array.isArray(value) ? value : [value])

@Controller
class FormController {
  @Post('/form')
  @NoAuth
  async form(body: Record<string, string | string[]>, files: UploadedFiles): Promise<Form> {
    const found: FoundFile[] = []
    for (const [field, uploads] of Object.entries(files)) {
      for (const file of listOf(uploads)) {
        const { name } = file
        found.push({ field, name, hex: (await file.bytes()).toString('hex') })
      }
    }
    const fields = Object.entries(body).flatMap(([name, values]) =>
      listOf(values).map((value) => [name, value] as const),
    )
    return { fields, files: found }
  }
}

@Module({ controllers: [FormController] })
class FormModule {}

let app: Application

beforeAll(async () => {
  app = await bootstrap(FormModule, { port: 0, host: '127.0.0.1', logger: false, env: {} })
})
afterAll(() => app.close())

/** Each piece is an HTTP chunk, so that the server reads it separately. */
async function parseOurs(pieces: readonly Buffer[], type: string): Promise<unknown> {
  const socket = connect(Number(new URL(app.url).port), '127.0.0.1')
  socket.write(
    `POST /form HTTP/1.1\r\nHost: a\r\nConnection: close\r\nContent-Type: ${type}\r\n` +
      'Transfer-Encoding: chunked\r\n\r\n',
  )
  for (const piece of pieces) {
    socket.write(`${piece.length.toString(16)}\r\n`)
    socket.write(piece)
    socket.write('\r\n')
  }
  socket.write('0\r\n\r\n')
  let response = ''
  socket.setEncoding('utf8').on('data', (text: string) => (response += text))
  await once(socket, 'close')
  const [head = '', body = ''] = response.split('\r\n\r\n')
  expect(head).toMatch(/^HTTP\/1\.1 200 /)
  return JSON.parse(body)
}

async function parseFormidable(pieces: readonly Buffer[], type: string): Promise<Form> {
  const written = new Map<unknown, Buffer[]>()
  const form = formidable({
    allowEmptyFiles: true,
    minFileSize: 0,
    fileWriteStreamHandler: (file) => {
      const chunks: Buffer[] = []
      written.set(file, chunks)
      return new Writable({
        write(chunk: Buffer, _encoding, callback) {
          chunks.push(chunk)
          callback()
        },
      })
    },
  })
  const request = Object.assign(Readable.from(pieces, { objectMode: false }), {
    headers: { 'content-type': type, 'transfer-encoding': 'chunked' },
  })
  const [fields, files] = await form.parse(request as unknown as IncomingMessage)
  return {
    fields: Object.entries(fields).flatMap(([name, values = []]) =>
      values.map((value) => [name, value] as const),
    ),
    files: Object.entries(files).flatMap(([field, found = []]) =>
      found.map((file) => ({
        field,
        name: file.originalFilename ?? '',
        hex: Buffer.concat(written.get(file) ?? []).toString('hex'),
      })),
    ),
  }
}

const boundaries = ['b', 'bb', '--', '-b-', 'boundary', '----WebKitFormBoundaryKbQ8fPzX1yVn0sEt']

/** Bytes that resemble a boundary, without the boundary itself. */
function contentOf(boundary: string): fc.Arbitrary<string> {
  const begin = `\r\n--${boundary}`
  const some = fc.integer({ min: 1, max: begin.length }).map((length) => begin.slice(0, length))
  const piece = fc.oneof(
    fc.constantFrom('\r', '\n', '\r\n', '-', '--', 'x', ' ', `--${boundary}`, `${boundary}--`),
    some,
    fc.string({ maxLength: 20 }),
  )
  return fc
    .array(piece, { maxLength: 10 })
    .map((pieces) => pieces.join(''))
    .filter((text) => !`\r\n${text}\r\n--`.slice(0, -2).includes(begin))
}

const form = fc.constantFrom(...boundaries).chain((boundary) =>
  fc.record({
    boundary: fc.constant(boundary),
    parts: fc.array(
      fc.record({
        name: fc.constantFrom('a', 'b', 'c d'),
        // ASCII only: formidable does not join a letter that is split.
        file: fc.option(fc.constantFrom('a.txt', 'b c.png', 'x')),
        content: contentOf(boundary),
        bytes: fc.uint8Array({ maxLength: 40 }),
      }),
      { maxLength: 5 },
    ),
    cuts: fc.array(fc.integer({ min: 1, max: 60 }), { minLength: 1, maxLength: 12 }),
  }),
)

type RandomForm = typeof form extends fc.Arbitrary<infer Value> ? Value : never

function toBody({ boundary, parts }: RandomForm): Buffer {
  const pieces = parts.map(({ name, file, content, bytes }) => {
    const head = `--${boundary}\r\nContent-Disposition: form-data; name="${name}"`
    const text = Buffer.from(content)
    if (file === null) return Buffer.concat([Buffer.from(`${head}\r\n\r\n`), text])
    const fileHead = `${head}; filename="${file}"\r\nContent-Type: application/x-test\r\n\r\n`
    return Buffer.concat([Buffer.from(fileHead), text, bytes])
  })
  const ended = pieces.flatMap((piece) => [piece, Buffer.from('\r\n')])
  return Buffer.concat([...ended, Buffer.from(`--${boundary}--\r\n`)])
}

/** Splits by the lengths, repeatedly. */
function cut(body: Buffer, lengths: readonly number[]): Buffer[] {
  const pieces: Buffer[] = []
  for (let at = 0; at < body.length;) {
    const next = at + lengths[pieces.length % lengths.length]!
    pieces.push(body.subarray(at, next))
    at = next
  }
  return pieces
}

it('a multipart body is parsed as formidable parses it', async () => {
  await fc.assert(
    fc.asyncProperty(form, async (random) => {
      const pieces = cut(toBody(random), random.cuts)
      const type = `multipart/form-data; boundary=${random.boundary}`
      expect(await parseOurs(pieces, type)).toEqual(await parseFormidable(pieces, type))
    }),
    { numRuns: 150, seed },
  )
})
