import { describe, expect, it } from '@jest/globals'
import { matchesFormat, type FormatName } from './compiled.js'

describe('formats', () => {
  it.each<[FormatName, string[], string[]]>([
    [
      'email',
      ['a@b.co', "o'hara+x@sub.example.org", 'a.b@xn--bcher-kva.example'],
      [
        '',
        'a',
        '@b.co',
        'a@',
        'a@b',
        'a@b..co',
        '.a@b.co',
        'a..b@c.de',
        'a b@c.de',
        'a@b@c.de',
        'a@-b.co',
        `${'a'.repeat(65)}@b.co`,
        'a@b.co\n',
      ],
    ],
    [
      'url',
      [
        ...['http://a.co', 'https://a.co/x?y#z', 'HTTP://localhost:3000'],
        ...[`http://${'a'.repeat(63)}.co`, `http://${'b'.repeat(80)}@a.co/${'c'.repeat(80)}`],
        `http://a${'\u0301'.repeat(30)}.co`,
      ],
      [
        ...[`http://${'a'.repeat(64)}.co`, `http://x@xn--${'a'.repeat(60)}.co`],
        ...[`http://a${'\u0301'.repeat(64)}.co`, `http://a\u3002${'a'.repeat(64)}`],
        '',
        'a.co',
        'ftp://a.co',
        'javascript:alert(1)',
        'http://',
        'http:///x',
        'http://a b',
        'https:\\\\a',
      ],
    ],
    [
      'uuid',
      ['c0ffee00-0000-4000-8000-000000000000', 'C0FFEE00-0000-4000-8000-000000000000'],
      ['', 'c0ffee0000004000800000000000000', 'g0ffee00-0000-4000-8000-000000000000'],
    ],
    [
      'date',
      ['2026-11-20', '2024-02-29', '0001-01-01'],
      ['', '2026-02-29', '2026-1-1', '2026-11-20T00:00', '20.11.2026'],
    ],
    [
      'time',
      ['10:30', '10:30:00', '23:59:59.999Z', '10:30:00+02:00'],
      ['', '24:00', '10:60', '1:30', '10'],
    ],
    [
      'date-time',
      ['2026-11-20T10:00:00Z', '2026-11-20T10:00+02:00'],
      ['', '2026-11-20', '2026-11-20T25:00Z'],
    ],
    [
      'hostname',
      ['localhost', 'a-b.example.org'],
      ['', '-a', 'a-', 'a..b', 'a_b', `${'a'.repeat(64)}.de`],
    ],
    ['ipv4', ['127.0.0.1', '255.255.255.255'], ['', '256.0.0.1', '1.2.3', '01.2.3.4', '1.2.3.4.5']],
    [
      'ipv6',
      ['::1', '2001:db8::ff00:42:8329', '::ffff:1.2.3.4'],
      ['', '1.2.3.4', ':::', '2001::db8::1', 'g::1', '::1]'],
    ],
    ['slug', ['a', 'a-b-1'], ['', 'A', 'a--b', '-a', 'a-', 'a b']],
    ['phone', ['+4930123456'], ['', '4930123456', '+0123456', '+49 30 123456', '+12345']],
  ])('%s', (name, right, wrong) => {
    for (const text of right) expect([text, matchesFormat(name, text)]).toEqual([text, true])
    for (const text of wrong) expect([text, matchesFormat(name, text)]).toEqual([text, false])
  })
})
