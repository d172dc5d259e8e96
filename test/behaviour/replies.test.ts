/** Source: decisions, Responses. Titles begin with the statement that they check. */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { HttpError, redirect, reply, type Application } from '../../src/index.js'
import { exchange } from '../bootstrap/raw-client.js'
import { requestWith, setResult, startAnswers } from './result-application.js'

let app: Application

beforeAll(async () => {
  app = await startAnswers()
})
afterAll(() => app.close())

describe('Responses, reply', () => {
  it('status, headers, type, cookies and token are sent', async () => {
    const answer = await requestWith(
      app,
      reply({ a: 1 }, 201)
        .header('X-Shelf', '3')
        .type('application/vnd.shop+json')
        .cookie('theme', 'dark mode')
        .cookie('id', '7', { httpOnly: false, sameSite: 'strict', maxAge: 60 })
        .freshToken('t.o.k'),
    )
    expect(answer.status).toBe(201)
    expect(answer.headers).toMatchObject({
      'x-shelf': '3',
      'content-type': 'application/vnd.shop+json',
      freshtoken: 't.o.k',
      'set-cookie':
        'theme=dark%20mode; Path=/; HttpOnly; SameSite=Lax\nid=7; Max-Age=60; Path=/; SameSite=Strict',
    })
  })

  it.each([
    ['X-A', 'a\r\nX-Evil: 1'],
    ['X-A', 'a\nX-Evil: 1'],
    ['X-A', 'a\rX-Evil: 1'],
    ['X-A', 'a\0'],
    ['X-A\r\nX-Evil', '1'],
    ['X-A: 1\r\nX-Evil', '1'],
    ['Transfer-Encoding', 'chunked'],
    ['Access-Control-Allow-Origin', 'https://evil.example'],
  ])('Responses, CR or LF: the header %j: %j is refused', async (name, value) => {
    const answer = await requestWith(app, () => reply({}).header(name, value))
    expect([answer.status, answer.json()]).toEqual([
      500,
      { error: 'Internal server error', code: 'INTERNAL_SERVER_ERROR' },
    ])
    expect(answer.headers['x-evil']).toBeUndefined()
    expect(answer.headers['access-control-allow-origin']).toBe('*')
  })

  it.each<[string, () => unknown]>([
    ['type', () => reply({}).type('text/x\r\nX-Evil: 1')],
    ['cookie', () => reply({}).cookie('a\r\nX-Evil: 1', 'x')],
    ['freshToken', () => reply({}).freshToken('a\r\nX-Evil: 1')],
    ['redirect', () => redirect('/a\r\nX-Evil: 1')],
    [
      'the header of an error',
      () => {
        throw new HttpError(409, 'Taken.', { headers: { 'X-A': 'a\r\nX-Evil: 1' } })
      },
    ],
  ])('Responses, CR or LF: %s with CR or LF is refused', async (_, make) => {
    setResult(make)
    const answer = await exchange(
      app.url,
      'GET /given HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n',
    )
    expect(answer).toMatch(/^HTTP\/1\.1 500 /)
    expect(answer).not.toMatch(/x-evil/i)
  })

  it('Responses, cookie: CR and LF in a value are encoded', async () => {
    const answer = await requestWith(app, reply({}).cookie('a', 'x\r\nX-Evil: 1'))
    expect(answer.headers['set-cookie']).toBe(
      'a=x%0D%0AX-Evil%3A%201; Path=/; HttpOnly; SameSite=Lax',
    )
  })

  it.each([301, 302, 303, 307, 308] as const)('Responses, redirect: %d', async (status) => {
    const answer = await requestWith(app, redirect('/Grüße?a=b c', status))
    expect([answer.status, answer.headers.location, answer.body]).toEqual([
      status,
      '/Gr%C3%BC%C3%9Fe?a=b%20c',
      '',
    ])
  })

  it('Responses, events: text/event-stream', async () => {
    const answer = await app.inject('/events')
    expect(answer.headers).toMatchObject({
      'content-type': 'text/event-stream',
      'cache-control': 'no-cache',
    })
    expect(answer.body.replaceAll(':\n\n', '')).toBe(
      'data: hello\n\nevent: price\nid: 7\nretry: 100\ndata: {"eur":3}\n\n',
    )
  })
})
