import { describe, expect, it } from '@jest/globals'
import { FairQueue } from '../../src/engines/fair-queue.js'

/** A queue of items that are named. */
class NamedQueue {
  readonly #queue = new FairQueue<{ readonly name: string }>()
  readonly #items = new Map<string, { readonly name: string }>()

  get size(): number {
    return this.#queue.size
  }

  enqueue(request: object, name: string, client?: string): void {
    const item = { name }
    this.#items.set(name, item)
    this.#queue.enqueue(request, item, client)
  }

  countSent(request: object, client: string): void {
    this.#queue.countSent(request, client)
  }

  dequeue(canRun?: (name: string) => boolean): string | undefined {
    return this.#queue.dequeue(canRun && (({ name }) => canRun(name)))?.name
  }

  remove(name: string): boolean {
    return this.#queue.remove(this.#items.get(name) ?? { name })
  }

  clear(): string[] {
    return this.#queue.clear().map(({ name }) => name)
  }
}

describe('FairQueue', () => {
  const drain = (queue: NamedQueue): string[] => {
    const found: string[] = []
    for (let next = queue.dequeue(); next !== undefined; next = queue.dequeue()) found.push(next)
    return found
  }

  it('runs the second statement of a request after the first statements of other requests', () => {
    const queue = new NamedQueue()
    const [greedy, small, other] = [{}, {}, {}]
    for (const number of [1, 2, 3]) queue.enqueue(greedy, `greedy ${number}`)
    expect(queue.dequeue()).toBe('greedy 1')
    queue.enqueue(small, 'small 1')
    queue.enqueue(other, 'other 1')
    queue.enqueue(small, 'small 2')
    expect(drain(queue)).toStrictEqual(['small 1', 'other 1', 'greedy 2', 'small 2', 'greedy 3'])
  })

  it('remembers how many statements a request has sent, even when none is waiting', () => {
    const queue = new NamedQueue()
    const [old, young] = [{}, {}]
    queue.enqueue(old, 'old 1')
    queue.dequeue()
    queue.enqueue(old, 'old 2')
    queue.enqueue(young, 'young 1')
    expect(drain(queue)).toStrictEqual(['young 1', 'old 2'])
  })

  it('does not starve the oldest request when new requests keep arriving', () => {
    const queue = new NamedQueue()
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

  it('lets clients take turns, however many requests each of them has', () => {
    const queue = new NamedQueue()
    for (const number of [1, 2, 3, 4]) queue.enqueue({}, `greedy ${number}`, 'greedy')
    expect(queue.dequeue()).toBe('greedy 1')
    for (const number of [1, 2]) queue.enqueue({}, `small ${number}`, 'small')
    queue.enqueue({}, 'other 1', 'other')
    expect(drain(queue)).toStrictEqual([
      ...['small 1', 'other 1', 'greedy 2', 'small 2', 'greedy 3', 'greedy 4'],
    ])
  })

  it('keeps the order by request within a client', () => {
    const queue = new NamedQueue()
    const [greedy, small] = [{}, {}]
    for (const number of [1, 2, 3]) queue.enqueue(greedy, `greedy ${number}`, 'one')
    queue.enqueue({}, 'other', 'another')
    queue.enqueue(small, 'small', 'one')
    expect(drain(queue)).toStrictEqual(['greedy 1', 'other', 'small', 'greedy 2', 'greedy 3'])
  })

  it('remembers that a client has just had its turn, even when it does not wait', () => {
    const queue = new NamedQueue()
    queue.countSent({}, 'old')
    queue.enqueue({}, 'old', 'old')
    queue.enqueue({}, 'young', 'young')
    expect(drain(queue)).toStrictEqual(['young', 'old'])
  })

  it('gives a client that did not wait for a while no more than its turn', () => {
    const queue = new NamedQueue()
    queue.countSent({}, 'rare')
    for (const number of [1, 2, 3, 4, 5, 6]) queue.enqueue({}, `busy ${number}`, 'busy')
    for (const number of [1, 2, 3, 4, 5]) expect(queue.dequeue()).toBe(`busy ${number}`)
    for (const number of [1, 2, 3]) queue.enqueue({}, `rare ${number}`, 'rare')
    expect(drain(queue)).toStrictEqual(['rare 1', 'busy 6', 'rare 2', 'rare 3'])
  })

  it('stays fair when more clients come than it remembers', () => {
    const queue = new NamedQueue()
    for (let number = 0; number < 5000; number++) {
      queue.enqueue({}, `visitor ${number}`, `visitor ${number}`)
      queue.dequeue()
    }
    for (const number of [1, 2]) queue.enqueue({}, `greedy ${number}`, 'greedy')
    queue.enqueue({}, 'small', 'small')
    expect(drain(queue)).toStrictEqual(['greedy 1', 'small', 'greedy 2'])
  })

  it('removes items of callers that have left', () => {
    const queue = new NamedQueue()
    queue.enqueue({}, 'gone')
    queue.enqueue({}, 'here')
    expect(queue.remove('gone')).toBe(true)
    expect(queue.remove('gone')).toBe(false)
    expect([queue.size, ...drain(queue)]).toStrictEqual([1, 'here'])
  })

  it('skips items that cannot run now and keeps them queued', () => {
    const queue = new NamedQueue()
    queue.enqueue({}, 'large')
    queue.enqueue({}, 'small')
    expect(queue.dequeue((item) => item === 'small')).toBe('small')
    expect(queue.clear()).toStrictEqual(['large'])
    expect(queue.size).toBe(0)
  })

  it('accepts thousands of statements of one request', () => {
    const queue = new NamedQueue()
    const request = {}
    for (let number = 0; number < 1000; number++) queue.enqueue(request, String(number))
    expect(drain(queue).map(Number)).toStrictEqual(
      Array.from({ length: 1000 }, (_, number) => number),
    )
  })
})
