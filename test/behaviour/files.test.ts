/** Source: decisions, Responses. Titles begin with the statement that they check. */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import type { Application } from '../../src/index.js'
import { exchange } from '../bootstrap/raw-client.js'
import { startAnswers, textType } from './result-application.js'

let app: Application

beforeAll(async () => {
  app = await startAnswers()
})
afterAll(() => app.close())

describe('Responses, file', () => {
  it('type, ETag, Last-Modified and length are sent', async () => {
    const answer = await app.inject('/file/a.txt')
    expect([answer.status, answer.body]).toEqual([200, '0123456789'])
    expect(answer.headers).toMatchObject({
      'content-type': textType,
      'content-length': '10',
      'accept-ranges': 'bytes',
      'x-content-type-options': 'nosniff',
      etag: expect.stringMatching(/^W?\/?"/),
      'last-modified': expect.stringMatching(/GMT$/),
    })
    const page = await app.inject('/file/sub/page.html')
    expect(page.headers['content-type']).toBe('text/html; charset=utf-8')
  })

  it('a Range is 206, and one outside the file is 416', async () => {
    const part = await app.inject({ url: '/file/a.txt', headers: { range: 'bytes=2-4' } })
    expect([part.status, part.body, part.headers['content-range']]).toEqual([
      206,
      '234',
      'bytes 2-4/10',
    ])
    const none = await app.inject({ url: '/file/a.txt', headers: { range: 'bytes=99-' } })
    expect([none.status, none.json(), none.headers['content-range']]).toEqual([
      416,
      { error: 'Range not satisfiable', code: 'RANGE_NOT_SATISFIABLE' },
      'bytes */10',
    ])
  })

  it('an unchanged file is 304', async () => {
    const { headers } = await app.inject('/file/a.txt')
    const conditions: Record<string, string>[] = [
      { 'if-none-match': headers.etag! },
      { 'if-modified-since': headers['last-modified']! },
    ]
    for (const condition of conditions) {
      const answer = await app.inject({ url: '/file/a.txt', headers: condition })
      expect([answer.status, answer.body, answer.headers['content-type']]).toEqual([
        304,
        '',
        undefined,
      ])
    }
  })

  it.each([
    '/file/none.txt',
    '/file/sub',
    '/file/.env',
    '/file/link.txt',
    '/file/..%2f..%2fetc%2fpasswd',
    '/file/%2e%2e/%2e%2e/etc/hosts',
    '/file/../../../../etc/hosts',
    '/file/sub/../a.txt',
    '/file/./a.txt',
    '/file/..%5c..%5cetc%5chosts',
    '/file/%2fetc/hosts',
    '/file//etc/hosts',
    '/file/%252e%252e%252fetc',
    '/file/a.txt%2500',
    '/named?name=/etc/hosts',
    '/named?name=../../etc/hosts',
    '/named?name=a.txt%00',
    '/named?name=.env',
    '/named?name=',
    '/named?name=sub/',
    '/named?name=a.txt/',
  ])('%s is 404', async (url) => {
    const answer = await app.inject(url)
    expect([answer.status, answer.json()]).toEqual([404, { error: 'Not found', code: 'NOT_FOUND' }])
  })

  it('dot segments in a raw request do not lead out of the folder', async () => {
    const answer = await exchange(
      app.url,
      'GET /file/../../../../etc/hosts HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n',
    )
    expect(answer).toMatch(/^HTTP\/1\.1 404 [^]*\{"error":"Not found","code":"NOT_FOUND"\}$/)
  })
})
