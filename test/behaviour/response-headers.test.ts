/** Headers that every response has. Source: decisions, Responses; RFC 9110; Fetch standard. */
import { mkdtemp, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import {
  bootstrap,
  Controller,
  events,
  Field,
  file,
  Get,
  html,
  Module,
  NoAuth,
  Post,
  Record,
  redirect,
  Secured,
  type Application,
  type InjectRequest,
  type Session,
} from 'filigree'
import { exchange } from '../bootstrap/raw-client.js'

let folder: string

@Record
class Lamp {
  @Field('id') id!: number
}

@Controller('/')
class Answers {
  @Get('/json') json(): object {
    return { ok: true }
  }
  @Get('/text') text(): string {
    return 'text'
  }
  @Get('/page') page(): unknown {
    return html('<p>page</p>')
  }
  @Get('/none') none(): undefined {
    return undefined
  }
  @Get('/bytes') bytes(): Uint8Array {
    return Uint8Array.of(1)
  }
  @Get('/file') file(): unknown {
    return file('page.html', { root: folder })
  }
  @Get('/elsewhere') elsewhere(): unknown {
    return redirect('/json')
  }
  @Get('/events') events(): unknown {
    return events(['one'])
  }
  @Get('/failing') failing(): never {
    throw new Error('not for clients')
  }
  @Get('/secured') @Secured secured(): object {
    return {}
  }
  @Post('/body', { limit: 5 }) @NoAuth body(body: unknown): unknown {
    return { body }
  }
  @Post('/visit') @NoAuth visit(session: Session): object {
    session.user = 'ada'
    return {}
  }
}

@Module({ controllers: [Answers], records: [Lamp] })
class AppModule {}

let app: Application

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'filigree-answers-'))
  await writeFile(join(folder, 'page.html'), '<p>file</p>')
  app = await bootstrap(AppModule, {
    port: 0,
    host: '127.0.0.1',
    database: 'sqlite::memory:',
    logger: false,
    static: { '/assets': folder },
    auth: { keys: false },
    env: {},
  })
})
afterAll(() => app.close())

const requests: (InjectRequest & { status: number })[] = [
  ...['/json', '/text', '/page', '/bytes', '/file', '/events', '/assets/page.html'].map((url) => ({
    url,
    status: 200,
  })),
  { method: 'HEAD', url: '/json', status: 200 },
  { url: '/none', status: 204 },
  { url: '/elsewhere', status: 302 },
  { url: '/failing', status: 500 },
  { url: '/missing', status: 404 },
  { method: 'DELETE', url: '/json', status: 405 },
  { url: '/secured', status: 401 },
  { url: '/body', body: 'too much', status: 413 },
  { method: 'OPTIONS', url: '/json', status: 204 },
  {
    method: 'OPTIONS',
    url: '/json',
    headers: { origin: 'https://a.example', 'access-control-request-method': 'GET' },
    status: 204,
  },
  { url: '/swagger', status: 200 },
  { url: '/swagger/openapi.json', status: 200 },
  { url: '/graphql', status: 200 },
  { url: '/graphql', json: { query: '{ lamps { id } }' }, status: 200 },
  { url: '/graphql', json: { query: 'mutation { deleteLamp(id: 1) }' }, status: 401 },
  { url: '/graphql?query={lamps{id}}', status: 200 },
]

describe('nosniff', () => {
  it.each(requests)('is on $status of $method $url', async ({ status, ...request }) => {
    const answer = await app.inject(request)
    expect(answer.status).toBe(status)
    expect(answer.headers['x-content-type-options']).toBe('nosniff')
  })

  it('is on a 304 of a file', async () => {
    const { headers } = await app.inject('/file')
    const conditional = { url: '/file', headers: { 'if-none-match': headers.etag ?? '' } }
    expect(await app.inject(conditional)).toMatchObject({
      status: 304,
      headers: { 'x-content-type-options': 'nosniff' },
    })
  })

  it('is on the response to a malformed request', async () => {
    const answer = await exchange(app.url, 'nonsense\r\n\r\n', (text) => text.includes('}'))
    expect(answer).toMatch(/^HTTP\/1\.1 400 /)
    expect(answer).toContain('X-Content-Type-Options: nosniff')
  })
})

describe('handle', () => {
  it('sets Secure on cookies only if the request came by https', async () => {
    const send = (url: string) => app.handle(new Request(url, { method: 'POST' }))
    const secure = await send('https://shop.example/visit')
    const plain = await send('http://shop.example/visit')
    expect(secure.headers.get('set-cookie')).toMatch(/; Secure/)
    expect(plain.headers.get('set-cookie')).toMatch(/^app_session(?:_\d+)?=/)
    expect(plain.headers.get('set-cookie')).not.toMatch(/Secure/i)
  })
})
