import { describe, expect, it } from '@jest/globals'
import { HttpError } from '../../src/index.js'
import { createCors, findCorsProblems } from '../../src/http/cors.js'
import { respondOnce, corsOf, corsPairs } from './responder-server.js'
import { fakeRequest, type ServerRequest } from './fake-request.js'

function from(origin?: string): ServerRequest {
  const headers: [string, string][] = origin === undefined ? [] : [['Origin', origin]]
  return fakeRequest({ headers })
}

describe('createCors', () => {
  it('allows every origin with one fixed list', () => {
    const cors = createCors()
    expect(cors.headersFor(from('https://a.example'))).toBe(cors.fixed)
    expect(cors.fixed?.flat).toEqual([
      'Access-Control-Allow-Origin',
      '*',
      'Access-Control-Allow-Methods',
      'GET, POST, PUT, PATCH, DELETE, OPTIONS',
      'Access-Control-Allow-Headers',
      'Origin, X-Requested-With, Content-Type, Accept, Authorization',
      'Access-Control-Expose-Headers',
      'FreshToken',
    ])
  })

  it('adds the lifetime to preflight responses', () => {
    const cors = createCors({ maxAge: 60 })
    expect(cors.preflightHeaders(from()).flat).toEqual([
      ...cors.fixed!.flat,
      'Access-Control-Max-Age',
      '60',
    ])
    expect(createCors().preflightHeaders(from()).flat.slice(-2)).toEqual([
      'Access-Control-Max-Age',
      '86400',
    ])
  })

  it('exposes and allows additional headers', () => {
    const cors = createCors({ exposedHeaders: ['X-Total-Count'], allowedHeaders: ['X-App'] })
    expect(cors.fixed?.flat).toContain('FreshToken, X-Total-Count')
    expect(cors.fixed?.flat).toContain(
      'Origin, X-Requested-With, Content-Type, Accept, Authorization, X-App',
    )
  })

  it.each(['https://shop.example', 'http://localhost:5173'])(
    'names the listed origin %s',
    (origin) => {
      const cors = createCors({ origins: ['https://Shop.example:443', 'http://localhost:5173'] })
      expect(cors.fixed).toBeUndefined()
      for (const list of [cors.headersFor(from(origin)), cors.preflightHeaders(from(origin))]) {
        expect(list.flat.slice(0, 2)).toEqual(['Access-Control-Allow-Origin', origin])
        expect(list.get('Vary')).toBe('Origin')
      }
    },
  )

  it.each([
    undefined,
    'https://evil.example',
    'https://shop.example.evil.example',
    'null',
    '__proto__',
  ])('names no origin for %s, and sends Vary nevertheless', (origin) => {
    const cors = createCors({ origins: ['https://shop.example'] })
    for (const list of [cors.headersFor(from(origin)), cors.preflightHeaders(from(origin))]) {
      expect(list.has('Access-Control-Allow-Origin')).toBe(false)
      expect(list.get('Vary')).toBe('Origin')
    }
  })
})

describe('CORS on responses', () => {
  it.each([200, 204, 302, 304])('Authentication 8: sends the headers with %d', async (status) => {
    const response = await respondOnce({
      handle: (request, responder) => {
        responder.send(request, status === 200 ? 'x' : null, { status, notFoundWhenEmpty: false })
      },
    })
    expect(response.status).toBe(status === 200 ? 200 : status)
    expect(corsOf(response)).toEqual(corsPairs)
  })

  it.each([400, 401, 404, 405, 413, 500, 503])(
    'Authentication 8: sends the headers with %d',
    async (status) => {
      const response = await respondOnce({
        handle: (request, responder) => {
          responder.fail(request, new HttpError(status))
        },
      })
      expect(response.status).toBe(status)
      expect(corsOf(response)).toEqual(corsPairs)
    },
  )

  it('depends on the request where origins are listed', async () => {
    const response = await respondOnce(
      {
        cors: { origins: ['https://shop.example'] },
        handle: (request, responder) => {
          responder.send(request, { id: 7 }, { status: 200, notFoundWhenEmpty: false })
        },
      },
      { headers: { origin: 'https://shop.example' } },
    )
    expect(response.headers['access-control-allow-origin']).toBe('https://shop.example')
    expect(response.headers['vary']).toBe('Origin')
    expect(response.text).toBe('{"id":7}')
  })
})

describe('findCorsProblems', () => {
  it.each([
    {},
    { origins: '*' as const, maxAge: 0 },
    { origins: ['https://a.example', 'http://[::1]:3000', 'app://localhost'] },
    { exposedHeaders: ['X-Total-Count'], allowedHeaders: ['X-App'] },
  ])('accepts %j', (options) => {
    expect(findCorsProblems(options)).toEqual([])
  })

  it.each([
    [{ origins: ['*'] }, 'Option cors.origins: "*" is not an origin.'],
    [
      { origins: ['https://a.example/'] },
      'Option cors.origins: "https://a.example/" is not an origin.',
    ],
    [{ origins: ['a.example'] }, 'Option cors.origins: "a.example" is not an origin.'],
    [{ origins: ['null'] }, 'Option cors.origins: "null" is not an origin.'],
    [
      { origins: ['https://*.example'] },
      'Option cors.origins: "https://*.example" is not an origin.',
    ],
    [{ origins: ['https://a\r\nb'] }, 'Option cors.origins: "https://a\r\nb" is not an origin.'],
    [{ origins: 'https://a' as '*' }, 'Option cors.origins: "https://a" is not a list.'],
    [{ maxAge: -1 }, 'Option cors.maxAge: -1 is not a number of seconds.'],
    [{ maxAge: 1.5 }, 'Option cors.maxAge: 1.5 is not a number of seconds.'],
    [{ exposedHeaders: ['X A'] }, 'Option cors.exposedHeaders: "X A" is not a header name.'],
    [
      { exposedHeaders: 'X-Total' as unknown as string[] },
      'Option cors.exposedHeaders: "X-Total" is not a list.',
    ],
    [{ allowedHeaders: ['a\r\nb'] }, 'Option cors.allowedHeaders: "a\r\nb" is not a header name.'],
  ])('refuses %j', (options, message) => {
    const problems = findCorsProblems(options)
    expect(problems.map((problem) => problem.message)).toEqual([message])
    expect(problems[0]?.code).toBe('INVALID_CORS')
    expect(problems[0]?.remedy).not.toBe('')
  })

  it('refuses unknown options with a suggestion', () => {
    const [problem] = findCorsProblems({ origin: '*' } as object)
    expect(problem).toMatchObject({
      code: 'UNKNOWN_OPTION',
      message: 'Option cors: unknown option "origin".',
    })
    expect(problem?.remedy).toContain('Did you mean "origins"?')
  })
})
