import { describe, expect, it } from '@jest/globals'
import { FairQueue } from '../../src/engines/fair-queue.js'

describe('FairQueue', () => {
  const drain = (queue: FairQueue<string>): string[] => {
    const found: string[] = []
    for (let next = queue.dequeue(); next !== undefined; next = queue.dequeue()) found.push(next)
    return found
  }

  it('runs the second statement of a request after the first statements of other requests', () => {
    const queue = new FairQueue<string>()
    const [greedy, small, other] = [{}, {}, {}]
    for (const number of [1, 2, 3]) queue.enqueue(greedy, `greedy ${number}`)
    expect(queue.dequeue()).toBe('greedy 1')
    queue.enqueue(small, 'small 1')
    queue.enqueue(other, 'other 1')
    queue.enqueue(small, 'small 2')
    expect(drain(queue)).toStrictEqual(['small 1', 'other 1', 'greedy 2', 'small 2', 'greedy 3'])
  })

  it('remembers how many statements a request has sent, even when none is waiting', () => {
    const queue = new FairQueue<string>()
    const [old, young] = [{}, {}]
    queue.enqueue(old, 'old 1')
    queue.dequeue()
    queue.enqueue(old, 'old 2')
    queue.enqueue(young, 'young 1')
    expect(drain(queue)).toStrictEqual(['young 1', 'old 2'])
  })

  it('does not starve the oldest request when new requests keep arriving', () => {
    const queue = new FairQueue<string>()
    const oldest = {}
    queue.enqueue(oldest, 'oldest 1')
    queue.dequeue()
    queue.enqueue(oldest, 'oldest 2')
    const found: (string | undefined)[] = []
    for (let number = 1; number <= 8; number++) {
      queue.enqueue({}, `first of ${number}`)
      queue.enqueue({}, `first of ${number}, too`)
      found.push(queue.dequeue())
    }
    expect(found.slice(0, 3)).toContain('oldest 2')
  })

  it('removes items of callers that have left', () => {
    const queue = new FairQueue<string>()
    queue.enqueue({}, 'gone')
    queue.enqueue({}, 'here')
    expect(queue.remove('gone')).toBe(true)
    expect(queue.remove('gone')).toBe(false)
    expect([queue.size, ...drain(queue)]).toStrictEqual([1, 'here'])
  })

  it('skips items that cannot run now and keeps them queued', () => {
    const queue = new FairQueue<string>()
    queue.enqueue({}, 'large')
    queue.enqueue({}, 'small')
    expect(queue.dequeue((item) => item === 'small')).toBe('small')
    expect(queue.clear()).toStrictEqual(['large'])
    expect(queue.size).toBe(0)
  })

  it('accepts thousands of statements of one request', () => {
    const queue = new FairQueue<string>()
    const request = {}
    for (let number = 0; number < 1000; number++) queue.enqueue(request, String(number))
    expect(drain(queue).map(Number)).toStrictEqual(
      Array.from({ length: 1000 }, (_, number) => number),
    )
  })
})
