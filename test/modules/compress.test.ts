/** Source: decisions, Operations. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { request as sendRequest } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { brotliDecompressSync, gunzipSync } from 'node:zlib'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import {
  bootstrap,
  Controller,
  events,
  file,
  Get,
  Module,
  reply,
  type Application,
  type HttpRequest,
  type Session,
} from '../../src/index.js'
import { compress } from '../../src/modules/compress/compress.js'
import { chooseEncoding } from '../../src/modules/compress/encodings.js'

const text = 'the same words again and again. '.repeat(200)
const root = mkdtempSync(join(tmpdir(), 'filigree-compress-'))

@Controller
class TextController {
  @Get('/text') text() {
    return text
  }
  @Get('/small') small() {
    return { ok: true }
  }
  @Get('/tagged') tagged(request: HttpRequest) {
    const isMatch = request.headers['if-none-match'] === '"v1"'
    return (isMatch ? reply(null, 304) : reply(text))
      .header('ETag', '"v1"')
      .header('Vary', 'Accept')
  }
  @Get('/match') match(headers: Record<string, string>) {
    return { match: headers['if-match'] ?? null }
  }
  @Get('/file') file() {
    return file('words.txt', { root })
  }
  @Get('/picture') picture() {
    return reply(Buffer.from(text)).type('image/png')
  }
  @Get('/stream') async *stream() {
    for (const word of ['one ', 'two ', 'three']) yield await Promise.resolve(word)
  }
  @Get('/typed') typed() {
    return reply(this.stream()).type('text/plain')
  }
  @Get('/events') events() {
    return events([{ data: text }])
  }
  @Get('/session') session(session: Session) {
    return { text, isMatch: session.user ?? null }
  }
  @Get('/headers') headers(headers: Record<string, string>) {
    return { text, cookie: headers.cookie }
  }
  @Get('/cookies') cookies(cookies: Record<string, string>) {
    return { text, cookies }
  }
}

@Module({ controllers: [TextController], imports: [compress()] })
class AppModule {}

let app: Application

beforeAll(async () => {
  writeFileSync(join(root, 'words.txt'), text)
  app = await bootstrap(AppModule, { port: 0, host: '127.0.0.1', logger: false, docs: false })
})
afterAll(async () => {
  await app.close()
  rmSync(root, { recursive: true, force: true })
})

interface Got {
  readonly status: number | undefined
  readonly headers: Record<string, string | string[] | undefined>
  readonly body: Buffer
}

function get(path: string, headers: Record<string, string> = {}, method = 'GET'): Promise<Got> {
  return new Promise((resolve, reject) => {
    const request = sendRequest(app.url + path, { headers, method }, (response) => {
      const chunks: Buffer[] = []
      response.on('data', (chunk: Buffer) => chunks.push(chunk))
      response.on('end', () => {
        resolve({
          status: response.statusCode,
          headers: response.headers,
          body: Buffer.concat(chunks),
        })
      })
    })
    request.on('error', reject)
    request.end()
  })
}

const br = { 'Accept-Encoding': 'br, gzip' }

describe('compress', () => {
  it('chooses the encoding by Accept-Encoding, and sends Vary', async () => {
    const packed = await get('/text', br)
    expect(packed.headers['content-encoding']).toBe('br')
    expect(brotliDecompressSync(packed.body).toString()).toBe(text)
    expect(packed.headers['content-length']).toBe(String(packed.body.length))
    const gzip = await get('/text', { 'Accept-Encoding': 'br;q=0.1, gzip' })
    expect(gunzipSync(gzip.body).toString()).toBe(text)
    const plain = await get('/text')
    expect([plain.body.toString(), plain.headers['content-encoding']]).toEqual([text, undefined])
    for (const { headers } of [packed, gzip, plain]) expect(headers.vary).toBe('Accept-Encoding')
    const head = await get('/text', br, 'HEAD')
    expect(head.headers).toMatchObject({ 'content-encoding': 'br' })
    expect(head.body).toHaveLength(0)
  })

  it('does not compress small bodies, compressed media types and event streams', async () => {
    for (const path of ['/small', '/picture', '/events']) {
      expect((await get(path, br)).headers['content-encoding']).toBeUndefined()
    }
    expect((await get('/small', br)).headers.vary).toBe('Accept-Encoding')
    expect((await get('/events', br)).headers.vary).toBeUndefined()
  })

  it('compresses streams, and flushes each chunk', async () => {
    const packed = await get('/typed', { 'Accept-Encoding': 'gzip' })
    expect(packed.headers['content-encoding']).toBe('gzip')
    expect(gunzipSync(packed.body).toString()).toBe('one two three')
  })

  it('sends no strong ETag of the plain bytes with compressed bytes, and recognizes both', async () => {
    const plain = await get('/tagged')
    expect(plain.headers.etag).toBe('"v1"')
    const packed = await get('/tagged', br)
    expect(packed.headers.etag).toBe('W/"v1+br"')
    expect(packed.headers.vary).toBe('Accept, Accept-Encoding')
    const repeated = await get('/tagged', { ...br, 'If-None-Match': 'W/"v1+br"' })
    expect(repeated.status).toBe(304)
    expect(repeated.headers).toMatchObject({ etag: 'W/"v1+br"', vary: 'Accept, Accept-Encoding' })
    const match = await get('/match', { 'If-Match': 'W/"v1+br", "v2"' })
    expect(match.body.toString()).toBe('{"match":"\\"v1\\", \\"v2\\""}')
  })

  it('sends ranges of the file uncompressed', async () => {
    const complete = await get('/file', br)
    expect(brotliDecompressSync(complete.body).toString()).toBe(text)
    expect(complete.headers['accept-ranges']).toBeUndefined()
    const part = await get('/file', { ...br, Range: 'bytes=4-7' })
    expect([part.status, part.body.toString()]).toEqual([206, 'same'])
    expect(part.headers['content-encoding']).toBeUndefined()
  })

  it.each(['GET', 'HEAD'] as const)(
    'sends one tag of a file for %s, in 200 and 304',
    async (method) => {
      const complete = await get('/file', br)
      const tag = String(complete.headers.etag)
      expect(tag).toMatch(/^W\/".+~br"$/)
      const send = (headers: Record<string, string>) =>
        app.inject({ method, url: '/file', headers: { ...br, ...headers } })
      const repeated = await send({ 'If-None-Match': tag })
      expect([repeated.status, repeated.headers.etag]).toEqual([304, tag])
      expect(repeated.headers).not.toHaveProperty('content-encoding')
      const head = await send({})
      expect([head.status, head.headers.etag]).toEqual([200, tag])
      const plain = tag.replace('~br', '')
      const isMatch = await send({ 'If-None-Match': plain })
      expect([isMatch.status, isMatch.headers.etag]).toEqual([304, plain])
    },
  )

  it('never compresses where a cookie may identify the caller', async () => {
    expect((await get('/session', br)).headers['content-encoding']).toBeUndefined()
    const headerResponse = await get('/headers', { ...br, Cookie: 'sid=1' })
    expect(headerResponse.headers).not.toHaveProperty('content-encoding')
    const named = await get('/cookies', { ...br, Cookie: 'sid=1' })
    expect(named.headers['content-encoding']).toBeUndefined()
    expect((await get('/text', { ...br, Cookie: 'theme=dark' })).headers['content-encoding']).toBe(
      'br',
    )
  })

  it('stops the start for an option without effect', async () => {
    @Module({ imports: [compress({ min: -1, level: 9 } as object)] })
    class Faulty {}
    await expect(bootstrap(Faulty, { listen: false, logger: false })).rejects.toMatchObject({
      problems: [
        { message: 'compress: unknown option "level".' },
        { message: 'compress: min cannot be -1.' },
      ],
    })
  })
})

describe('the choice of an encoding', () => {
  it.each([
    [undefined, undefined],
    ['', undefined],
    ['gzip', 'gzip'],
    ['br;q=0, *', 'zstd'],
    ['*;q=0', undefined],
    ['gzip;q=0.5, identity', undefined],
    ['deflate, x-gzip', 'gzip'],
    ['gzip;q=nonsense', undefined],
    ['gzip, deflate, br, zstd', 'br'],
  ])('%s: %s', (accepted, encoding) => {
    expect(chooseEncoding(accepted, ['br', 'zstd', 'gzip']).encoding).toBe(encoding)
  })

  it('recognizes a client that refuses identity', () => {
    expect(chooseEncoding('gzip, identity;q=0', ['gzip'])).toEqual({
      encoding: 'gzip',
      isRequired: true,
    })
  })
})
