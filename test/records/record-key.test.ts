/** Keys of several fields in their forms, against a slow reference. */
import { describe, expect, it } from '@jest/globals'
import { Field, Record } from '../../src/index.js'
import { Problems } from '../../src/errors/problems.js'
import { readTable } from '../../src/records/model/read-table.js'
import {
  idOf,
  partsOfKey,
  readCompositeKey,
  readKeyText,
  readPathKey,
  toPathKey,
} from '../../src/records/model/record-key.js'
import type { Table } from '../../src/records/model/table.js'
import { createRandom, seed } from '../random.js'

@Record({ key: ['text', 'count', 'wide', 'uuid', 'day', 'flag', 'at'] })
class Every {
  @Field('string') text!: string
  @Field('integer') count!: number
  @Field('bigint') wide!: string
  @Field('uuid') uuid!: string
  @Field('date') day!: string
  @Field('boolean') flag!: boolean
  @Field('datetime') at!: string
}

@Record({ key: ['code'] })
class Country {
  @Field('string') code!: string
}

const every = readTable(Every, new Problems()) as Table
const country = readTable(Country, new Problems()) as Table

const characters = [
  'a',
  'A',
  ',',
  '%',
  '/',
  '"',
  '\\',
  '[',
  ']',
  ' ',
  'é',
  '💡',
  '2',
  'C',
  '?',
  '.',
]

describe('a key of several fields', () => {
  const random = createRandom(seed)
  const pick = <T>(list: readonly T[]): T => list[Math.floor(random() * list.length)] as T
  const text = (length: number): string => Array.from({ length }, () => pick(characters)).join('')
  const hexDigits = Array.from('0123456789abcdefABCDEF')
  const hex = (length: number): string => Array.from({ length }, () => pick(hexDigits)).join('')

  const keys = Array.from({ length: 500 }, () => ({
    text: text(Math.floor(random() * 6)),
    count: Math.floor((random() - 0.5) * Number.MAX_SAFE_INTEGER),
    wide: pick(['0', '-0', '007', '9223372036854775807', '-9223372036854775808']),
    uuid: [8, 4, 4, 4, 12].map(hex).join('-'),
    day: pick(['2026-11-20', '0001-01-01', '9999-12-31']),
    flag: random() < 0.5,
    at: pick(['2026-11-20T10:00:00.000Z', '2026-11-20T11:00:00+01:00', '2026-11-20T10:00:00Z']),
  }))

  /** The parts in the form in which equal parts are equal. */
  const plain = (key: (typeof keys)[number]): unknown[] => [
    key.text,
    key.count + 0,
    String(BigInt(key.wide)),
    key.uuid.toLowerCase(),
    key.day,
    key.flag,
    new Date(key.at).toISOString(),
  ]

  it('has one text for equal keys, however they are written', () => {
    for (const key of keys) {
      const id = readCompositeKey(every.key, key) as string
      expect(id).toBe(JSON.stringify(plain(key)))
      expect(readCompositeKey(every.key, id)).toBe(id)
      expect(readKeyText(every.key, JSON.stringify(Object.values(key)))).toBe(id)
      expect(idOf(every, { ...key, other: 1 })).toBe(id)
      expect(Object.values(partsOfKey(every.key, id))).toEqual(plain(key))
    }
  })

  it('is the same after a path', () => {
    for (const key of keys) {
      const id = readCompositeKey(every.key, key) as string
      const path = toPathKey(every.key, id)
      expect(path.split(',')).toHaveLength(7)
      expect(path).not.toMatch(/[/?#\s]/)
      expect(readPathKey(every.key, path)).toBe(id)
    }
  })

  it('is no key with another number of parts, or with a part of another kind', () => {
    for (const key of keys.slice(0, 50)) {
      const parts = toPathKey(every.key, readCompositeKey(every.key, key) as string).split(',')
      expect(readPathKey(every.key, parts.slice(1).join())).toBeUndefined()
      expect(readPathKey(every.key, [...parts, 'x'].join())).toBeUndefined()
      for (const index of [1, 2, 3, 4, 5, 6]) {
        const wrong = parts.with(index, 'wrong')
        expect(readPathKey(every.key, wrong.join())).toBeUndefined()
        const values: unknown[] = plain(key).with(index, {})
        expect(readKeyText(every.key, JSON.stringify(values))).toBeUndefined()
      }
    }
    for (const other of ['', '7', '[', '{}', 'null', '[1]', '%', '%zz'])
      expect(readKeyText(every.key, other)).toBeUndefined()
    expect(readPathKey(every.key, '%zz,1')).toBeUndefined()
  })

  it('of one field is written as the value itself too', () => {
    for (const form of ['DE', '["DE"]', { code: 'DE' }])
      expect(readCompositeKey(country.key, form)).toBe('["DE"]')
    expect(readCompositeKey(country.key, 7)).toBeUndefined()
    expect(readPathKey(country.key, 'D%2CE')).toBe('["D,E"]')
    expect(toPathKey(country.key, '["D,E"]')).toBe('D%2CE')
  })
})
