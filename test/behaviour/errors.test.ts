/** Source: decisions, Responses. Titles begin with the statement that they check. */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { HttpError, type Application, type InjectRequest } from '../../src/index.js'
import { requestWith, jsonType, startAnswers } from './result-application.js'

const logged: { details: Record<string, unknown>; message: string }[] = []
const keep = (details: object, message: string): void => {
  logged.push({ details: details as Record<string, unknown>, message })
}
const logger = { error: keep, warn: keep, info: () => undefined, debug: () => undefined }

let app: Application

beforeAll(async () => {
  app = await startAnswers({ logger })
})
afterAll(() => app.close())

describe('Errors', () => {
  it('a thrown HttpError sets the status, the message and the headers', async () => {
    const answer = await app.inject('/taken')
    expect([answer.status, answer.json()]).toEqual([409, { error: 'Taken.', code: 'CONFLICT' }])
    expect(answer.headers).toMatchObject({ 'content-type': jsonType, 'retry-after': '5' })
  })

  it('a returned HttpError does the same', async () => {
    const answer = await requestWith(app, new HttpError(404, 'Record not found'))
    expect([answer.status, answer.json()]).toEqual([
      404,
      { error: 'Record not found', code: 'NOT_FOUND' },
    ])
  })

  it.each<[string, unknown]>([
    ['an Error', new Error('secret')],
    ['a text', 'secret'],
    ['nothing', undefined],
    ['an object that looks like an HttpError', { status: 404, message: 'secret' }],
    [
      'an error with a status',
      Object.assign(new Error('secret'), { status: 404, statusCode: 404 }),
    ],
  ])('throwing %s is a masked 500', async (_, thrown) => {
    const answer = await requestWith(app, () => {
      throw thrown
    })
    expect([answer.status, answer.json()]).toEqual([
      500,
      { error: 'Internal server error', code: 'INTERNAL_SERVER_ERROR' },
    ])
    expect(JSON.stringify([answer.headers, answer.body])).not.toContain('secret')
  })

  it.each(['/crash', '/reject'])('the cause of %s is logged with the request id', async (url) => {
    logged.length = 0
    const answer = await app.inject(url)
    expect([answer.status, answer.json()]).toEqual([
      500,
      { error: 'Internal server error', code: 'INTERNAL_SERVER_ERROR' },
    ])
    const id = answer.headers['x-request-id']
    expect(id).toMatch(/^[\da-f]{8}-[\da-f-]{27}$/)
    expect(logged).toHaveLength(1)
    expect(logged[0]).toMatchObject({
      details: { requestId: id, method: 'GET', path: url, err: expect.any(Error) },
      message: 'request failed',
    })
  })

  it.each<[string, boolean]>([
    ['order-7:a.b@c', true],
    ['a'.repeat(128), true],
    ['a'.repeat(129), false],
    ['two words', false],
    ['<script>', false],
    ['', false],
    ['id\u007f', false],
  ])('the incoming X-Request-Id %j is used: %p', async (id, isReused) => {
    const answer = await app.inject({ url: '/crash', headers: { 'x-request-id': id } })
    const sent = answer.headers['x-request-id']
    expect(sent === id).toBe(isReused)
    expect(sent).toMatch(isReused ? /^[\w.:@-]+$/ : /^[\da-f-]{36}$/)
  })

  const problems: [number, InjectRequest][] = [
    [400, { url: '/item', json: {} }],
    [400, { url: '/%ZZ' }],
    [401, { method: 'POST', url: '/secret' }],
    [404, { url: '/nothing' }],
    [405, { method: 'DELETE', url: '/given' }],
    [409, { url: '/taken' }],
    [413, { url: '/item', json: 'x'.repeat(2 ** 20) }],
    [414, { url: `/${'a'.repeat(9000)}` }],
    [415, { method: 'POST', url: '/item', body: 'x', headers: { 'content-type': 'a/b' } }],
    [416, { url: '/file/a.txt', headers: { range: 'bytes=99-' } }],
    [500, { url: '/crash' }],
  ]

  it.each(problems)(
    'Errors, problem+json: %d is an RFC 9457 body with error',
    async (status, request) => {
      const headers = { ...request.headers, accept: 'application/problem+json' }
      const answer = await app.inject({ ...request, headers })
      expect(answer.status).toBe(status)
      expect(answer.headers['content-type']).toBe('application/problem+json')
      const body = answer.json() as Record<string, unknown>
      expect(body).toMatchObject({
        type: 'about:blank',
        status,
        title: expect.stringMatching(/^[A-Z]/),
        detail: body.error,
        error: expect.any(String),
        code: expect.stringMatching(/^[A-Z_\d]+$/),
      })
      const plain = await app.inject(request)
      const { error, code, errors } = body
      expect(plain.json()).toEqual({ error, code, ...(errors !== undefined && { errors }) })
    },
  )

  it('Errors, problem+json: the body has the field errors', async () => {
    const headers = { accept: 'application/json;q=0.5, application/problem+json' }
    const answer = await app.inject({ url: '/item', json: { id: 'x' }, headers })
    expect(answer.json()).toMatchObject({
      error: 'id must be an integer',
      errors: [{ path: 'id', code: 'type', message: 'id must be an integer' }],
    })
  })

  it.each([
    '*/*',
    'application/json',
    'text/html, application/*;q=0.9',
    'application/problem+json;q=0',
  ])('with Accept %s an error is application/json', async (accept) => {
    const answer = await app.inject({ url: '/nothing', headers: { accept } })
    expect([answer.headers['content-type'], answer.json()]).toEqual([
      jsonType,
      { error: 'Not found', code: 'NOT_FOUND' },
    ])
  })
})
