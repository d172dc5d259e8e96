/** Source: public API, 1 and 2. Titles begin with the statement that they check. */
import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import {
  bootstrap,
  Controller,
  Get,
  Module,
  type Application,
  type BootstrapOptions,
  NoAuth,
  Post,
  Secured,
} from '../../src/index.js'
import { ShopModule } from './shop-module.js'

const quiet: BootstrapOptions = { listen: false, logger: false, env: {} }

describe('static', () => {
  let app: Application
  let root = ''

  beforeAll(async () => {
    root = await mkdtemp(join(tmpdir(), 'filigree-static-'))
    await mkdir(join(root, 'css'))
    await writeFile(join(root, 'index.html'), '<p>Home')
    await writeFile(join(root, 'css', 'a b.css'), 'p {}')
    await writeFile(join(root, '.env'), 'SECRET')
    await mkdir(join(root, 'guide'))
    await writeFile(join(root, 'guide', 'index.html'), '<p>Guide')
    await writeFile(join(root, 't.txt'), 'text')
    await symlink(join(root, 'loop'), join(root, 'loop'))
    app = await bootstrap(ShopModule, { ...quiet, static: { '/assets': root, '/shop': root } })
  })
  afterAll(async () => {
    await app.close()
    await rm(root, { recursive: true })
  })

  it.each([
    ['GET', '/assets', 200, 'text/html; charset=utf-8', '<p>Home'],
    ['GET', '/assets/', 200, 'text/html; charset=utf-8', '<p>Home'],
    ['GET', '/assets/css/a%20b.css', 200, 'text/css; charset=utf-8', 'p {}'],
    ['HEAD', '/assets/css/a%20b.css', 200, 'text/css; charset=utf-8', ''],
    ['GET', '/shop', 200, 'text/html; charset=utf-8', '<p>Home'],
    ['GET', '/assets/guide/', 200, 'text/html; charset=utf-8', '<p>Guide'],
    ['GET', '/assets/t.txt', 200, 'text/plain; charset=utf-8', 'text'],
    ['GET', '/shop/now', 200, 'application/json; charset=utf-8', '{"now":7}'],
  ])('%s %s is %d', async (method, url, status, type, body) => {
    const answer = await app.inject({ method, url })
    expect([answer.status, answer.headers['content-type'], answer.body]).toEqual([
      status,
      type,
      body,
    ])
  })

  it.each([
    ['GET', '/assets/none.css', 404],
    ['GET', '/assets/css', 404],
    ['GET', '/assets/css/', 404],
    ['GET', '/assets/t.txt/', 404],
    ['GET', '/assets/guide/index.html/', 404],
    ['GET', '/assets/.env', 404],
    ['GET', '/assets/..%2f..%2fetc/passwd', 404],
    ['GET', '/assets/../../etc/passwd', 404],
    ['GET', '/assets/%00', 400],
    ['GET', `/assets/${'n'.repeat(300)}`, 404],
    ['GET', `/assets/${encodeURIComponent('ü'.repeat(200))}.css`, 404],
    ['GET', `/assets/${'folder/'.repeat(700)}a.css`, 404],
    ['GET', '/assets/loop', 404],
    ['GET', '/assets/loop/a.css', 404],
    ['POST', '/assets/index.html', 405],
    ['GET', '/asset', 404],
  ])('%s %s is %d', async (method, url, status) => {
    const codes: Record<number, string> = {
      400: 'MALFORMED_ENCODING',
      404: 'NOT_FOUND',
      405: 'METHOD_NOT_ALLOWED',
    }
    const answer = await app.inject({ method, url })
    expect([answer.status, answer.json()]).toEqual([
      status,
      { error: expect.any(String), code: codes[status] },
    ])
  })

  it('a folder with an index page redirects to its path with a slash', async () => {
    const answer = await app.inject('/assets/guide?x=1')
    expect([answer.status, answer.headers['location']]).toEqual([301, '/assets/guide/?x=1'])
  })

  it('an invalid path is refused at bootstrap', async () => {
    await expect(bootstrap(ShopModule, { ...quiet, static: { assets: root } })).rejects.toThrow(
      'path "assets" is relative',
    )
  })
})

describe('static at the top, with a fallback', () => {
  let root = ''
  const html = { accept: 'text/html,application/xhtml+xml,*/*;q=0.8' }

  @Controller
  class WebController {
    @Get('/api/now') now() {
      return { now: 7 }
    }
    @Post('/login')
    @NoAuth
    login() {
      return {}
    }
  }
  @Module({ controllers: [WebController] })
  class WebModule {}

  beforeAll(async () => {
    root = await mkdtemp(join(tmpdir(), 'filigree-web-'))
    await mkdir(join(root, '.well-known'))
    await mkdir(join(root, 'deep', '.well-known'), { recursive: true })
    await writeFile(join(root, 'index.html'), '<p>Home')
    await writeFile(join(root, 'code.js'), 'run()')
    await writeFile(join(root, '.env'), 'SECRET')
    await writeFile(join(root, '.well-known', 'security.txt'), 'Contact: mailto:a@b.example')
    await writeFile(join(root, '.well-known', '.env'), 'SECRET')
    await writeFile(join(root, 'deep', '.well-known', 'a.txt'), 'deep')
  })
  afterAll(() => rm(root, { recursive: true }))

  const start = (fallback?: string, module: new () => object = WebModule) =>
    bootstrap(module, {
      ...quiet,
      static: { '/': { folder: root, ...(fallback === undefined ? {} : { fallback }) } },
    })

  const errorPage: unknown = expect.stringContaining('<h1>Page not found</h1>')

  it.each<['GET' | 'HEAD' | 'POST', string, Record<string, string>, number, unknown]>([
    ['GET', '/', html, 200, '<p>Home'],
    ['GET', '/orders/7', html, 200, '<p>Home'],
    ['HEAD', '/orders/7', html, 200, ''],
    ['GET', '/login', html, 200, '<p>Home'],
    ['GET', '/orders/7/', { accept: 'application/xhtml+xml' }, 200, '<p>Home'],
    ['GET', '/code.js', html, 200, 'run()'],
    ['GET', '/api/now', html, 200, '{"now":7}'],
    ['GET', '/orders/7', {}, 404, '{"error":"Not found","code":"NOT_FOUND"}'],
    ['GET', '/orders/7', { accept: '*/*' }, 404, '{"error":"Not found","code":"NOT_FOUND"}'],
    [
      'GET',
      '/orders/7',
      { accept: 'application/json' },
      404,
      '{"error":"Not found","code":"NOT_FOUND"}',
    ],
    [
      'GET',
      '/orders/7',
      { accept: 'text/html;q=0, */*' },
      404,
      '{"error":"Not found","code":"NOT_FOUND"}',
    ],
    ['GET', '/.env', html, 404, errorPage],
    ['GET', '/.env', {}, 404, '{"error":"Not found","code":"NOT_FOUND"}'],
    ['GET', '/.well-known/security.txt', {}, 200, 'Contact: mailto:a@b.example'],
    ['GET', '/.well-known/.env', {}, 404, '{"error":"Not found","code":"NOT_FOUND"}'],
    ['GET', '/deep/.well-known/a.txt', {}, 404, '{"error":"Not found","code":"NOT_FOUND"}'],
  ])('static: %s %s with %j is %d', async (method, url, headers, status, body) => {
    await using app = await start('index.html')
    const answer = await app.inject({ method, url, headers })
    expect([answer.status, answer.body]).toEqual([status, body])
  })

  it('static: the fallback page is sent as HTML and varies by Accept', async () => {
    await using app = await start('index.html')
    const { headers } = await app.inject({ url: '/orders/7', headers: html })
    expect(headers['content-type']).toBe('text/html; charset=utf-8')
    expect(headers.vary).toContain('Accept')
    expect(headers).not.toHaveProperty('content-disposition')
  })

  it('static: without a fallback a missing file is 404', async () => {
    await using app = await start()
    expect((await app.inject({ url: '/orders/7', headers: html })).status).toBe(404)
    expect((await app.inject('/.well-known/security.txt')).status).toBe(200)
  })

  it('static: files of the folder win over a <rest:path> route, but not over other routes', async () => {
    @Controller
    class RestController {
      @Get('/<rest:path>') rest(rest: string) {
        return { rest }
      }
      @Get('/deep/<rest:path>')
      @Secured
      deep(rest: string) {
        return { deep: rest }
      }
      @Get('/code.css') css() {
        return 'css'
      }
    }
    @Module({ controllers: [RestController] })
    class RestModule {}
    await writeFile(join(root, 'code.css'), 'file')
    await writeFile(join(root, 'deep', 'a.txt'), 'a')
    await using app = await start('index.html', RestModule)
    const get = async (url: string) => {
      const { status, body } = await app.inject({ url, headers: html })
      return [status, body]
    }
    expect(await get('/code.js')).toEqual([200, 'run()'])
    expect(await get('/orders/7')).toEqual([200, '{"rest":"orders/7"}'])
    expect(await get('/.env')).toEqual([200, '{"rest":".env"}'])
    expect(await get('/code.css')).toEqual([200, 'css'])
    expect(await get('/deep/a.txt')).toEqual([200, 'a'])
    expect((await get('/deep/b.txt'))[0]).toBe(401)
  })

  it.each([
    [{ folder: './docs', fallback: 'none.html' }, 'has no file none.html'],
    [{ folder: './docs', fallbak: 'index.html' }, 'fallbak'],
    [{ fallback: 'index.html' }, 'folder cannot be used'],
    [{ folder: './docs', fallback: '../package.json' }, 'has no file ../package.json'],
  ])('static: %j is refused at the start', async (entry, message) => {
    const options = { ...quiet, static: { '/': entry as { folder: string } } }
    await expect(bootstrap(WebModule, options)).rejects.toThrow(message)
  })
})
