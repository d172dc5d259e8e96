/** Every media type combined with every kind of route. Source: decisions, Requests. */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import {
  bootstrap,
  Controller,
  Doc,
  Field,
  Module,
  NoAuth,
  Post,
  Record as Table,
  type Application,
  type HttpRequest,
  type UploadedFiles,
} from 'filigree'

class Item {
  @Field('string') name!: string
}

@Table
@NoAuth
class Lamp {
  @Field('id') id!: number
  @Field('string') name!: string
}

const typeOf = (body: unknown): object => ({ typeOf: typeof body })

@Controller
@NoAuth
class Shapes {
  @Post('/any') any(body: unknown) {
    return typeOf(body)
  }
  @Post('/request') request(request: HttpRequest) {
    return typeOf(request.body)
  }
  @Post('/sample') @Doc({ example: { name: 'a' } }) sample(body: unknown) {
    return typeOf(body)
  }
  @Post('/text') @Doc({ example: 'a' }) text(body: unknown) {
    return typeOf(body)
  }
  @Post('/class') item(body: Item) {
    return typeOf(body)
  }
  @Post('/list', { body: [Item] }) list(body: Item[]) {
    return typeOf(body)
  }
  @Post('/raw') raw(rawBody: Buffer) {
    return typeOf(rawBody)
  }
  @Post('/raw-and-body') rawAndBody(rawBody: Buffer, body: unknown) {
    return typeOf([rawBody, body])
  }
  @Post('/raw-and-class') rawAndClass(rawBody: Buffer, body: Item) {
    return typeOf([rawBody, body])
  }
  @Post('/files') files(files: UploadedFiles) {
    return typeOf(files)
  }
  @Post('/files-and-class') filesAndClass(files: UploadedFiles, body: Item) {
    return typeOf([files, body])
  }
  @Post('/body-and-files') bodyAndFiles(files: UploadedFiles, body: unknown) {
    return typeOf([files, body])
  }
  @Post('/named-files') @Doc({ files: ['photo'] }) namedFiles(request: HttpRequest) {
    return typeOf(request.files)
  }
}

@Controller('/lamps', { crud: Lamp })
@NoAuth
class Lamps {}

@Module({ controllers: [Shapes, Lamps], records: [Lamp] })
class AppModule {}

const form = '--b\r\nContent-Disposition: form-data; name="name"\r\n\r\na\r\n--b--\r\n'

/** The sent bodies, and the types by which a document may list them. */
const sent: readonly [type: string, body: string, listed: string][] = [
  ['application/json', '{"name":"a"}', 'application/json'],
  ['application/json; charset=utf-8', '{"name":"a"}', 'application/json'],
  ['application/merge-patch+json', '{"name":"a"}', 'application/json'],
  ['application/x-www-form-urlencoded', 'name=a', 'application/x-www-form-urlencoded'],
  ['multipart/form-data; boundary=b', form, 'multipart/form-data'],
  ['text/plain', 'a', 'text/plain'],
  ['text/csv', 'a', ''],
  ['application/octet-stream', 'a', ''],
  ['application/xml', '<a/>', ''],
  ['text/xml', '<a/>', ''],
  ['multipart/mixed; boundary=b', form, ''],
  ['no type at all', 'a', ''],
]
const paths = [
  ...['any', 'request', 'sample', 'text', 'class', 'list', 'raw', 'raw-and-body'],
  ...['raw-and-class', 'files', 'files-and-class', 'body-and-files', 'named-files', 'lamps'],
].map((name) => `/${name}`)

let app: Application

beforeAll(async () => {
  app = await bootstrap(AppModule, {
    listen: false,
    logger: false,
    env: {},
    database: 'sqlite::memory:',
  })
})
afterAll(async () => {
  await app.close()
})

describe('media types of bodies', () => {
  it.each(paths)('are accepted by POST %s exactly as the document lists them', async (path) => {
    const listed = Object.keys(documented(path).content)
    for (const [type, text, name] of sent) {
      const body = path === '/list' && name === 'application/json' ? `[${text}]` : text
      const headers: Record<string, string> = type.includes('/') ? { 'content-type': type } : {}
      const response = await app.inject({ method: 'POST', url: path, headers, body })
      const isRaw = path.startsWith('/raw-and-body') || path === '/raw'
      const isListed =
        listed.includes(name) || (listed.includes('*/*') && !(isRaw && type.includes('form-data')))
      const status = isListed ? [200, 201] : [400, 415]
      expect([path, type, status.includes(response.status) || response.status]).toEqual([
        path,
        type,
        true,
      ])
    }
  })

  it.each(paths)(
    'POST %s may be sent without a body exactly where the document does not require one',
    async (path) => {
      const response = await app.inject({ method: 'POST', url: path })
      expect([path, response.status]).toEqual([
        path,
        documented(path).required === true ? 400 : 200,
      ])
    },
  )

  it('are any where the handler receives the exact bytes, and multipart only for uploads', () => {
    expect(Object.keys(documented('/raw').content)).toEqual(['*/*'])
    expect(Object.keys(documented('/files').content)).toEqual(['multipart/form-data'])
    expect(Object.keys(documented('/any').content)).toEqual([
      'application/json',
      'application/x-www-form-urlencoded',
      'text/plain',
      'multipart/form-data',
      '*/*',
    ])
  })

  it('do not depend on the files that @Doc names', async () => {
    expect(Object.keys(documented('/named-files').content)).toEqual(
      Object.keys(documented('/request').content),
    )
    expect(documented('/named-files').content).toMatchObject({
      'multipart/form-data': { schema: { properties: { photo: { format: 'binary' } } } },
    })
    const response = await app.inject({ method: 'POST', url: '/named-files', json: { a: 1 } })
    expect(response.status).toBe(200)
  })

  it('name the accepted ones', async () => {
    const headers = { 'content-type': 'application/xml' }
    const response = await app.inject({ method: 'POST', url: '/files', headers, body: '<a/>' })
    expect(response.json()).toMatchObject({ error: 'Send multipart/form-data.' })
  })
})

function documented(path: string): { required?: boolean; content: object } {
  const found = app.openapi.paths?.[path]?.post?.requestBody
  return found as { required?: boolean; content: object }
}
