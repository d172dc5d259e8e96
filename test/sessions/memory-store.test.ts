import { describe, expect, it } from '@jest/globals'
import { describeSessionStore } from '../contracts/session-store.contract.js'
import { createMemoryStore } from './visits.js'

describeSessionStore('memory', () => ({ store: createMemoryStore() }))

describe('createMemoryStore', () => {
  it('drops the least recently written session when it is full', async () => {
    const store = createMemoryStore(2)
    await store.write('a', '{"n":1}', 1000, false)
    await store.write('b', '{"n":2}', 1000, false)
    await store.write('a', '{"n":3}', 1000, true)
    await store.write('c', '{"n":4}', 1000, false)
    expect(store.read('a', 0)).toBe('{"n":3}')
    expect(store.read('b', 0)).toBeUndefined()
    expect(store.read('c', 0)).toBe('{"n":4}')
  })
})
