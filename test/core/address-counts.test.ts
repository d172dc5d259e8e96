import { describe, expect, it } from '@jest/globals'
import { AddressCounts, addressKey } from '../../src/core/address-counts.js'

describe('addressKey', () => {
  it.each([
    ['203.0.113.9', '203.0.113.9'],
    ['2001:db8:0:1::7', '2001:db8:0:1'],
    ['2001:DB8:0000:1:2:3:4:5', '2001:db8:0:1'],
    ['2001:db8::7', '2001:db8:0:0'],
    ['::1', '0:0:0:0'],
    ['::', '0:0:0:0'],
    ['fe80::1%eth0', 'fe80:0:0:0'],
    ['64:ff9b::192.0.2.1', '64:ff9b:0:0'],
    ['', ''],
    ['no:address', 'no:address'],
  ])('of %s is %s', (address, key) => {
    expect(addressKey(address)).toBe(key)
  })
})

describe('AddressCounts', () => {
  it('forgets an address once its last count is removed', () => {
    const counts = new AddressCounts()
    counts.add('a')
    counts.add('a')
    counts.add('b')
    counts.remove('a')
    expect([counts.of('a'), counts.of('b'), counts.of('c')]).toEqual([1, 1, 0])
    counts.remove('a')
    counts.remove('b')
    expect([counts.of('a'), counts.of('b')]).toEqual([0, 0])
  })
})
