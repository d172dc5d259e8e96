import { describe, expect, it } from '@jest/globals'
import { HttpError } from '../../src/index.js'
import { toErrorResponse } from '../../src/http/failure-writer.js'

const json = 'application/json; charset=utf-8'
const problem = 'application/problem+json'

describe('toErrorAnswer', () => {
  it('returns status and message', () => {
    expect(toErrorResponse(new HttpError(404, 'No such item'), undefined)).toEqual({
      status: 404,
      headers: ['Content-Type', json],
      body: '{"error":"No such item"}',
    })
  })

  it('returns the field errors', () => {
    const errors = [{ path: 'lines.0.qty', code: 'min', message: 'qty must not be less than 1' }]
    const { body } = toErrorResponse(new HttpError(400, 'qty is wrong', { errors }), undefined)
    expect(JSON.parse(body)).toEqual({ error: 'qty is wrong', errors })
  })

  it('passes on the headers of the error', () => {
    const error = new HttpError(401, undefined, { headers: { 'WWW-Authenticate': 'Bearer' } })
    expect(toErrorResponse(error, undefined)).toEqual({
      status: 401,
      headers: ['Content-Type', json, 'WWW-Authenticate', 'Bearer'],
      body: '{"error":"Unauthorized"}',
    })
  })

  it.each([
    ['an Error', new Error('password is hunter2')],
    ['a TypeError', new TypeError('x is undefined')],
    ['an object with a status', { status: 404, message: 'secret' }],
    ['text', 'secret'],
    ['undefined', undefined],
    ['null', null],
  ])('masks %s', (_what, error) => {
    expect(toErrorResponse(error, undefined)).toEqual({
      status: 500,
      headers: ['Content-Type', json],
      body: '{"error":"Internal server error"}',
    })
  })

  it('never returns the cause', () => {
    const error = new HttpError(400, 'Malformed', { cause: new Error('at /srv/app.js:7') })
    expect(JSON.stringify(toErrorResponse(error, problem))).not.toContain('srv')
  })

  it('refuses headers that cannot be sent', () => {
    const error = new HttpError(400, 'x', { headers: { 'X-A': 'a\r\nb' } })
    expect(() => toErrorResponse(error, undefined)).toThrow(
      'Header "X-A": the value contains CR or LF',
    )
  })

  it('makes an RFC 9457 body that also has error', () => {
    const errors = [{ path: 'price', code: 'min', message: 'price must not be less than 0' }]
    const error = new HttpError(400, 'price must not be less than 0', { errors, code: 'INVALID' })
    const response = toErrorResponse(error, problem)
    expect(response.headers).toEqual(['Content-Type', problem])
    expect(JSON.parse(response.body)).toEqual({
      type: 'about:blank',
      title: 'Bad request',
      status: 400,
      detail: 'price must not be less than 0',
      code: 'INVALID',
      error: 'price must not be less than 0',
      errors,
    })
  })

  it('masks an RFC 9457 body, too', () => {
    expect(JSON.parse(toErrorResponse(new Error('secret'), problem).body)).toEqual({
      type: 'about:blank',
      title: 'Internal server error',
      status: 500,
      detail: 'Internal server error',
      code: 'INTERNAL_SERVER_ERROR',
      error: 'Internal server error',
    })
  })

  it.each([
    [undefined, false],
    ['*/*', false],
    ['application/json', false],
    ['application/*', false],
    ['application/problem+json', true],
    ['Application/Problem+JSON', true],
    ['application/problem+json;q=0', false],
    ['application/problem+json; q=0.5', true],
    ['application/problem+json;q=x', true],
    ['text/html, application/problem+json;charset=utf-8;q=0.9, */*;q=0.1', true],
    ['application/json, application/problem+json', true],
    ['application/json, application/problem+json;q=0.5', false],
    ['application/json;q=0.4, application/problem+json;q=0.5', true],
    ['application/problem+jsonx', false],
    ['application/problem+xml', false],
  ])('Accept %p requests problem+json: %p', (accept, expected) => {
    const { headers } = toErrorResponse(new HttpError(404), accept)
    expect(headers[1] === problem).toBe(expected)
  })
})
