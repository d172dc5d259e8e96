/** Source: decisions, Requests. Titles begin with the statement that they check. */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import type { Application } from '../../src/index.js'
import { exchange } from '../bootstrap/raw-client.js'
import { expectError } from './error-responses.js'
import { json, startBodies } from './body-application.js'

let app: Application

beforeAll(async () => {
  app = await startBodies()
})
afterAll(() => app.close())

describe('Requests, Head', () => {
  it('a URL over 8 KiB is 414, one of 8 KiB is not', async () => {
    expect((await app.inject(`/any?${'a'.repeat(8192 - 5)}`)).status).toBe(200)
    expectError(await app.inject(`/any?${'a'.repeat(8192 - 4)}`), 414, /longer than 8192 bytes/)
  })

  it.each(['gzip', 'br', 'deflate', 'identity, gzip', 'x'])(
    'Content-Encoding %s is 415',
    async (encoding) => {
      for (const type of [json, 'multipart/form-data; boundary=x', 'a/b']) {
        const headers = { 'content-type': type, 'content-encoding': encoding }
        const answer = await app.inject({ method: 'POST', url: '/any', headers, body: '{}' })
        expectError(answer, 415, /^Compressed bodies are not read/)
      }
    },
  )

  it('Content-Encoding identity is accepted', async () => {
    const headers = { 'content-type': json, 'content-encoding': 'Identity' }
    const answer = await app.inject({ method: 'POST', url: '/any', headers, body: '{}' })
    expect(answer.json()).toEqual({ body: {} })
  })

  it.each(['x@evil', 'a"><b>', 'a b', 'a/b', 'a\\b', 'a:b', '[::1', 'a?b', 'ä'])(
    'Host %s is 400',
    async (host) => {
      const answer = await exchange(
        app.url,
        `GET /any HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`,
      )
      expect(answer).toMatch(/^HTTP\/1\.1 400 /)
      expect(answer).toContain('The header Host is not the name of a server.')
    },
  )

  it.each(['gzip, chunked', 'GZIP,chunked'])(
    'Transfer-Encoding %s is 501, only chunked is read',
    async (coding) => {
      const head = `POST /any HTTP/1.1\r\nHost: a\r\nConnection: close\r\nContent-Type: ${json}`
      const body = '2\r\n{}\r\n0\r\n\r\n'
      const send = (value: string): Promise<string> =>
        exchange(app.url, `${head}\r\nTransfer-Encoding: ${value}\r\n\r\n${body}`)
      expect(await send(coding)).toMatch(/^HTTP\/1\.1 501 [^]*Transfer-Encoding may be chunked/)
      expect(await send('Chunked')).toMatch(/^HTTP\/1\.1 200 /)
    },
  )

  it.each(['', 'a', 'a:', 'a_b.example:8080', '127.0.0.1:1', '[::1]:80', 'xn--4ca', 'a%20b'])(
    'Host %s is accepted',
    async (host) => {
      expect((await app.inject({ url: '/any', headers: { host } })).status).toBe(200)
    },
  )

  it('Requests, headers: keys are lower-case', async () => {
    const answer = await app.inject({ url: '/who', headers: { 'X-Custom-Header': 'Ja' } })
    expect(answer.json()).toMatchObject({ custom: 'Ja' })
  })

  it('Requests, cookies: they are decoded, and the first one with a name is used', async () => {
    const cookie = 'a=1; b=%C3%A4; a=2; c=%ZZ; d="q"; e; __proto__=x; =y'
    const answer = await app.inject({ url: '/who', headers: { cookie } })
    expect(answer.status).toBe(200)
    expect(answer.json()).toMatchObject({ cookies: { a: '1', b: 'ä', c: '%ZZ' } })
  })
})

describe('Requests, GET and DELETE bodies', () => {
  it.each(['GET', 'HEAD'])(
    'Requests, GET/HEAD bodies: the body of %s is ignored',
    async (method) => {
      const malformed = `${method} /any HTTP/1.1\r\nHost: x\r\nContent-Type: ${json}\r\nContent-Length: 3\r\n\r\n{"a`
      const next = 'GET /who HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n'
      const answer = await exchange(app.url, malformed + next)
      expect(answer.match(/HTTP\/1\.1 \d{3}/g)).toEqual(['HTTP/1.1 200', 'HTTP/1.1 200'])
      expect(answer.includes('{"nothing":true}')).toBe(method === 'GET')
    },
  )

  it('Requests, DELETE bodies: they are read', async () => {
    const answer = await app.inject({ method: 'DELETE', url: '/any', json: { a: 1 } })
    expect(answer.json()).toEqual({ body: { a: 1 } })
    const malformed = { method: 'DELETE', url: '/any', headers: { 'content-type': json } }
    expectError(await app.inject({ ...malformed, body: '{' }), 400, /not valid JSON/)
  })
})

describe('Requests, request.ip', () => {
  const headers = { 'x-forwarded-for': '203.0.113.9, 10.0.0.1', 'x-forwarded-proto': 'https' }

  it('X-Forwarded-For is ignored', async () => {
    const answer = await app.inject({ url: '/who', headers })
    expect(answer.json()).toMatchObject({ ip: '127.0.0.1', secure: false })
  })

  it('X-Forwarded-For is used with trustProxy', async () => {
    await using trusting = await startBodies({ listen: false, trustProxy: true })
    const forwarded = await trusting.inject({ url: '/who', headers })
    expect(forwarded.json()).toMatchObject({ ip: '203.0.113.9', secure: true })
    const direct = await trusting.inject('/who')
    expect(direct.json()).toMatchObject({ ip: '127.0.0.1', secure: false })
  })
})
