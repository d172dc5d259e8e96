import { describe, expect, it } from '@jest/globals'
import fc from 'fast-check'
import { Redactor } from '../../src/serving/redaction/redactor.js'
import { withoutPasswords } from '../../src/core/secrets.js'
import { passwords, tokens } from './random-secrets.js'

describe('a redactor', () => {
  const plainRedactor = new Redactor()

  it.each([
    'Error: x\n    at Work.tell (/home/ann/desk/src/auth/token.ts:12:5)\n    at async file:///home/ann/desk/src/session.ts:1:1',
    'UNIQUE constraint failed: account.email',
    'duplicate key value violates unique constraint "account_email_key"',
    'Key (email)=(ann@desk.example) already exists.',
    "Cannot read properties of undefined (reading 'passwordHash')",
    'The token is missing; a password must have 8 characters',
    'code: ECONNREFUSED',
    'Contract.code: pattern /^(a+)+$/ can take very long on hostile text. Do not repeat what already repeats.',
    'Filigree cannot start: 1 problem\n 1 User.password: unknown kind "text". Use one of: string, integer.',
    'Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/147.0.0.0 Safari/537.36',
    '/api/tickets/7/comments/how-to-write-a-good-slug-2024',
    'migrations/20260101000000_first.postgres.sql at 2026-11-23T01:33:39.000Z',
    'http://auth.desk.example:3000/sessions',
  ])('does not change %j', (line) => {
    expect(plainRedactor.text(line)).toBe(line)
  })

  it.each([
    '/caf%C3%A9/%3Cscript%3Ealert(1)%3C%2Fscript%3E?q=a%20b+c',
    '/tickets?status.eq=open&orderBy=-id',
    '/auth/login',
    '/files/report-2026.pdf',
  ])('does not change the address %s', (url) => {
    expect(plainRedactor.url(url)).toBe(url)
  })

  it('does not change a redacted text', () => {
    const texts = fc.oneof(
      fc.string(),
      fc.json(),
      tokens,
      passwords.map((one) => `token: ${one}`),
    )
    fc.assert(
      fc.property(texts, (text) => {
        const redacted = plainRedactor.text(text)
        expect(plainRedactor.text(redacted)).toBe(redacted)
      }),
      { seed: 7, numRuns: 300 },
    )
  })
})

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
