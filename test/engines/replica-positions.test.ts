import { describe, expect, it } from '@jest/globals'
import type { Engine } from '../../src/engines/contract/engine.js'
import { parseLsn, Replica, type Position } from '../../src/engines/postgres/replicas/replica.js'
import { ReplicaSet } from '../../src/engines/postgres/replicas/replica-set.js'
import { WalHistory } from '../../src/engines/postgres/replicas/wal-history.js'
import { WriteMarks } from '../../src/engines/postgres/replicas/write-marks.js'
import { silentLog } from '../silent-log.js'
import { waitUntil } from '../wait-until.js'

describe('parseLsn', () => {
  it('parses a WAL position with two 32-bit halves', () => {
    expect(parseLsn('0/0')).toBe(0n)
    expect(parseLsn('16/B374D848')).toBe(0x16_b374_d848n)
    expect(parseLsn('1/0') > parseLsn('0/FFFFFFFF')).toBe(true)
  })

  it.each([null, '', '12', 'x/y', '1/'])('refuses %p', (text) => {
    expect(() => parseLsn(text)).toThrow(TypeError)
  })
})

describe('WalHistory', () => {
  it('reports until which time a replica has all writes', () => {
    const history = new WalHistory()
    history.add(100, 10n)
    history.add(200, 20n)
    history.add(300, 20n)
    history.add(400, 30n)
    expect(history.visibleUntil(9n)).toBe(-Infinity)
    expect(history.visibleUntil(15n)).toBe(100)
    // Nothing was written between 200 and 300.
    expect(history.visibleUntil(20n)).toBe(300)
    expect(history.visibleUntil(99n)).toBe(400)
    expect(history.newest).toBe(400)
  })

  it('forgets positions of a previous server', () => {
    const history = new WalHistory()
    expect(history.add(100, 50n)).toBe(true)
    expect(history.add(200, 10n)).toBe(false)
    expect(history.visibleUntil(60n)).toBe(200)
    expect(history.visibleUntil(9n)).toBe(-Infinity)
  })
})

describe('ReplicaSet', () => {
  it('reads from no replica that has writes of the old primary, until it follows the new one', async () => {
    const follows = { isReplica: true, isStreaming: true, timeline: undefined }
    let primary: Position = { lsn: 100n, isReplica: false, isStreaming: false, timeline: '1' }
    let position: Position = { lsn: 100n, ...follows }
    let polls = 0
    const replica = new Replica({
      name: 'replica',
      log: silentLog,
      open: () => Promise.resolve({ close: () => Promise.resolve() } as Engine),
      readPosition: () => {
        polls++
        return Promise.resolve(position)
      },
      close: () => undefined,
    })
    const set = new ReplicaSet({
      replicas: [replica],
      readPrimaryPosition: () => Promise.resolve(primary),
      closePrimary: () => undefined,
      maxLag: 80,
      log: silentLog,
    })
    try {
      await set.start()
      await waitUntil(() => set.choose() === replica)
      // The new primary has not received the last writes of the old one, which this replica has.
      position = { lsn: 150n, ...follows, isStreaming: false }
      primary = { ...primary, lsn: 120n, timeline: '2' }
      await waitUntil(() => set.choose() === undefined)
      const before = polls
      await waitUntil(() => polls >= before + 10)
      primary = { ...primary, lsn: 160n }
      await waitUntil(() => polls >= before + 20)
      expect(set.choose()).toBeUndefined()
      position = { lsn: 160n, ...follows }
      await waitUntil(() => set.choose() === replica)
    } finally {
      await set.close()
    }
  })
})

describe('WriteMarks', () => {
  it('require every write until the primary reports a later position', () => {
    const marks = new WriteMarks(1000)
    marks.add(['a', 'b'], 0)
    expect(marks.requiredPosition(['x', 'a'], 1)).toBe('everything')
    expect(marks.requiredPosition(['x'], 1)).toBe(0n)
    const open = marks.open
    marks.add(['c'], 2)
    marks.settle(open, 7n)
    expect(marks.requiredPosition(['b'], 3)).toBe(7n)
    expect(marks.requiredPosition(['b', 'c'], 3)).toBe('everything')
    marks.settle(marks.open, 9n)
    expect(marks.requiredPosition(['b', 'c'], 3)).toBe(9n)
  })

  it('expire', () => {
    const marks = new WriteMarks(1000)
    marks.add(['a'], 0)
    expect(marks.requiredPosition(['a'], 999)).toBe('everything')
    expect(marks.requiredPosition(['a'], 1000)).toBe(0n)
  })

  it('apply to all callers when there are too many', () => {
    const marks = new WriteMarks(1000, 2)
    for (const name of ['a', 'b', 'c']) marks.add([name], 0)
    expect(marks.size).toBe(2)
    marks.settle(3, 5n)
    expect(marks.requiredPosition(['a'], 1)).toBe(5n)
    expect(marks.requiredPosition(['nobody'], 1)).toBe(5n)
    expect(marks.requiredPosition(['nobody'], 1000)).toBe(0n)
  })
})
