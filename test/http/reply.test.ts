import { describe, expect, it } from '@jest/globals'
import { html, redirect, type RedirectStatus, reply } from '../../src/index.js'

describe('reply', () => {
  it('keeps body and status', () => {
    const result = reply({ id: 7 }, 201)
    expect(result.body).toEqual({ id: 7 })
    expect(result.status).toBe(201)
  })

  it('uses the status of the route when none is given', () => {
    expect(reply('x').status).toBeUndefined()
    expect(reply().body).toBeNull()
  })

  it.each([0, 99, 100, 199, 600, 200.5, Number.NaN])('refuses the status %p', (status) => {
    expect(() => reply(null, status)).toThrow(
      new RangeError(`reply: ${status} is not a response status. Use 200 to 599.`),
    )
  })
})

describe('header', () => {
  it('collects names and values in order and chains', () => {
    const result = reply(1).header('X-Shelf', '3').header('X-Count', 12)
    expect(result.headers.flat).toEqual(['X-Shelf', '3', 'X-Count', '12'])
  })

  it('replaces a header of the same name, in any case', () => {
    const result = reply(1).header('X-A', '1').header('X-B', '2').header('x-a', '3')
    expect(result.headers.flat).toEqual(['x-a', '3', 'X-B', '2'])
  })

  it.each(['Set-Cookie', 'Vary', 'Link', 'WWW-Authenticate'])('allows repeated %s', (name) => {
    const result = reply(1).header(name, 'a').header(name, 'b')
    expect(result.headers.flat).toEqual([name, 'a', name, 'b'])
  })

  it.each([
    ['CR', 'a\rb', 'Header "X-Note": the value contains CR or LF. Take the line breaks out.'],
    ['LF', 'a\nSet-Cookie: x=1', 'contains CR or LF'],
    ['CRLF', 'a\r\n\r\n<script>', 'contains CR or LF'],
    ['NUL', 'a\0b', 'Header "X-Note": the value contains NUL. Take it out.'],
    ['another control character', 'a\x1bb', 'a character that no header can carry'],
    ['DEL', 'a\x7f', 'a character that no header can carry'],
    ['a character beyond U+00FF', 'a\u20ac', 'a character that no header can carry'],
  ])('refuses %s in a value and names the header', (_what, value, message) => {
    const attempt = () => reply(1).header('X-Note', value)
    expect(attempt).toThrow(TypeError)
    expect(attempt).toThrow(message)
    expect(attempt).toThrow('"X-Note"')
  })

  it.each(['', 'X Note', 'X:Note', 'X\r\nNote', 'X\0', 'Größe', '(x)'])(
    'refuses the name %j',
    (name) => {
      const attempt = () => reply(1).header(name, 'x')
      expect(attempt).toThrow(TypeError)
      expect(attempt).toThrow(`Header ${JSON.stringify(name)}: this is not a header name.`)
    },
  )

  it.each(['Transfer-Encoding', 'trailer'])('refuses %s, which depends on the body', (name) => {
    expect(() => reply(1).header(name, 'x')).toThrow('it is made from the body')
  })

  it('refuses CORS headers, which are set already', () => {
    expect(() => reply(1).header('Access-Control-Allow-Origin', 'https://a.example')).toThrow(
      "Set them in bootstrap's `cors`",
    )
  })

  it('accepts tabs and Latin letters', () => {
    expect(reply(1).header('X-Note', 'a\tü').headers.flat).toEqual(['X-Note', 'a\tü'])
  })

  it('uses Content-Type for the type and Content-Length for the length', () => {
    const result = reply(1).header('content-type', 'text/csv').header('CONTENT-LENGTH', 12)
    expect(result.headers.flat).toEqual([])
    expect(result.mediaType).toBe('text/csv')
    expect(result.length).toBe(12)
  })

  it.each(['-1', '1.5', 'x', '', '1, 1'])('refuses the length %j', (length) => {
    expect(() => reply(1).header('Content-Length', length)).toThrow(
      `Header "Content-Length": "${length}" is not a number of bytes. Give a whole number from 0.`,
    )
  })

  it('refuses a media type with line breaks', () => {
    expect(() => reply(1).type('text/html\r\nX: 1')).toThrow('Header "Content-Type"')
  })
})

describe('cookie', () => {
  it('is hidden from scripts and other sites by default', () => {
    expect(reply(1).cookie('theme', 'dark').headers.flat).toEqual([
      'Set-Cookie',
      'theme=dark; Path=/; HttpOnly; SameSite=Lax',
    ])
  })

  it('accepts options and encodes its value', () => {
    const result = reply(1).cookie('n', 'a b;\r\n', {
      httpOnly: false,
      sameSite: 'strict',
      maxAge: 60,
    })
    expect(result.headers.flat).toEqual([
      'Set-Cookie',
      'n=a%20b%3B%0D%0A; Max-Age=60; Path=/; SameSite=Strict',
    ])
  })

  it('may be set for several names', () => {
    expect(reply(1).cookie('a', '1').cookie('b', '2').headers.flat).toHaveLength(4)
  })

  it.each(['a b', 'a=b', '', 'a\r\nb'])('refuses the name %j', (name) => {
    expect(() => reply(1).cookie(name, 'x')).toThrow(TypeError)
  })

  it('refuses a path that would end the attribute', () => {
    expect(() => reply(1).cookie('a', 'x', { path: '/; Domain=evil.example' })).toThrow(TypeError)
  })
})

describe('freshToken', () => {
  it('is the header FreshToken', () => {
    expect(reply({ ok: true }).freshToken('abc').headers.flat).toEqual(['FreshToken', 'abc'])
  })
})

describe('html', () => {
  it('is text with its own type', () => {
    const result = html('<p>hi</p>', 201)
    expect(result.body).toBe('<p>hi</p>')
    expect(result.mediaType).toBe('text/html; charset=utf-8')
    expect(result.status).toBe(201)
  })
})

describe('redirect', () => {
  it('is 302 by default', () => {
    expect(redirect('/next')).toMatchObject({
      status: 302,
      headers: { flat: ['Location', '/next'] },
      body: null,
    })
    expect(redirect(new URL('https://a.example/x'), 308)).toMatchObject({
      status: 308,
      headers: { flat: ['Location', 'https://a.example/x'] },
    })
  })

  it.each([200, 300, 304, 305, 400])('refuses the status %d', (status) => {
    expect(() => redirect('/', status as RedirectStatus)).toThrow(
      new RangeError(`redirect: ${status} is not a redirect. Use 301, 302, 303, 307 or 308.`),
    )
  })

  it.each(['/a\r\nSet-Cookie: x=1', '/a\nb', '/a\rb', '/a\0b'])('refuses %j', (url) => {
    expect(() => redirect(url)).toThrow('Header "Location"')
  })

  it.each([
    ['/stra\u00dfe?q=\u20ac', '/stra%C3%9Fe?q=%E2%82%AC'],
    ['/a b', '/a%20b'],
    ['/%20x', '/%20x'],
    ['/\ud83c\udf0d', '/%F0%9F%8C%8D'],
    ['/\ud83c', '/%EF%BF%BD'],
  ])('writes %j in ASCII', (url, location) => {
    expect(redirect(url).headers.flat).toEqual(['Location', location])
  })
})
