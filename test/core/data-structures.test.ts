/** Small data structures whose order, size or eviction no response shows. */
import { Problems } from '../../src/errors/problems.js'
import { describe, expect, it } from '@jest/globals'
import { randomNumbers } from '../random.js'
import { LinkedList, unlisted, type ListItem } from '../../src/core/collections.js'
import { AddressCounts, addressKey } from '../../src/core/address-counts.js'
import { normalizeText } from '../../src/core/text.js'
import { RunQueue } from '../../src/core/run-queue.js'
import { EventLoopSlots } from '../../src/graphql/open-streams.js'
import { VerifiedTokens } from '../../src/auth/verified-tokens.js'

interface Item extends ListItem<Item> {
  readonly name: string
}

function item(name: string): Item {
  return { name, ...unlisted }
}

describe('LinkedList', () => {
  it('does what a Set does', () => {
    const list = new LinkedList<Item>()
    const reference = new Set<Item>()
    const items = Array.from({ length: 12 }, (_, index) => item(String(index)))
    const random = randomNumbers(1)
    for (let step = 0; step < 3000; step++) {
      const one = items[random(items.length)] as Item
      const action = random(10)
      if (action < 2) {
        const [first] = reference
        if (first !== undefined) reference.delete(first)
        expect(list.shift()).toBe(first)
      } else if (action < 6) {
        list.add(one)
        reference.add(one)
      } else {
        list.delete(one)
        reference.delete(one)
      }
      expect(list.toArray()).toStrictEqual([...reference])
      expect([list.size, list.first]).toStrictEqual([reference.size, [...reference][0]])
    }
  })

  it('keeps nothing of an item that was removed', () => {
    const list = new LinkedList<Item>()
    const [one, two, three] = [item('one'), item('two'), item('three')]
    for (const each of [one, two, three]) list.add(each)
    list.delete(two)
    expect([two.previous, two.next, two.isListed]).toStrictEqual([undefined, undefined, false])
    expect([one.next, three.previous]).toStrictEqual([three, one])
  })
})

describe('normalizeText', () => {
  it('leaves text with sequences of more than 30 combining marks unchanged', () => {
    const marks = '\u0301\u0316'
    for (const text of ['e\u0301', `a${marks.repeat(15)}b${marks.repeat(15)}`, '\uff21', ''])
      for (const form of ['NFC', 'NFKC'] as const)
        expect(normalizeText(text, form)).toBe(text.normalize(form))
    for (const text of [`e\u0301a${marks.repeat(16)}`, marks.repeat(100_000)])
      expect(normalizeText(text, 'NFC')).toBe(text)
  })
})

describe('RunQueue', () => {
  it('starts each run in its own turn of the event loop, and a few at a time', async () => {
    let turn = 0
    const turns: number[] = []
    const finish: (() => void)[] = []
    const queue = new RunQueue(3)
    for (let count = 0; count < 5; count++) {
      queue.add(() => {
        turns.push(turn)
        return new Promise<void>((resolve) => finish.push(resolve))
      })
    }
    const nextTurns = async (): Promise<void> => {
      for (let count = 0; count < 8; count++) {
        await new Promise((resolve) => setImmediate(resolve))
        turn++
      }
    }
    await nextTurns()
    expect(turns).toEqual([0, 1, 2])
    finish[1]?.()
    await nextTurns()
    expect(turns).toHaveLength(4)
    for (const end of finish) end()
    await nextTurns()
    expect(turns).toHaveLength(5)
  })
})

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

const nextEventLoopTurn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

describe('EventLoopSlots', () => {
  it('grants slots immediately until the current turn is full', async () => {
    const slots = new EventLoopSlots(2)
    expect([slots.take(), slots.take()]).toEqual([undefined, undefined])
    const third = slots.take()
    expect(third).toBeInstanceOf(Promise)
    await third
    await nextEventLoopTurn()
    expect(slots.take()).toBeUndefined()
  })

  it('grants waiting callers their slots in order, a limited number per turn', async () => {
    const slots = new EventLoopSlots(2)
    const finished: number[] = []
    for (let index = 0; index < 7; index++) {
      const slot = slots.take()
      if (slot === undefined) finished.push(index)
      else void slot.then(() => finished.push(index))
    }
    const snapshots: number[][] = [[...finished]]
    while (finished.length < 7) {
      await nextEventLoopTurn()
      snapshots.push([...finished])
    }
    expect(snapshots.at(-1)).toEqual([0, 1, 2, 3, 4, 5, 6])
    for (const [index, snapshot] of snapshots.entries())
      expect(snapshot.length - (snapshots[index - 1]?.length ?? 0)).toBeLessThanOrEqual(2)
  })
})

const fill = (tokens: VerifiedTokens, from: number, to: number): void => {
  for (let number = from; number < to; number++) {
    tokens.add(`e${number}`, { sub: String(number) }, 1000)
  }
}

describe('VerifiedTokens', () => {
  it('holds at most its limit, 10,000 by default', () => {
    const small = new VerifiedTokens(3)
    fill(small, 0, 100)
    expect(small.size).toBe(3)
    const usual = new VerifiedTokens()
    fill(usual, 0, 10_050)
    expect(usual.size).toBe(10_000)
  })

  it('keeps recently used tokens', () => {
    const tokens = new VerifiedTokens(3)
    fill(tokens, 0, 3)
    expect(tokens.find('e0', 0)?.sub).toBe('0')
    fill(tokens, 3, 5)
    expect(tokens.find('e0', 0)?.sub).toBe('0')
    expect(tokens.find('e1', 0)).toBeUndefined()
    expect(tokens.find('e2', 0)).toBeUndefined()
  })

  it('makes room when all tokens were used recently', () => {
    const tokens = new VerifiedTokens(3)
    fill(tokens, 0, 3)
    for (const token of ['e0', 'e1', 'e2']) tokens.find(token, 0)
    fill(tokens, 3, 4)
    expect(tokens.size).toBe(3)
    expect(tokens.find('e3', 0)?.sub).toBe('3')
    expect(tokens.find('e0', 0)).toBeUndefined()
  })

  it('removes expired tokens, tokens by their claims, and all tokens', () => {
    const tokens = new VerifiedTokens()
    tokens.add('e1', { jti: 'a' }, 1000)
    tokens.add('e2', { jti: 'a' }, 1000)
    tokens.add('e3', { jti: 'b' }, 1000)
    expect(tokens.find('e1', 999)).toBeDefined()
    expect(tokens.find('e1', 1000)).toBeUndefined()
    tokens.forget(({ jti }) => jti === 'a')
    expect(tokens.size).toBe(1)
    tokens.clear()
    expect(tokens.size).toBe(0)
  })
})

describe('Problems', () => {
  const code = 'INVALID_OPTION'

  it('begins messages with the place, and adds them to the same list', () => {
    const problems = new Problems()
    problems.at('Item').at('Item.price').add({ code, message: 'no default.', remedy: 'Add it.' })
    problems.addAll([{ code: 'PACKAGE', message: 'Two.', remedy: '' }])
    expect(problems.list).toEqual([
      { code, message: 'Item.price: no default.', remedy: 'Add it.' },
      { code: 'PACKAGE', message: 'Two.', remedy: '' },
    ])
  })

  it('lists a repeated problem once', () => {
    const problems = new Problems()
    for (const remedy of ['', '', 'Another.']) problems.add({ code, message: 'One.', remedy })
    expect(problems.list).toHaveLength(2)
  })

  it('throws all problems together, and nothing without problems', () => {
    const problems = new Problems()
    problems.throwIfAny()
    for (const message of ['One.', 'Two.']) problems.add({ code, message, remedy: '' })
    expect(() => {
      problems.throwIfAny()
    }).toThrow(/2 problems/)
  })
})
