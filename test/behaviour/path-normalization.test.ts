/** Source: decisions, Routing. Titles begin with the statement that they check. */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import {
  bootstrap,
  Controller,
  Get,
  HttpError,
  Module,
  type RouteResponse,
  type Application,
  type HttpRequest,
  type Interceptor,
  type Next,
} from '../../src/index.js'
import { exchange } from '../bootstrap/raw-client.js'

/** Refuses all paths below some prefixes, as applications do. */
class PrefixGuard implements Interceptor {
  static readonly before = 'gate'
  async intercept(request: HttpRequest, next: Next): Promise<RouteResponse> {
    seenPaths.push(request.path)
    const closed = ['/api/private', '/api/v2/private', '/api/café', '/api/files/private']
    const inside = closed.some((one) => request.path === one || request.path.startsWith(`${one}/`))
    if (inside) throw new HttpError(403)
    return next()
  }
}

const seenPaths: string[] = []

@Controller('/')
class Pages {
  @Get('/private') index(): object {
    return { secret: 1 }
  }
  @Get('/private/<rest:path>') rest(rest: string): object {
    return { secret: rest }
  }
  @Get('/open/<name>') open(name: string, request: HttpRequest): object {
    return { name, path: request.path, url: request.url }
  }
  @Get('/a:b@c/<name>') signs(name: string, request: HttpRequest): object {
    return { name, path: request.path }
  }
  @Get('/tail/<rest:path>') tail(rest: string, request: HttpRequest): object {
    return { rest, path: request.path }
  }
}

@Controller('/private', { version: '2' })
class NewPages {
  @Get('/') index(): object {
    return { secret: 2 }
  }
}

@Module({ controllers: [Pages, NewPages] })
class AppModule {}

let app: Application
let root: string

beforeAll(async () => {
  root = mkdtempSync(join(tmpdir(), 'one-path-'))
  mkdirSync(join(root, 'private'))
  writeFileSync(join(root, 'private', 'a.txt'), 'secret')
  writeFileSync(join(root, 'b.txt'), 'open')
  app = await bootstrap(AppModule, {
    port: 0,
    basePath: '/api',
    static: { '/files': root },
    use: [PrefixGuard],
    logger: false,
    docs: true,
  })
})
afterAll(async () => {
  await app.close()
  rmSync(root, { recursive: true })
})

/** Sends the URL unchanged. */
const get = (url: string): Promise<string> =>
  exchange(app.url, `GET ${url} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n`)

describe('One path', () => {
  it.each([
    '/api/private',
    '/api/%70rivate',
    '/%61pi/priv%61te',
    '/api/private/',
    '/api/%70%72%69%76%61%74%65/',
    '/api/private?x=/',
    '/api/private/x',
    '/api/%70rivate/%78',
    '/api/v2/%70rivate',
    '/api/files/private/a.txt',
    '/api/files/%70rivate/a.txt',
    '/api/files/private%2Fa.txt',
    '/api/files/private%2fa.txt',
    'http://other/api/%70rivate',
  ])('%s is recognized by its prefix', async (url) => {
    const answer = await get(url)
    expect(answer).toMatch(/^HTTP\/1\.1 403 /)
    expect(answer).not.toContain('secret')
  })

  it.each([
    '/api//private',
    '/api/./private',
    '/api/x/../private',
    '/api/%2e/private',
    '/api/private%2F',
    '/api/files//private/a.txt',
    '/api/files/./private/a.txt',
    '/api/files/%2e/private/a.txt',
    '/api/files/x/../private/a.txt',
    '/api/files/x%2f..%2fprivate/a.txt',
    '/api/PRIVATE',
  ])('%s is 404', async (url) => {
    const answer = await get(url)
    expect(answer).toMatch(/^HTTP\/1\.1 404 /)
  })

  it.each([
    ['/api/open/caf%c3%a9', 'café', '/api/open/caf%C3%A9'],
    ['/api/open/a%2fb', 'a/b', '/api/open/a%2Fb'],
    ['/api/open/a%25b', 'a%b', '/api/open/a%25b'],
    ['/api/open/a%20b', 'a b', '/api/open/a%20b'],
    ['/api/open/a|b', 'a|b', '/api/open/a%7Cb'],
    ['/api/open/%41%2d%7E%5f%2E', 'A-~_.', '/api/open/A-~_.'],
    ['/api/open/%3a%40%24', ':@$', '/api/open/:@$'],
    ['/api/open/%2e%2e', '..', '/api/open/..'],
    ['/api/open/x/', 'x', '/api/open/x'],
  ])('%s is one segment, and request.path is normalized', async (url, name, path) => {
    expect((await app.inject(`${url}?q=%70`)).json()).toEqual({ name, path, url: `${url}?q=%70` })
  })

  it('characters that need no encoding are equal to their encoded form', async () => {
    for (const url of ['/api/a:b@c/x', '/api/a%3ab%40c/x', '/api/%61:b%40c/x/']) {
      expect((await app.inject(url)).json()).toEqual({ name: 'x', path: '/api/a:b@c/x' })
    }
  })

  it('a <rest:path> parameter keeps its slashes in request.path', async () => {
    const answer = await app.inject('/api/tail/a%2Fb/c%2e')
    expect(answer.json()).toEqual({ rest: 'a/b/c.', path: '/api/tail/a/b/c.' })
  })

  it('a malformed path is 400 before any interceptor', async () => {
    seenPaths.length = 0
    expect((await app.inject('/api/%70rivate/%zz')).status).toBe(400)
    expect(seenPaths).toEqual([])
  })

  it('folders are redirected to their path with a slash', async () => {
    writeFileSync(join(root, 'index.html'), 'page')
    expect((await app.inject('/api/files/')).status).toBe(200)
    mkdirSync(join(root, 'sub'))
    writeFileSync(join(root, 'sub', 'index.html'), 'sub')
    const moved = await app.inject('/api/files/s%75b?x=1')
    expect(moved).toMatchObject({ status: 301, headers: { location: '/api/files/s%75b/?x=1' } })
    expect((await app.inject('/api/files/sub/')).body).toBe('sub')
  })
})
