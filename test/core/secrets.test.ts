import { describe, expect, it } from '@jest/globals'
import { withoutPasswords } from '../../src/core/secrets.js'

describe('passwords in addresses', () => {
  it.each([
    ['postgres://desk:p%40ss@host/desk', 'postgres://desk:…@host/desk'],
    [
      'to postgres://desk:a:b@c@host:5432/desk failed',
      'to postgres://desk:…@host:5432/desk failed',
    ],
    [
      '?direct=postgres%3A%2F%2Fdesk%3Asecret%40host%2Fdesk',
      '?direct=postgres%3A%2F%2Fdesk%3A…%40host%2Fdesk',
    ],
    ['postgres://host/desk?user=a&password=b&x=1', 'postgres://host/desk?user=a&password=…&x=1'],
    ['http://localhost:3000/a@b', 'http://localhost:3000/a@b'],
  ])('%s', (text, redacted) => {
    expect(withoutPasswords(text)).toBe(redacted)
  })
})
