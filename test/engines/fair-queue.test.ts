import { describe, expect, it } from '@jest/globals'
import { FairQueue } from '../../src/engines/fair-queue.js'

describe('FairQueue', () => {
  const all = (turns: FairQueue<string>): string[] => {
    const found: string[] = []
    for (let next = turns.dequeue(); next !== undefined; next = turns.dequeue()) found.push(next)
    return found
  }

  it("let a request's second statement go behind everybody's first", () => {
    const turns = new FairQueue<string>()
    const [greedy, small, other] = [{}, {}, {}]
    for (const place of [1, 2, 3]) turns.enqueue(greedy, `greedy ${place}`)
    expect(turns.dequeue()).toBe('greedy 1')
    turns.enqueue(small, 'small 1')
    turns.enqueue(other, 'other 1')
    turns.enqueue(small, 'small 2')
    expect(all(turns)).toStrictEqual(['small 1', 'other 1', 'greedy 2', 'small 2', 'greedy 3'])
  })

  it('count what a request has asked for before, also where nothing of it waits any more', () => {
    const turns = new FairQueue<string>()
    const [old, young] = [{}, {}]
    turns.enqueue(old, 'old 1')
    turns.dequeue()
    turns.enqueue(old, 'old 2')
    turns.enqueue(young, 'young 1')
    expect(all(turns)).toStrictEqual(['young 1', 'old 2'])
  })

  it('let the oldest request end, however many first statements come', () => {
    const turns = new FairQueue<string>()
    const oldest = {}
    turns.enqueue(oldest, 'oldest 1')
    turns.dequeue()
    turns.enqueue(oldest, 'oldest 2')
    const found: (string | undefined)[] = []
    for (let place = 1; place <= 8; place++) {
      turns.enqueue({}, `first of ${place}`)
      turns.enqueue({}, `first of ${place}, too`)
      found.push(turns.dequeue())
    }
    expect(found.slice(0, 3)).toContain('oldest 2')
  })

  it('are freed by callers who have left', () => {
    const turns = new FairQueue<string>()
    turns.enqueue({}, 'gone')
    turns.enqueue({}, 'here')
    expect(turns.remove('gone')).toBe(true)
    expect(turns.remove('gone')).toBe(false)
    expect([turns.size, ...all(turns)]).toStrictEqual([1, 'here'])
  })

  it('pass over what does not fit now, which keeps its place', () => {
    const turns = new FairQueue<string>()
    turns.enqueue({}, 'large')
    turns.enqueue({}, 'small')
    expect(turns.dequeue((item) => item === 'small')).toBe('small')
    expect(turns.clear()).toStrictEqual(['large'])
    expect(turns.size).toBe(0)
  })

  it('take thousands of statements of one request', () => {
    const turns = new FairQueue<string>()
    const request = {}
    for (let place = 0; place < 1000; place++) turns.enqueue(request, String(place))
    expect(all(turns).map(Number)).toStrictEqual(Array.from({ length: 1000 }, (_, place) => place))
  })
})
