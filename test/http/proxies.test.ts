/** Source: decisions, Requests; docs/configuration.md, "Behind a proxy". */
import { describe, expect, it } from '@jest/globals'
import { createMemoryLog } from './responder-server.js'
import { fakeRequest } from './fake-request.js'

function ipOf(trustProxy: boolean | number, forwarded: string, remoteAddress = '10.9.9.9'): string {
  const headers: [string, string][] = [['X-Forwarded-For', forwarded]]
  return fakeRequest({ headers, remoteAddress }, { trustProxy }).ip
}

function seenBy(
  trustProxy: boolean | number,
  headers: [string, string][],
): { readonly ip: string; readonly secure: boolean } {
  const { ip, secure } = fakeRequest({ headers, remoteAddress: '10.9.9.9' }, { trustProxy })
  return { ip, secure }
}

describe('Forwarded of RFC 7239', () => {
  it.each<[boolean | number, string, string, boolean]>([
    [false, 'for=192.0.2.60;proto=https', '10.9.9.9', false],
    [1, 'for=192.0.2.60;proto=https;by=203.0.113.43', '192.0.2.60', true],
    [1, 'For="[2001:db8:cafe::17]:4711"', '2001:db8:cafe::17', false],
    [1, 'for=192.0.2.43:47011', '192.0.2.43', false],
    [1, 'for="192.0.2.43:47011"; proto="https"', '192.0.2.43', true],
    [1, 'for=6.6.6.6, for=198.51.100.17', '198.51.100.17', false],
    [2, 'for=6.6.6.6, for="198.51.100.17";host="a,b;c", for=10.0.0.1', '198.51.100.17', false],
    [true, 'for=192.0.2.43, for=198.51.100.17', '192.0.2.43', false],
    [1, 'for=unknown', '10.9.9.9', false],
    [1, 'for=_SEVKISEK', '10.9.9.9', false],
    [1, 'proto=https', '10.9.9.9', true],
    [1, '"', '10.9.9.9', false],
    [1, '"";for=192.0.2.60', '192.0.2.60', false],
    [1, 'for=6.6.6.6;proto=https;x=", for="[2001:db8::9]"', '2001:db8::9', false],
    [2, 'for=6.6.6.6;x=", for="[2001:db8::9]", for=10.0.0.1', '2001:db8::9', false],
    [1, 'for=6.6.6.6;x=", for=198.51.100.17', '198.51.100.17', false],
    [1, 'for=6.6.6.6;x="\\", for="198.51.100.17"', '198.51.100.17', false],
    [1, 'for="198.51.100.17";host="a\\",for=6.6.6.6;b\\\\"', '198.51.100.17', false],
  ])('with trustProxy %s and %j is %s', (trustProxy, forwarded, ip, secure) => {
    expect(seenBy(trustProxy, [['Forwarded', forwarded]])).toEqual({ ip, secure })
  })

  it('logs nothing where the proxy writes X-Forwarded-For', () => {
    const headers: [string, string][] = [
      ['Forwarded', 'for=6.6.6.6'],
      ['X-Forwarded-For', '198.51.100.1'],
    ]
    expect(seenBy(1, headers).ip).toBe('198.51.100.1')
  })
})

it('logs once that a proxy forwards no address', () => {
  const log = createMemoryLog()
  const settings = { trustProxy: 1, log }
  for (const entry of ['unknown', 'x'.repeat(500), '198.51.100.1']) {
    const headers: [string, string][] = [['X-Forwarded-For', entry]]
    const request = fakeRequest({ headers }, settings)
    expect([request.ip, request.ip]).toHaveLength(2)
  }
  expect(log.entries).toEqual([
    expect.objectContaining({ level: 'warn', details: { entry: 'unknown' } }),
  ])
})

describe('request.ip behind proxies', () => {
  it.each<[boolean | number, string, string]>([
    [false, '198.51.100.1', '10.9.9.9'],
    [0, '198.51.100.1', '10.9.9.9'],
    [1, '198.51.100.1', '198.51.100.1'],
    [1, '6.6.6.6, 198.51.100.1', '198.51.100.1'],
    [2, '6.6.6.6, 198.51.100.1, 10.0.0.1', '198.51.100.1'],
    [2, '198.51.100.1', '198.51.100.1'],
    [true, '6.6.6.6, 198.51.100.1', '6.6.6.6'],
    [1, '198.51.100.1, unknown', '10.9.9.9'],
    [true, 'garbage, 198.51.100.1', '10.9.9.9'],
    [1, '', '10.9.9.9'],
    [1, '198.51.100.1,', '10.9.9.9'],
    [1, '2001:db8::1', '2001:db8::1'],
    [1, '::ffff:198.51.100.1', '198.51.100.1'],
    [1, '198.51.100.1 ', '198.51.100.1'],
    [1, '198.51.100.1:443', '198.51.100.1'],
    [1, '203.0.113.8:61598', '203.0.113.8'],
    [1, '6.6.6.6, 203.0.113.8:61598', '203.0.113.8'],
    [1, '[2001:db8::1]:443', '2001:db8::1'],
    [1, '[2001:db8::1]', '2001:db8::1'],
    [1, '"[2001:db8::1]:443"', '2001:db8::1'],
    [1, '[::ffff:198.51.100.1]:80', '198.51.100.1'],
    [1, '[198.51.100.1', '10.9.9.9'],
    [1, '_hidden', '10.9.9.9'],
    [1, 'example.com:80', '10.9.9.9'],
  ])('with trustProxy %s and %j is %s', (trustProxy, forwarded, ip) => {
    expect(ipOf(trustProxy, forwarded)).toBe(ip)
  })
})
