import { mkdir, mkdtemp, rm, symlink, utimes, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, relative } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { file, reply } from '../../src/index.js'
import { respondBy, respondWith, corsOf, corsPairs, type SentRequest } from './responder-server.js'

/** The log line of a refused request. */
const refused = { level: 'debug', message: 'request refused' }

const digits = '0123456789'
let folder: string
let root: string

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'filigree-files-'))
  root = join(folder, 'public')
  await mkdir(join(root, 'sub', 'deep'), { recursive: true })
  await mkdir(join(root, '.git'))
  await mkdir(join(folder, 'public-not'))
  await mkdir(join(folder, '.hidden-root'))
  const files: [string, string][] = [
    ['digits.txt', digits],
    ['page.html', '<p>ü</p>'],
    ['data.json', '{}'],
    ['photo.png', 'png'],
    ['unknown.zzz', 'x'],
    ['noextension', 'x'],
    ['empty.txt', ''],
    ['.env', 'SECRET=1'],
    ['.git/config', 'secret'],
    ['index.html', 'index'],
    ['sub/index.html', 'sub'],
    ['sub/deep/a b ü%.txt', 'odd name'],
    ['..txt', 'dots'],
    ['../secret.txt', 'secret'],
    ['../public-not/secret.txt', 'secret'],
    ['../.hidden-root/a.txt', 'fine'],
  ]
  for (const [path, content] of files) await writeFile(join(root, path), content)
  await utimes(join(root, 'digits.txt'), new Date(0), new Date('2026-11-20T10:00:00Z'))
  await symlink(join(root, 'digits.txt'), join(root, 'inner-link.txt'))
  await symlink(join(folder, 'secret.txt'), join(root, 'outer-link.txt'))
  await symlink(join(folder, 'public-not'), join(root, 'outer-folder'))
  await symlink(join(root, '.env'), join(root, 'env-link.txt'))
  await symlink(join(root, 'loop'), join(root, 'loop'))
  await symlink(root, join(folder, 'linked-root'))
})

afterAll(() => rm(folder, { recursive: true }))

/** The CORS headers, which expose the tag and the range of a file where it has them. */
function exposing({ headers }: { headers: Readonly<Record<string, unknown>> }): unknown[] {
  const names = ['FreshToken']
  if (headers.etag !== undefined) names.push('ETag')
  if (headers['content-range'] !== undefined) names.push('Content-Range')
  return corsPairs.map(([name, value]) => [
    name,
    name === 'access-control-expose-headers' ? names.join(', ') : value,
  ])
}

function get(path: string, sent: SentRequest = {}) {
  return respondWith(file(path, { root }), sent)
}

describe('file', () => {
  it('sends a file with all caching headers', async () => {
    const response = await get('digits.txt')
    expect(response).toMatchObject({ status: 200, text: digits, complete: true, log: [] })
    expect(response.headers).toMatchObject({
      'content-type': 'text/plain; charset=utf-8',
      'content-length': '10',
      'last-modified': 'Fri, 20 Nov 2026 10:00:00 GMT',
      'accept-ranges': 'bytes',
      'cache-control': 'no-cache',
      'x-content-type-options': 'nosniff',
    })
    expect(response.headers['etag']).toMatch(/^(W\/)?".+"$/)
    expect(corsOf(response)).toEqual(exposing(response))
  })

  it.each([
    ['page.html', 'text/html; charset=utf-8'],
    ['data.json', 'application/json; charset=utf-8'],
    ['photo.png', 'image/png'],
    ['unknown.zzz', 'application/octet-stream'],
    ['noextension', 'application/octet-stream'],
  ])('detects the media type of %s', async (path, type) => {
    const response = await get(path)
    expect(response.status).toBe(200)
    expect(response.headers['content-type']?.toLowerCase()).toBe(type)
  })

  it('sends empty files', async () => {
    const response = await get('empty.txt')
    expect(response).toMatchObject({ status: 200, text: '', complete: true })
    expect(response.headers['content-length']).toBe('0')
  })

  it('finds names with spaces, letters and percent signs', async () => {
    expect((await get('sub/deep/a b ü%.txt')).text).toBe('odd name')
  })

  it('follows links inside the root', async () => {
    expect((await get('inner-link.txt')).text).toBe(digits)
    const linked = await respondWith(file('digits.txt', { root: join(folder, 'linked-root') }))
    expect(linked.text).toBe(digits)
  })

  it('resolves the root from the working directory, hidden or not', async () => {
    const hidden = relative(process.cwd(), join(folder, '.hidden-root'))
    expect((await respondWith(file('a.txt', { root: hidden }))).text).toBe('fine')
  })

  it('lets the reply override headers and type', async () => {
    const replied = file('digits.txt', { root })
      .type('text/markdown')
      .header('Cache-Control', 'public, max-age=60')
      .header('Content-Disposition', 'attachment')
    const response = await respondWith(replied)
    expect(response.headers).toMatchObject({
      'content-type': 'text/markdown',
      'cache-control': 'public, max-age=60',
      'content-disposition': 'attachment',
      'content-length': '10',
    })
  })

  it('answers HEAD with the same head, without a body', async () => {
    const complete = await get('digits.txt')
    const head = await get('digits.txt', { method: 'HEAD' })
    expect(head).toMatchObject({ status: 200, text: '' })
    expect({ ...head.headers, date: '' }).toEqual({ ...complete.headers, date: '' })
  })
})

describe('a file that a browser would execute', () => {
  const harmless = {
    'content-disposition': 'attachment',
    'content-security-policy': "sandbox; default-src 'none'",
    'x-content-type-options': 'nosniff',
  }

  it.each([
    'page.html',
    'page.htm',
    'page.xhtml',
    'a.svg',
    'a.xml',
    'a.rss',
    'a.js',
    'a.mjs',
    'a.pdf',
    'a.xsl',
  ])('is saved and sandboxed: %s', async (name) => {
    await writeFile(join(root, name), '<p>a')
    expect((await get(name)).headers).toMatchObject(harmless)
    expect((await get(name, { method: 'HEAD' })).headers).toMatchObject(harmless)
    expect((await get(name, { headers: { range: 'bytes=0-1' } })).headers).toMatchObject(harmless)
  })

  it.each(['digits.txt', 'data.json', 'photo.png', 'unknown.zzz', 'noextension'])(
    'is not one of the inline types: %s',
    async (name) => {
      const { headers } = await get(name)
      expect(headers['x-content-type-options']).toBe('nosniff')
      expect(headers).not.toHaveProperty('content-disposition')
      expect(headers).not.toHaveProperty('content-security-policy')
    },
  )

  it('is recognized by the type of the reply', async () => {
    const { headers } = await respondWith(
      file('noextension', { root }).type('Text/HTML; charset=x'),
    )
    expect(headers).toMatchObject(harmless)
  })

  it('is displayed with inline: true', async () => {
    const { headers } = await respondWith(file('page.html', { root, inline: true }))
    expect(headers['x-content-type-options']).toBe('nosniff')
    expect(headers).not.toHaveProperty('content-disposition')
    expect(headers).not.toHaveProperty('content-security-policy')
  })
})

describe('the name of a download', () => {
  const plain = (name: string) => `attachment; filename="${name}"; filename*=UTF-8''${name}`

  it.each([
    ['report.csv', plain('report.csv')],
    [
      'Übersicht €.csv',
      `attachment; filename="Ubersicht _.csv"; filename*=UTF-8''%C3%9Cbersicht%20%E2%82%AC.csv`,
    ],
    ['a"b\\c%d.txt', `attachment; filename="c_d.txt"; filename*=UTF-8''c%25d.txt`],
    [
      `it's (1)*.txt`,
      `attachment; filename="it's (1)*.txt"; filename*=UTF-8''it%27s%20%281%29%2A.txt`,
    ],
    ['../../a\r\nX-Evil: 1', `attachment; filename="aX-Evil: 1"; filename*=UTF-8''aX-Evil%3A%201`],
    ['\ud800.txt', `attachment; filename="_.txt"; filename*=UTF-8''%EF%BF%BD.txt`],
    ['日本.txt', `attachment; filename="__.txt"; filename*=UTF-8''%E6%97%A5%E6%9C%AC.txt`],
  ])('%j is written in both forms', async (name, header) => {
    const download = await respondWith(file('digits.txt', { root, download: name }))
    expect([download.status, download.headers['content-disposition']]).toEqual([200, header])
    const replied = await respondWith(reply('a;b').type('text/csv').download(name))
    expect([replied.status, replied.headers['content-disposition']]).toEqual([200, header])
  })

  it('keeps the policy of a page that is saved', async () => {
    const { headers } = await respondWith(file('page.html', { root, download: 'a.html' }))
    expect(headers['content-disposition']).toBe(plain('a.html'))
    expect(headers['content-security-policy']).toBe("sandbox; default-src 'none'")
  })
})

describe('a missing file', () => {
  it.each([
    ['a missing file', 'nothing.txt'],
    ['nothing at all', ''],
    ['the root', '.'],
    ['a way up', '../secret.txt'],
    ['a way up in the middle', 'sub/../../secret.txt'],
    ['a way up and back', 'sub/../digits.txt'],
    ['a way up at the end', 'sub/..'],
    ['a neighbour with the same beginning', '../public-not/secret.txt'],
    ['an encoded way up', '%2e%2e/secret.txt'],
    ['an encoded separator', '..%2fsecret.txt'],
    ['an encoded backslash', 'sub%5Cindex.html'],
    ['a backslash', 'sub\\index.html'],
    ['a way up by backslashes', '..\\secret.txt'],
    ['an absolute path', '/etc/passwd'],
    ['an absolute path behind slashes', '//etc/passwd'],
    ['an empty part', 'sub//index.html'],
    ['a slash at the end', 'digits.txt/'],
    ['a path through a file', 'digits.txt/x'],
    ['NUL', 'digits.txt\0.png'],
    ['an encoded NUL', 'digits.txt%00'],
    ['a hidden file', '.env'],
    ['a file in a hidden folder', '.git/config'],
    ['a name that begins with dots', '..txt'],
    ['a dot as a part', './digits.txt'],
    ['a folder', 'sub'],
    ['a folder with an index', 'sub/'],
    ['a link out', 'outer-link.txt'],
    ['a file behind a linked folder', 'outer-folder/secret.txt'],
    ['a link to a hidden file', 'env-link.txt'],
    ['a link to itself', 'loop'],
    ['a name that is too long', 'x'.repeat(5000)],
  ])('is 404 for %s', async (_what, path) => {
    const response = await get(path)
    expect(response).toMatchObject({
      status: 404,
      text: '{"error":"Not found","code":"NOT_FOUND"}',
      log: [refused],
    })
    expect(response.headers['content-type']).toBe('application/json; charset=utf-8')
    expect(response.headers['cache-control']).toBeUndefined()
    expect(corsOf(response)).toEqual(exposing(response))
  })

  it('is 404 where the root is missing', async () => {
    const response = await respondWith(file('a.txt', { root: join(folder, 'nowhere') }))
    expect(response).toMatchObject({
      status: 404,
      text: '{"error":"Not found","code":"NOT_FOUND"}',
    })
  })
})

describe('ranges', () => {
  it.each([
    ['bytes=0-3', '0123', 'bytes 0-3/10'],
    ['bytes=3-3', '3', 'bytes 3-3/10'],
    ['bytes=7-', '789', 'bytes 7-9/10'],
    ['bytes=-2', '89', 'bytes 8-9/10'],
    ['bytes=8-99', '89', 'bytes 8-9/10'],
    ['bytes=-99', digits, 'bytes 0-9/10'],
  ])('%s returns a part', async (range, text, contentRange) => {
    const response = await get('digits.txt', { headers: { range } })
    expect(response).toMatchObject({ status: 206, text, complete: true })
    expect(response.headers).toMatchObject({
      'content-range': contentRange,
      'content-length': String(text.length),
    })
    expect(corsOf(response)).toEqual(exposing(response))
  })

  it.each(['bytes=10-', 'bytes=99-100', 'bytes=-0'])('%s is not satisfiable', async (range) => {
    const response = await get('digits.txt', { headers: { range } })
    expect(response).toMatchObject({
      status: 416,
      text: '{"error":"Range not satisfiable","code":"RANGE_NOT_SATISFIABLE"}',
    })
    expect(response.headers['content-range']).toBe('bytes */10')
    expect(response.headers['content-type']).toBe('application/json; charset=utf-8')
  })

  it.each(['items=0-3', 'bytes=0-1,4-5'])('%s returns the complete file', async (range) => {
    const response = await get('digits.txt', { headers: { range } })
    expect(response).toMatchObject({ status: 200, text: digits })
  })

  it('works for GET only', async () => {
    const head = await get('digits.txt', { method: 'HEAD', headers: { range: 'bytes=0-3' } })
    expect(head).toMatchObject({ status: 200, text: '' })
    expect(head.headers['content-length']).toBe(String(digits.length))
    const post = await get('digits.txt', { method: 'POST', headers: { range: 'bytes=0-3' } })
    expect(post).toMatchObject({ status: 200, text: digits })
  })

  it('returns the complete file when it has changed since', async () => {
    const headers = { range: 'bytes=0-3', 'if-range': '"another"' }
    expect(await get('digits.txt', { headers })).toMatchObject({ status: 200, text: digits })
  })

  it('does not resume for a weak ETag, but for a date', async () => {
    const { etag, 'last-modified': date } = (await get('digits.txt')).headers
    expect(etag).toMatch(/^W\//)
    for (const tag of [etag!, etag!.slice(2), `${etag!}, "other"`]) {
      const headers = { range: 'bytes=0-3', 'if-range': tag }
      expect(await get('digits.txt', { headers })).toMatchObject({ status: 200, text: digits })
    }
    const headers = { range: 'bytes=0-3', 'if-range': date! }
    expect((await get('digits.txt', { headers })).status).toBe(206)
  })
})

describe('conditions', () => {
  it('is 304 for a known ETag, without body and type', async () => {
    const { etag } = (await get('digits.txt')).headers
    const headers = { 'if-none-match': etag! }
    const response = await get('digits.txt', { headers })
    expect(response).toMatchObject({ status: 304, text: '' })
    expect(response.headers['etag']).toBe(etag)
    expect(response.headers['content-type']).toBeUndefined()
    expect(response.headers['content-length']).toBeUndefined()
    expect(corsOf(response)).toEqual(exposing(response))
  })

  it.each([
    ['if-modified-since', 'Fri, 20 Nov 2026 10:00:00 GMT', 304],
    ['if-modified-since', 'Fri, 20 Nov 2026 09:59:59 GMT', 200],
    ['if-modified-since', 'nonsense', 200],
    ['if-none-match', '"other"', 200],
    ['if-none-match', '*', 304],
    ['if-match', '"other"', 412],
    ['if-unmodified-since', 'Fri, 20 Nov 2026 09:59:59 GMT', 412],
  ])('%s: %s is %d', async (name, value, status) => {
    const response = await get('digits.txt', { headers: { [name]: value } })
    expect(response.status).toBe(status)
    if (status === 412)
      expect(response.text).toBe('{"error":"Precondition failed","code":"PRECONDITION_FAILED"}')
  })

  it('if-match: a weak ETag does not match, and * does', async () => {
    const { etag } = (await get('digits.txt')).headers
    for (const tag of [etag!, etag!.slice(2)]) {
      expect((await get('digits.txt', { headers: { 'if-match': tag } })).status).toBe(412)
    }
    expect((await get('digits.txt', { headers: { 'if-match': '*' } })).status).toBe(200)
  })
})

describe('a file whose time does not tell versions apart', () => {
  it.each([
    ['the first second of 1970 (Nix, jib)', new Date(1000)],
    ['the first second of ZIP (Bazel)', new Date('1980-01-01T00:00:00Z')],
    ['a time in the future', new Date('2126-01-01T00:00:00Z')],
  ])('gets a tag that the content decides: %s', async (_title, time) => {
    const write = async (content: string): Promise<void> => {
      await writeFile(join(root, 'release.js'), content)
      await utimes(join(root, 'release.js'), time, time)
    }
    await write('version(1)')
    const first = await get('release.js')
    const known = { 'if-none-match': first.headers.etag! }
    expect(first.headers['last-modified']).toBeUndefined()
    expect(await get('release.js', { headers: known })).toMatchObject({ status: 304, text: '' })
    await write('version(2)')
    const second = await get('release.js', { headers: known })
    expect(second).toMatchObject({ status: 200, text: 'version(2)' })
    expect(second.headers.etag).not.toBe(first.headers.etag)
    const since = { 'if-modified-since': new Date().toUTCString() }
    expect((await get('release.js', { headers: since })).status).toBe(200)
    const resumed = { range: 'bytes=2-3', 'if-range': new Date().toUTCString() }
    expect(await get('release.js', { headers: resumed })).toMatchObject({
      status: 200,
      text: 'version(2)',
    })
    expect(await get('release.js', { headers: { range: 'bytes=0-6' } })).toMatchObject({
      status: 206,
      text: 'version',
    })
    const otherTag = { 'if-match': '"other"' }
    expect((await get('release.js', { headers: otherTag })).status).toBe(412)
    expect((await get('release.js', { headers: { 'if-match': '*' } })).status).toBe(200)
  })

  it('gets the same tag on each machine', async () => {
    for (const name of ['here.js', 'there.js']) {
      await writeFile(join(root, name), 'one version')
      await utimes(join(root, name), new Date(1000), new Date(1000))
    }
    const [here, there] = [await get('here.js'), await get('there.js')]
    expect(here.headers.etag).toBe(there.headers.etag)
  })
})

describe('a file that is served concurrently', () => {
  it('is complete for each client', async () => {
    await writeFile(join(root, 'large.bin'), Buffer.alloc(1_000_000, 'x'))
    const responses = await Promise.all(
      Array.from({ length: 5 }, () => respondBy(() => file('large.bin', { root }))),
    )
    for (const response of responses) {
      expect(response.complete).toBe(true)
      expect(response.bytes).toHaveLength(1_000_000)
    }
  })
})
