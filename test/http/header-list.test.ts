import { describe, expect, it } from '@jest/globals'
import { HeaderList } from '../../src/http/header-list.js'

function listOf(...flat: string[]): HeaderList {
  return new HeaderList(flat)
}

describe('HeaderList', () => {
  it('finds headers in any case', () => {
    const headers = listOf('Link', '<a>', 'X-Note', '1', 'link', '<b>')
    expect(headers.first('LINK')).toBe('<a>')
    expect(headers.get('Link')).toBe('<a>, <b>')
    expect(headers.has('x-note')).toBe(true)
    expect(headers.get('Vary')).toBeUndefined()
  })

  it('sets a header in its place, and adds one that may occur more than once', () => {
    const headers = listOf('ETag', '"a"', 'Vary', 'Accept')
    headers.set('etag', '"b"')
    headers.set('Vary', 'Origin')
    expect(headers.flat).toEqual(['etag', '"b"', 'Vary', 'Accept', 'Vary', 'Origin'])
  })

  it('replaces and deletes all values', () => {
    const headers = listOf('Vary', 'Accept', 'X-Note', '1', 'vary', 'Origin', 'VARY', 'Cookie')
    headers.replace('Vary', '*')
    expect(headers.flat).toEqual(['X-Note', '1', 'Vary', '*'])
    headers.delete('vary')
    expect([...headers]).toEqual([['X-Note', '1']])
  })

  it('adds the headers that are missing, and cookies', () => {
    const headers = listOf('ETag', '"a"', 'Set-Cookie', 'a=1')
    headers.addMissing(listOf('etag', '"b"', 'Set-Cookie', 'b=2', 'Allow', 'GET'))
    const expected = ['ETag', '"a"', 'Set-Cookie', 'a=1', 'Set-Cookie', 'b=2', 'Allow', 'GET']
    expect(headers.flat).toEqual(expected)
  })

  it('collects only what is new in a list that it has collected', () => {
    const collected = listOf('Set-Cookie', 'a=1', 'X-Note', '1')
    const headers = new HeaderList()
    headers.collect(collected)
    headers.delete('X-Note')
    const copy = headers.copy()
    collected.add('Set-Cookie', 'b=2')
    copy.collect(collected)
    expect(copy.flat).toEqual(['Set-Cookie', 'a=1', 'Set-Cookie', 'b=2'])
  })

  it('collects all of another list', () => {
    const headers = new HeaderList()
    headers.collect(listOf('Set-Cookie', 'a=1'))
    headers.collect(listOf('Set-Cookie', 'c=3'))
    expect(headers.get('Set-Cookie')).toBe('a=1, c=3')
  })

  it('copies the headers of texts with a type and a length', () => {
    const texts = HeaderList.forTexts([['Allow', 'GET']])
    const expected = ['Content-Type', 'text/csv', 'Content-Length', '12', 'Allow', 'GET']
    expect(texts.copyForText('text/csv', 12).flat).toEqual(expected)
    expect(texts.first('Content-Length')).toBe('')
  })

  it('extends the last value of a header', () => {
    const headers = listOf('A', '1', 'A', '2')
    headers.extendLast('A', '3')
    headers.extendLast('B', '4')
    expect(headers.flat).toEqual(['A', '1', 'A', '2, 3'])
  })

  it('deletes headers by a pattern', () => {
    const headers = listOf('CDN-Cache-Control', 'x', 'Allow', 'GET', 'cdn-cache-control', 'y')
    headers.deleteMatching(/^cdn-/i)
    expect(headers.flat).toEqual(['Allow', 'GET'])
  })
})
