import { describe, expect, it } from '@jest/globals'
import { LinkedList, type ListItem } from '../../src/core/linked-list.js'

interface Item extends ListItem<Item> {
  readonly name: string
}

function item(name: string): Item {
  return { name, previous: undefined, next: undefined, isListed: false }
}

describe('LinkedList', () => {
  it('does what a Set does', () => {
    const list = new LinkedList<Item>()
    const reference = new Set<Item>()
    const items = Array.from({ length: 12 }, (_, index) => item(String(index)))
    // A linear congruential generator, so that each run does the same.
    let random = 1
    for (let step = 0; step < 3000; step++) {
      random = (random * 1_103_515_245 + 12_345) % 2 ** 31
      const one = items[random % items.length] as Item
      if (random % 5 === 0) {
        const [first] = reference
        if (first !== undefined) reference.delete(first)
        expect(list.shift()).toBe(first)
      } else if (random % 2 === 0) {
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
