/**
 * Source: public API, 2: `app.handle(new Request(…))` and `currentRequest()`. Titles begin with the statement that they
 * check. `requestContext` is enabled for a whole process, so the suite has modules of its own.
 *
 * @jest-environment node
 */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import {
  bootstrap,
  Controller,
  currentRequest,
  file,
  Get,
  HttpError,
  type Inject,
  Injectable,
  Module,
  NoAuth,
  Post,
  redirect,
  reply,
  type Application,
  type HttpRequest,
  type UploadedFiles,
} from '../../src/index.js'

/** State that the handlers share with the tests. */
let permits = 0
let waiting: (() => void) | undefined
let entered: () => void = () => undefined
let notifyEnd: (how: string) => void = () => undefined
let inner: Application

const where = (): string | undefined => currentRequest()?.path

/** Opens the gate for the handler that waits there, or for the next one. */
function release(): void {
  if (waiting === undefined) permits++
  else waiting()
  waiting = undefined
}

function gate(): Promise<void> {
  return new Promise((resolve) => {
    if (permits === 0) waiting = resolve
    else {
      permits--
      resolve()
    }
  })
}

@Controller
class WebController {
  @Get('/items')
  items() {
    return [1, 2]
  }

  @Post('/echo')
  @NoAuth
  echo(body: unknown, files: UploadedFiles) {
    return { body, files: Object.keys(files) }
  }

  @Post('/closed')
  closed() {
    return {}
  }

  @Get('/stream')
  async *stream() {
    try {
      yield 'one'
      await gate()
      yield 'two'
      await gate()
    } finally {
      notifyEnd('generator')
    }
  }

  @Get('/slow')
  async slow(request: HttpRequest) {
    request.signal.addEventListener('abort', () => {
      notifyEnd('signal')
    })
    entered()
    await gate()
    return {}
  }

  @Get('/cookies')
  cookies() {
    return reply('x').cookie('a', '1').cookie('b', '2')
  }

  @Get('/nothing')
  nothing() {
    return null
  }

  @Get('/away')
  away() {
    return redirect('/items')
  }

  @Get('/file')
  file() {
    return file('package.json', { root: '.' })
  }

  @Get('/taken')
  conflict() {
    throw new HttpError(409, 'Taken.')
  }

  @Get('/url')
  url(request: HttpRequest, headers: Record<string, string>) {
    return { url: request.url, host: headers.host }
  }

  @Get('/here')
  here() {
    return { path: where() }
  }

  @Get('/later')
  async afterAwait() {
    await Promise.resolve()
    return { path: where() ?? null }
  }

  @Get('/nested')
  async nested() {
    const answer = inner.handle(new Request('http://x/here'))
    const after = where()
    return { inner: await (await answer).json(), after }
  }
}

@Module({ controllers: [WebController] })
class WebModule {}

const quiet = { listen: false, logger: false, env: {} }
let app: Application

beforeAll(async () => {
  app = await bootstrap(WebModule, quiet)
  inner = app
})
afterAll(() => app.close())

const get = (path: string, init?: RequestInit): Promise<Response> =>
  app.handle(new Request(`http://shop.example${path}`, init))

describe('handle', () => {
  it.each<[string, RequestInit, object]>([
    [
      'JSON',
      { body: '{"a":1}', headers: { 'content-type': 'application/json' } },
      { body: { a: 1 }, files: [] },
    ],
    ['text', { body: 'hello' }, { body: 'hello', files: [] }],
    ['a form', { body: new URLSearchParams({ a: 'x y' }) }, { body: { a: 'x y' }, files: [] }],
    ['an empty body', {}, { files: [] }],
  ])('%s is read', async (_, init, expected) => {
    const answer = await get('/echo', { method: 'POST', ...init })
    expect([answer.status, await answer.json()]).toEqual([200, expected])
  })

  it('multipart is read, and a streamed body', async () => {
    const form = new FormData()
    form.append('a', '1')
    form.append('photo', new File(['x'], 'x.png'))
    const upload = await get('/echo', { method: 'POST', body: form })
    expect(await upload.json()).toEqual({ body: { a: '1' }, files: ['photo'] })
    const body = new Blob(['{"a"', ':1}']).stream()
    const headers = { 'content-type': 'application/json' }
    const init = { method: 'POST', body, headers, duplex: 'half' } as RequestInit
    expect(await (await get('/echo', init)).json()).toEqual({ body: { a: 1 }, files: [] })
  })

  it('a streamed body over the limit is 413', async () => {
    const body = new Blob(['x'.repeat(2 ** 21)]).stream()
    const init = { method: 'POST', body, duplex: 'half' } as RequestInit
    const answer = await get('/echo', init)
    expect([answer.status, await answer.json()]).toEqual([
      413,
      { error: 'The body is larger than 1048576 bytes.', code: 'PAYLOAD_TOO_LARGE' },
    ])
  })

  it.each([
    ['/items', 200],
    ['/taken', 409],
    ['/unknown', 404],
    ['/%ZZ', 400],
  ])('%s is %d, JSON, with the CORS headers', async (path, status) => {
    const answer = await get(path)
    expect(answer.status).toBe(status)
    expect(answer.headers.get('content-type')).toBe('application/json; charset=utf-8')
    expect(answer.headers.get('access-control-allow-origin')).toBe('*')
    expect(answer.headers.get('connection')).toBeNull()
  })

  it('authentication applies too', async () => {
    expect((await get('/closed', { method: 'POST', body: '{' })).status).toBe(401)
  })

  it('responses without body, redirects, cookies and files are converted', async () => {
    const nothing = await get('/nothing')
    expect([nothing.status, nothing.body]).toEqual([204, null])
    const away = await get('/away')
    expect([away.status, away.headers.get('location')]).toEqual([302, '/items'])
    expect((await get('/cookies')).headers.getSetCookie()).toHaveLength(2)
    const fileResponse = await get('/file')
    expect(await fileResponse.json()).toMatchObject({ name: 'filigree' })
    const etag = fileResponse.headers.get('etag')!
    const unchanged = await get('/file', { headers: { 'if-none-match': etag } })
    expect([unchanged.status, unchanged.body]).toEqual([304, null])
  })

  it('request.url has path and query, and Host is the host of the URL', async () => {
    expect(await (await get('/url?a=%20b#part')).json()).toEqual({
      url: '/url?a=%20b',
      host: 'shop.example',
    })
  })

  it('a stream is delivered chunk by chunk', async () => {
    const reader = (await get('/stream')).body!.getReader()
    const text = async (): Promise<string> => Buffer.from((await reader.read()).value!).toString()
    expect(await text()).toBe('one')
    release()
    expect(await text()).toBe('two')
    const done = new Promise((resolve) => {
      notifyEnd = resolve
    })
    release()
    expect((await reader.read()).done).toBe(true)
    expect(await done).toBe('generator')
  })

  it('canceling the body closes the generator', async () => {
    const done = new Promise((resolve) => {
      notifyEnd = resolve
    })
    const reader = (await get('/stream')).body!.getReader()
    await reader.read()
    await reader.cancel()
    release()
    expect(await done).toBe('generator')
  })

  it('aborting while the handler runs rejects and aborts request.signal', async () => {
    const abort = new AbortController()
    const working = new Promise<void>((resolve) => {
      entered = resolve
    })
    const aborted = new Promise((resolve) => {
      notifyEnd = resolve
    })
    const answer = get('/slow', { signal: abort.signal })
    await working
    abort.abort()
    await expect(answer).rejects.toThrow('closed before there was a response')
    expect(await aborted).toBe('signal')
    release()
    expect((await get('/items')).status).toBe(200)
  })

  it('aborting in the middle of a stream breaks off the body', async () => {
    const abort = new AbortController()
    const answer = await get('/stream', { signal: abort.signal })
    const reader = answer.body!.getReader()
    await reader.read()
    const done = new Promise((resolve) => {
      notifyEnd = resolve
    })
    abort.abort()
    await expect(reader.read()).rejects.toThrow('cut off')
    release()
    expect(await done).toBe('generator')
  })

  it('an already aborted request rejects, and its handler does not run', async () => {
    let ran = false
    entered = () => {
      ran = true
    }
    const signal = AbortSignal.abort()
    await expect(get('/slow', { signal })).rejects.toThrow('closed before there was a response')
    expect(ran).toBe(false)
  })

  it('the function works without its application', async () => {
    const { handle } = app
    expect(await (await handle(new Request('http://x/items'))).json()).toEqual([1, 2])
  })
})

describe('currentRequest', () => {
  it('it is set until the first await in every application', async () => {
    expect((await app.inject('/here')).json()).toEqual({ path: '/here' })
    expect(currentRequest()).toBeUndefined()
  })

  it('a request inside a request does not change it', async () => {
    expect((await app.inject('/nested')).json()).toEqual({
      inner: { path: '/here' },
      after: '/nested',
    })
  })

  it('it is set after an await if the application enables requestContext', async () => {
    expect((await app.inject('/later')).json()).toEqual({ path: null })
    await using following = await bootstrap(WebModule, { ...quiet, requestContext: true })
    const paths = ['/later', '/here', '/later']
    const answers = await Promise.all(paths.map((path) => following.inject(path)))
    expect(answers.map((answer) => answer.json())).toEqual(paths.map((path) => ({ path })))
  })

  it('it is set after an await if a module enables requestContext, also under another name', async () => {
    const now = currentRequest
    @Injectable()
    class Where {
      async path(): Promise<string | undefined> {
        await Promise.resolve()
        return now()?.path
      }
    }
    @Controller('/far')
    class FarController {
      static readonly inject = [Where] satisfies Inject<typeof FarController>
      constructor(private readonly where: Where) {}

      @Get('/<name>')
      async show() {
        return { path: await this.where.path() }
      }
    }
    @Module({ providers: [Where], requestContext: true })
    class WhereModule {}
    @Module({ imports: [WhereModule], controllers: [FarController] })
    class FarModule {}

    await using far = await bootstrap(FarModule, quiet)
    const answers = await Promise.all(['a', 'b'].map((name) => far.inject(`/far/${name}`)))
    expect(answers.map((answer) => answer.json())).toEqual([{ path: '/far/a' }, { path: '/far/b' }])
  })
})
