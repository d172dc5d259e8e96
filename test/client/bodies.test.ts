import { runInNewContext } from 'node:vm'
import { describe, expect, it } from '@jest/globals'
import { createClient, type ClientOptions, type RequestOptions } from '../../client/index.js'
import { openStore, recordFetch, type RecordedCall } from './recording-fetch.js'

async function post(
  body: unknown,
  options?: RequestOptions,
  settings?: ClientOptions,
): Promise<RecordedCall> {
  const { fetch, calls } = recordFetch()
  await createClient({ fetch, ...settings }).post('/x', body, options)
  return calls[0]!
}

/** The same with a token. */
const postSigned = (body: unknown, options?: RequestOptions) =>
  post(body, options, { auth: true, storage: openStore('t') })

const parsed = (call: RecordedCall) => JSON.parse(call.body as string) as unknown
const entries = (call: RecordedCall) => [...(call.body as FormData)]

function formOf(...fields: [string, string | Blob][]): FormData {
  const form = new FormData()
  for (const [name, value] of fields) form.append(name, value)
  return form
}

describe('a body', () => {
  it.each([
    ['an object', { a: 1 }, '{"a":1}'],
    ['a list', [1, { a: 2 }], '[1,{"a":2}]'],
    ['an empty object', {}, '{}'],
    ['an empty list', [], '[]'],
    ['a number', 5, '5'],
    ['a boolean', false, 'false'],
    ['a date', new Date(0), '"1970-01-01T00:00:00.000Z"'],
    ['what toJSON gives', { toJSON: () => ({ b: 2 }) }, '{"b":2}'],
    ['an object without a prototype', Object.assign(Object.create(null), { a: 1 }), '{"a":1}'],
  ])('of %s is JSON', async (_, body, text) => {
    const call = await post(body)
    expect([call.body, call.headers]).toEqual([text, { 'content-type': 'application/json' }])
  })

  it('of text stays as it is', async () => {
    const call = await post('{"a":1}')
    expect([call.body, call.headers]).toEqual(['{"a":1}', {}])
    const platform = new Request('http://x', { method: 'POST', body: call.body as string })
    expect(platform.headers.get('content-type')).toBe('text/plain;charset=UTF-8')
  })

  it('of text keeps a type that a header gives', async () => {
    const call = await post('a,b', { headers: { 'Content-Type': 'text/csv' } })
    expect([call.body, call.headers]).toEqual(['a,b', { 'content-type': 'text/csv' }])
  })

  it.each([
    ['a form', new FormData()],
    ['search params', new URLSearchParams('a=1')],
    ['a Blob', new Blob(['x'], { type: 'image/png' })],
    ['bytes', new Uint8Array([1, 2])],
    ['a Buffer, which has toJSON', Buffer.of(1, 2)],
    ['a buffer of bytes', new ArrayBuffer(2)],
    ['a view of bytes', new DataView(new ArrayBuffer(2))],
    ['a stream', new ReadableStream()],
  ])('of %s stays as it is', async (_, body) => {
    const call = await post(body)
    expect(call.body).toBe(body)
    expect(call.headers).toEqual({})
  })

  it.each([null, undefined])('of %s is none', async (body) => {
    const call = await post(body)
    expect([call.body ?? null, call.headers]).toEqual([null, {}])
  })

  it('of bytes takes the type of the call', async () => {
    const call = await post(new Uint8Array(1), { headers: { 'content-type': 'image/png' } })
    expect(call.headers).toEqual({ 'content-type': 'image/png' })
  })

  it.each(['application/json', 'multipart/form-data', 'application/x-www-form-urlencoded'])(
    'of a form drops the configured type %s',
    async (type) => {
      const settings = { headers: { 'content-type': type } }
      expect((await post(new FormData(), {}, settings)).headers).toEqual({})
    },
  )

  it('of a form keeps a type with a boundary', async () => {
    const headers = { 'content-type': 'multipart/form-data; boundary=x' }
    expect((await post(new FormData(), { headers })).headers).toEqual(headers)
  })

  it('of search params drops a configured JSON type', async () => {
    const settings = { headers: { 'Content-Type': 'application/json' } }
    expect((await post(new URLSearchParams('a=1'), {}, settings)).headers).toEqual({})
  })

  it('is what it was when the call was made', async () => {
    const { fetch, calls } = recordFetch()
    const client = createClient({ fetch })
    client.intercept('request', async (config) => config)
    const body = { name: 'Lamp' }
    const running = client.post('/x', body)
    body.name = ''
    await running
    expect(calls[0]!.body).toBe('{"name":"Lamp"}')
  })

  it('that cannot be JSON rejects the call and sends nothing', async () => {
    const { fetch, calls } = recordFetch()
    const loop: Record<string, unknown> = {}
    loop.self = loop
    await expect(createClient({ fetch }).post('/x', loop)).rejects.toThrow(/circular/)
    expect(calls).toEqual([])
  })

  it('of DELETE is its option', async () => {
    const { fetch, calls } = recordFetch()
    await createClient({ fetch }).delete('/x', { body: { ids: [1] } as never })
    expect([calls[0]!.init.method, calls[0]!.body]).toEqual(['DELETE', '{"ids":[1]}'])
  })
})

describe('formToken', () => {
  it('goes into objects', async () => {
    expect(parsed(await postSigned({ a: 1 }))).toEqual({ a: 1, formToken: 't' })
  })

  it('goes into bodyless writes', async () => {
    const { fetch, calls } = recordFetch()
    const client = createClient({ fetch, auth: true, storage: openStore('t') })
    await client.post('/x')
    await client.put('/x', null)
    await client.patch('/x', undefined)
    await client.delete('/x')
    for (const call of calls) {
      expect([parsed(call), call.headers['content-type']]).toEqual([
        { formToken: 't' },
        'application/json',
      ])
    }
    expect(calls.map((call) => call.init.method)).toEqual(['POST', 'PUT', 'PATCH', 'DELETE'])
  })

  it('stays out of GET', async () => {
    const { fetch, calls } = recordFetch()
    await createClient({ fetch, auth: true, storage: openStore('t') }).get('/x')
    expect([calls[0]!.body, calls[0]!.init.redirect]).toEqual([undefined, undefined])
  })

  it('comes first in a form, the caller’s form being left alone', async () => {
    const file = new File(['x'], 'x.png', { type: 'image/png' })
    const form = formOf(['name', 'Lamp'], ['photo', file], ['name', 'Bulb'])
    const sent = entries(await postSigned(form))
    expect(sent.map(([name]) => name)).toEqual(['formToken', 'name', 'photo', 'name'])
    expect(sent[0]![1]).toBe('t')
    expect(sent[2]![1]).toMatchObject({ name: 'x.png', type: 'image/png', size: 1 })
    expect([...form].length).toBe(3)
  })

  it('goes into search params', async () => {
    const params = new URLSearchParams('a=1&a=2')
    expect(String((await postSigned(params)).body)).toBe('formToken=t&a=1&a=2')
    expect(String(params)).toBe('a=1&a=2')
  })

  it('goes into a form of another realm', async () => {
    const OtherForm = runInNewContext('(class FormData extends Base {})', { Base: FormData }) as {
      new (): FormData
    }
    const form = new OtherForm()
    form.append('a', '1')
    const call = await postSigned(form)
    expect(call.body).toBeInstanceOf(OtherForm)
    expect(entries(call)).toEqual([
      ['formToken', 't'],
      ['a', '1'],
    ])
  })

  it('goes into objects and lists of another realm as into ours', async () => {
    const body: unknown = runInNewContext('({ list: [1], date: new Date(0) })')
    expect(parsed(await postSigned(body))).toEqual({
      formToken: 't',
      list: [1],
      date: '1970-01-01T00:00:00.000Z',
    })
  })

  it.each([
    ['a list', [1], '[1]'],
    ['text', '{"a":1}', '{"a":1}'],
    ['a number', 5, '5'],
  ])('stays out of %s', async (_, body, text) => {
    const call = await postSigned(body)
    expect([call.body, call.init.redirect]).toEqual([text, undefined])
    expect(call.headers.authorization).toBe('Bearer t')
  })

  it('stays out of bytes', async () => {
    const bytes = new Uint8Array([1])
    expect((await postSigned(bytes)).body).toBe(bytes)
  })

  it('of the caller stays', async () => {
    expect(parsed(await postSigned({ formToken: 'mine' }))).toEqual({ formToken: 'mine' })
    expect(parsed(await postSigned({ formToken: null }))).toEqual({ formToken: null })
    expect(entries(await postSigned(formOf(['formToken', 'mine'])))).toEqual([
      ['formToken', 'mine'],
    ])
    expect(String((await postSigned(new URLSearchParams('formToken=mine'))).body)).toBe(
      'formToken=mine',
    )
  })

  it('leaves a frozen body as it is', async () => {
    const body = Object.freeze({ a: Object.freeze([1]) })
    expect(parsed(await postSigned(body))).toEqual({ formToken: 't', a: [1] })
    expect(body).toEqual({ a: [1] })
  })

  it('is the token as it is stored, quotes and all', async () => {
    const { fetch, calls } = recordFetch()
    const client = createClient({ fetch, auth: true, storage: openStore('"\\') })
    await client.post('/x', { a: 1 })
    expect(parsed(calls[0]!)).toEqual({ a: 1, formToken: '"\\' })
  })

  it('is not sent without auth, nor without a token', async () => {
    expect(parsed(await post({ a: 1 }, {}, { storage: openStore('t') }))).toEqual({ a: 1 })
    const call = await post(undefined, {}, { auth: true, storage: openStore() })
    expect([call.body, call.headers]).toEqual([undefined, {}])
  })

  it('is kept from redirects, unless the caller decides', async () => {
    expect((await postSigned({ a: 1 })).init.redirect).toBe('error')
    expect((await postSigned(undefined)).init.redirect).toBe('error')
    expect((await postSigned(new FormData())).init.redirect).toBe('error')
    expect((await postSigned({ a: 1 }, { redirect: 'follow' })).init.redirect).toBe('follow')
  })
})
