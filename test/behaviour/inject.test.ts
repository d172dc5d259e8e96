/** Source: public API, 2. Titles begin with the statement that they check. */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import {
  bootstrap,
  Controller,
  Get,
  Module,
  NoAuth,
  Post,
  reply,
  type Application,
  type UploadedFiles,
} from '../../src/index.js'

@Controller
class EchoController {
  @Get('/echo')
  read(headers: Record<string, string>) {
    return { method: 'GET', headers }
  }

  @Post('/echo')
  @NoAuth
  echo(body: unknown, headers: Record<string, string>, files: UploadedFiles) {
    const named = Object.entries(files).map(([key, file]) => [
      key,
      Array.isArray(file) ? file.map(({ name }) => name) : file.name,
    ])
    const bytes = Buffer.isBuffer(body) ? { bytes: body.toString() } : { body }
    return { ...bytes, type: headers['content-type'], files: Object.fromEntries(named) }
  }

  @Post('/closed')
  closed() {
    return { open: true }
  }

  @Get('/cookies')
  cookies() {
    return reply('x').cookie('a', '1').cookie('b', '2')
  }

  @Get('/bytes')
  bytes() {
    return Buffer.from([0, 255, 1])
  }
}

@Module({ controllers: [EchoController] })
class EchoModule {}

describe('inject', () => {
  const apiKey = 'operator-0123456789abcdef'
  let app: Application

  beforeAll(async () => {
    app = await bootstrap(EchoModule, {
      listen: false,
      logger: false,
      env: { APP_API_KEY: apiKey },
    })
  })
  afterAll(() => app.close())

  it.each<[string, object, object]>([
    ['json', { json: { a: [1] } }, { body: { a: [1] }, type: 'application/json' }],
    ['json, false', { json: false }, { body: false, type: 'application/json' }],
    ['json, null', { json: null }, { body: null, type: 'application/json' }],
    [
      'form',
      { form: { a: 1, b: ['x', 'y z'], c: true } },
      {
        body: { a: '1', b: ['x', 'y z'], c: 'true' },
        type: expect.stringMatching(/^application\/x-www-form-urlencoded/),
      },
    ],
    [
      'multipart',
      { multipart: { a: '1', b: Buffer.from('x'), c: new File(['y'], 'c.txt') } },
      {
        body: { a: '1' },
        files: { b: 'b', c: 'c.txt' },
        type: expect.stringMatching(/^multipart\/form-data; boundary=/),
      },
    ],
    ['text', { text: 'Grüße' }, { body: 'Grüße', type: 'text/plain' }],
    ['body', { body: 'x', headers: { 'Content-Type': 'a/b' } }, { bytes: 'x', type: 'a/b' }],
    [
      'json under another type',
      { json: { a: 1 }, headers: { 'Content-Type': 'application/x+json' } },
      { body: { a: 1 }, type: 'application/x+json' },
    ],
  ])('%s is sent, by POST', async (_, form, expected) => {
    const answer = await app.inject({ url: '/echo', ...form })
    expect(answer.json()).toEqual({ files: {}, ...expected })
  })

  it('the method is accepted in upper and lower case', async () => {
    const answer = await app.inject({ method: 'post', url: '/echo', text: 'x' })
    expect(answer.json()).toMatchObject({ body: 'x' })
  })

  it('a FormData is sent unchanged', async () => {
    const multipart = new FormData()
    multipart.append('a', '1')
    multipart.append('f', new File(['x'], '1.txt'))
    multipart.append('f', new File(['x'], '2.txt'))
    const answer = await app.inject({ url: '/echo', multipart })
    expect(answer.json()).toMatchObject({ body: { a: '1' }, files: { f: ['1.txt', '2.txt'] } })
  })

  it('a string is a GET of that URL, and token sets Authorization', async () => {
    expect((await app.inject('/echo')).json()).toEqual({
      method: 'GET',
      headers: { host: 'localhost' },
    })
    const closed = await app.inject({ method: 'POST', url: '/closed' })
    expect(closed.status).toBe(401)
    const open = await app.inject({ method: 'POST', url: '/closed', token: apiKey })
    expect(open.json()).toEqual({ open: true })
  })

  it('the response has bytes, text and headers by lower-case name', async () => {
    const bytes = await app.inject('/bytes')
    expect([...bytes.bytes]).toEqual([0, 255, 1])
    expect(() => bytes.json()).toThrow(SyntaxError)
    expect((await app.inject('/cookies')).headers['set-cookie']?.split('\n')).toHaveLength(2)
  })
})
