/** Source: decisions, "Proxies"; docs/configuration.md, "Behind a proxy". */
import { describe, expect, it } from '@jest/globals'
import { ServerRequest } from '../../src/http/server-request.js'
import { createIncoming, StandInResponse } from '../../src/http/stand-in.js'

function ipOf(trustProxy: boolean | number, forwarded: string, remoteAddress = '10.9.9.9'): string {
  const incoming = createIncoming({
    method: 'GET',
    url: '/',
    headers: [['X-Forwarded-For', forwarded]],
    body: undefined,
    remoteAddress,
  })
  return new ServerRequest(incoming, new StandInResponse(), { trustProxy }).ip
}

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
    [1, '198.51.100.1:443', '10.9.9.9'],
  ])('with trustProxy %s and %j is %s', (trustProxy, forwarded, ip) => {
    expect(ipOf(trustProxy, forwarded)).toBe(ip)
  })
})
