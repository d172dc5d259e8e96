import { describe, expect, it } from '@jest/globals'
import { randomNumbers } from '../random.js'
import { LinkedList, unlisted, type ListItem } from '../../src/core/collections.js'

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
