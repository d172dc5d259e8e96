/** How values of forms become declared fields. Source: decisions, Requests; "Validation and fields". */
import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { mkdir, writeFile } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { setImmediate as yieldOnce } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import {
  bootstrap,
  Controller,
  Field,
  Module,
  NoAuth,
  Post,
  type Application,
  type UploadedFile,
  type UploadedFiles,
} from '../../src/index.js'
import { headOf, multipartOf } from '../http/bodies/body-server.js'

class Meta {
  @Field('string') title!: string
  @Field('integer', { optional: true }) year?: number
}

class Upload {
  @Field(() => Meta) meta!: Meta
  @Field('string', { optional: true }) note?: string
  @Field('integer', { list: true, optional: true }) sizes?: number[]
  @Field('blob', { optional: true }) picture?: Uint8Array
}

class Form {
  @Field('string') name!: string
  @Field('string', { optional: true }) note?: string
  @Field('string', { optional: true, format: 'email' }) mail?: string
  @Field('string', { optional: true, oneOf: ['red', 'blue'] }) color?: string
  @Field('integer', { optional: true }) count?: number
  @Field('decimal', { optional: true, precision: 8, scale: 2 }) price?: string
  @Field('date', { optional: true }) day?: string
  @Field('integer', { default: 3 }) size!: number
  @Field('integer', { list: true, optional: true }) sizes?: number[]
  @Field('boolean', { optional: true }) agreed?: boolean
}

class Required {
  @Field('integer') count!: number
}

@Controller
@NoAuth
class FormController {
  @Post('/class') one(body: Upload) {
    return body
  }
  @Post('/both') bodyAndFiles(body: Upload, files: UploadedFiles) {
    return { body, files: Object.keys(files) }
  }
  @Post('/drop', { unknownKeys: 'drop' }) drop(body: Upload) {
    return body
  }
  @Post('/any') any(body: unknown) {
    return body
  }
  @Post('/form') form(body: Form) {
    return body
  }
  @Post('/required') required(body: Required) {
    return body
  }
  @Post('/path') path(files: { file: UploadedFile }) {
    return { path: files.file.path }
  }
}

@Module({ controllers: [FormController] })
class FormModule {}

const options = { listen: false, logger: false, env: {} } as const
let app: Application
beforeAll(async () => {
  app = await bootstrap(FormModule, options)
})
afterAll(() => app.close())

type Part = readonly [string, string | Blob, string?]

async function post(url: string, ...parts: readonly Part[]): Promise<[number, unknown]> {
  const form = new FormData()
  for (const [name, value, file] of parts) {
    if (typeof value === 'string') form.append(name, value)
    else if (file === undefined) form.append(name, value)
    else form.append(name, value, file)
  }
  const answer = await app.handle(new Request(`http://x${url}`, { method: 'POST', body: form }))
  return [answer.status, await answer.json()]
}

const json = (value: unknown): Blob =>
  new Blob([JSON.stringify(value)], { type: 'application/json' })
const meta: Part = ['meta', json({ title: 'Lamp', year: 7 })]

describe('a part with a file name', () => {
  it.each<[string, Part[], object]>([
    ['JSON for an object', [meta], {}],
    [
      '+json',
      [['meta', new Blob(['{"title":"Lamp","year":7}'], { type: 'application/a+json' })]],
      {},
    ],
    ['JSON for a list', [meta, ['sizes', json([1, 2])]], { sizes: [1, 2] }],
    ['JSON for a text', [meta, ['note', json('a')]], { note: 'a' }],
    ['text for a text', [meta, ['note', new Blob(['a'], { type: 'text/plain' })]], { note: 'a' }],
    ['text of no type', [meta, ['note', new Blob(['a'])]], { note: 'a' }],
    [
      'bytes for bytes',
      [meta, ['picture', new Blob([Uint8Array.of(0, 255)])]],
      { picture: { type: 'Buffer', data: [0, 255] } },
    ],
  ])('is the declared field: %s', async (_, parts, more) => {
    const body = { meta: { title: 'Lamp', year: 7 }, ...more }
    expect(await post('/class', ...parts)).toEqual([200, body])
    expect(await post('/both', ...parts)).toEqual([200, { body, files: [] }])
  })

  it.each<[Part, string, string]>([
    [['meta', json({ title: 5 })], 'meta.title', 'type'],
    [['meta', json([])], 'meta', 'type'],
    [['meta', new Blob(['x'], { type: 'text/plain' })], 'meta', 'type'],
  ])('is validated like the field: %j', async (part, path, code) => {
    const [status, body] = await post('/class', part)
    expect([status, body]).toEqual([
      400,
      expect.objectContaining({ errors: [expect.objectContaining({ path, code })] }),
    ])
  })

  it('is 400 if its JSON is malformed or its text is not UTF-8', async () => {
    const broken: Part = ['meta', new Blob(['{'], { type: 'application/json' })]
    expect((await post('/class', broken))[0]).toBe(400)
    const latin: Part = ['note', new Blob([Uint8Array.of(255)])]
    expect((await post('/class', meta, latin))[0]).toBe(400)
  })

  it('is passed as a file if no field has its name', async () => {
    const file: Part = ['photo', new Blob(['x']), 'a.txt']
    const body = { meta: { title: 'Lamp', year: 7 } }
    expect(await post('/both', meta, file)).toEqual([200, { body, files: ['photo'] }])
  })

  it.each(['/class', '/any'])('is refused if the handler takes no files: %s', async (url) => {
    const [status, body] = await post(url, ...(url === '/any' ? [] : [meta]), [
      'photo',
      new Blob(['x']),
      'a.txt',
    ])
    const errors = [expect.objectContaining({ path: 'photo', code: 'unknown' })]
    expect([status, body]).toEqual([400, expect.objectContaining({ errors })])
  })

  it('is dropped with unknownKeys: drop, and if it comes from an empty file input', async () => {
    const body = { meta: { title: 'Lamp', year: 7 } }
    expect(await post('/drop', meta, ['photo', new Blob(['x']), 'a.txt'])).toEqual([200, body])
    for (const name of ['photo', 'picture']) {
      const sent = multipartOf(
        'b',
        { head: headOf('meta'), body: JSON.stringify(body.meta) },
        { head: headOf(name, ''), body: '' },
      )
      const headers = { 'content-type': 'multipart/form-data; boundary=b' }
      const answer = await app.inject({ method: 'POST', url: '/class', headers, body: sent })
      expect([answer.status, answer.json()]).toEqual([200, body])
    }
  })
})

describe('an HTML form', () => {
  const empty: readonly (readonly [string, string])[] = [
    ['name', 'Ann'],
    ...['note', 'mail', 'color', 'count', 'price', 'day', 'size', 'sizes', 'agreed'].map(
      (name) => [name, ''] as const,
    ),
  ]
  const send = async (
    type: 'form' | 'multipart',
    values: readonly (readonly [string, string])[],
  ) => {
    if (type === 'multipart') return post('/form', ...values)
    const body = new URLSearchParams(values.map(([name, value]) => [name, value]))
    const answer = await app.handle(new Request('http://x/form', { method: 'POST', body }))
    return [answer.status, await answer.json()]
  }

  it.each(['form', 'multipart'] as const)('%s: empty optional values are absent', async (type) => {
    expect(await send(type, empty)).toEqual([200, { name: 'Ann', note: '', size: 3 }])
  })

  it.each(['form', 'multipart'] as const)('%s: a checkbox that is on is true', async (type) => {
    expect(
      await send(type, [
        ['name', 'Ann'],
        ['agreed', 'on'],
      ]),
    ).toEqual([200, { name: 'Ann', agreed: true, size: 3 }])
    const sizes: [string, string][] = [
      ['name', 'Ann'],
      ['sizes', ''],
      ['sizes', '4'],
    ]
    expect(await send(type, sizes)).toEqual([200, { name: 'Ann', sizes: [4], size: 3 }])
  })

  it('does not make required fields, JSON and queries less strict', async () => {
    expect((await post('/required', ['count', '']))[0]).toBe(400)
    const inject = (json: object) => app.inject({ method: 'POST', url: '/form', json })
    expect((await inject({ name: 'Ann', count: '' })).status).toBe(400)
    expect((await inject({ name: 'Ann', agreed: 'on' })).status).toBe(400)
  })
})

it('removes the upload folders of a killed process', async () => {
  const form = new FormData()
  form.append('file', new Blob(['x']), 'a.txt')
  const answer = await app.handle(new Request('http://x/path', { method: 'POST', body: form }))
  const { path } = (await answer.json()) as { path: string }
  const folder = dirname(path)
  const nameOf = (pid: number): string =>
    join(dirname(folder), basename(folder).replace(`-${process.pid}-`, `-${pid}-`))
  const staleFolder = nameOf(spawnSync(process.execPath, ['-e', '']).pid)
  const used = nameOf(process.ppid)
  for (const place of [staleFolder, used]) {
    await mkdir(place)
    await writeFile(join(place, 'file'), 'x')
  }
  await using next = await bootstrap(FormModule, options)
  expect(next.routes.length).toBeGreaterThan(0)
  while (existsSync(staleFolder)) await yieldOnce()
  expect(existsSync(used)).toBe(true)
  const { rm } = await import('node:fs/promises')
  await rm(used, { recursive: true })
})
