import { describe, expect, it } from '@jest/globals'
import { createClient, type ApiError } from '../../client/index.js'
import { json, recordFetch, type Reply } from './recording-fetch.js'

const get = (reply: Reply): Promise<unknown> =>
  createClient({ fetch: recordFetch(reply).fetch }).get('/x')

async function errorOf(reply: Reply): Promise<ApiError> {
  const outcome = await get(reply).then(
    (data) => ({ data }),
    (reason: unknown) => ({ reason: reason as ApiError }),
  )
  expect(outcome).not.toHaveProperty('data')
  return (outcome as { reason: ApiError }).reason
}

const typed = (body: BodyInit | null, type: string, status = 200) =>
  new Response(body, { status, headers: { 'content-type': type } })

describe('an answer', () => {
  it.each([
    ['application/json', '{"a":1}', { a: 1 }],
    ['application/json; charset=utf-8', '[1]', [1]],
    ['Application/JSON', '{"a":1}', { a: 1 }],
    ['application/json ;charset=utf-8', 'null', null],
    ['application/problem+json', '{"a":1}', { a: 1 }],
    ['text/json', 'false', false],
    ['application/json', '0', 0],
    ['application/json', '""', ''],
    ['text/plain', '42', '42'],
    ['text/html; charset=utf-8', '<p>', '<p>'],
    ['Text/CSV', '{"a":1}', '{"a":1}'],
  ])('of type %s and body %s is %j', async (type, body, data) => {
    expect(await get(typed(body, type))).toEqual(data)
  })

  it('without a type is text', async () => {
    expect(await get(new Response(new TextEncoder().encode('42')))).toBe('42')
  })

  it.each([
    'application/octet-stream',
    'image/png',
    'application/x-ndjson',
    'application/json-seq',
  ])('of type %s is a Blob', async (type) => {
    const blob = (await get(typed('{"a":1}', type))) as Blob
    expect([await blob.text(), blob.type]).toEqual(['{"a":1}', type])
  })

  it.each([
    ['204', new Response(null, { status: 204 })],
    ['205', new Response(null, { status: 205 })],
    ['JSON', json('')],
    ['text', typed('', 'text/plain')],
    ['bytes', typed('', 'image/png')],
    ['no type', new Response()],
  ])('without a body is null: %s', async (_, response) => {
    expect(await get(response)).toBeNull()
  })
})

describe('an answer without success', () => {
  it('rejects with an Error that has status, data, ok and headers', async () => {
    const error = await errorOf(
      json({ message: 'No such item' }, { status: 404, headers: { 'x-id': '7' } }),
    )
    expect(error).toBeInstanceOf(Error)
    expect(error).toMatchObject({ status: 404, data: { message: 'No such item' }, ok: false })
    expect(error.headers.get('x-id')).toBe('7')
    expect(error.message).toBe('404 /x')
  })

  it.each([300, 304, 400, 401, 500, 503])('rejects with status %i', async (status) => {
    expect(await errorOf(new Response(null, { status }))).toMatchObject({ status, data: null })
  })

  it.each([
    [typed('plain', 'text/plain', 400), 'plain'],
    [typed('', 'application/json', 500), null],
    [typed('<h1>Bad gateway</h1>', 'text/html', 502), '<h1>Bad gateway</h1>'],
    [typed('<h1>Bad gateway</h1>', 'application/json', 502), '<h1>Bad gateway</h1>'],
    [typed('{"a":', 'application/problem+json', 500), '{"a":'],
  ])('carries the body as it can be read: %#', async (response, data) => {
    expect(await errorOf(response)).toMatchObject({ status: response.status, data, ok: false })
  })

  it('has a Blob for bytes', async () => {
    const error = await errorOf(typed('x', 'image/png', 500))
    expect(await (error.data as unknown as Blob).text()).toBe('x')
  })
})

describe('malformed JSON', () => {
  it('rejects with the status and the raw text', async () => {
    const error = await errorOf(json('{"a":'))
    expect(error).toBeInstanceOf(Error)
    expect(error).toMatchObject({ status: 200, data: '{"a":', ok: false })
  })
})

describe('no answer', () => {
  it('rejects with the platform’s error, which has no status', async () => {
    const failure = new TypeError('fetch failed')
    const error = await errorOf(failure)
    expect(error).toBe(failure)
    expect('status' in error).toBe(false)
  })

  it('rejects with the platform’s error when the body breaks off', async () => {
    const broken = new ReadableStream({
      start: (controller) => {
        controller.error(new TypeError('terminated'))
      },
    })
    const error = await errorOf(() => typed(broken, 'text/plain'))
    expect([error.name, error.message]).toEqual(['TypeError', 'terminated'])
  })
})
