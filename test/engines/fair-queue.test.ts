import { describe, expect, it } from '@jest/globals'
import { StatementTurns } from '../../src/engines/fair-queue.js'

describe('StatementTurns', () => {
  const all = (turns: StatementTurns<string>): string[] => {
    const found: string[] = []
    for (let next = turns.next(); next !== undefined; next = turns.next()) found.push(next)
    return found
  }

  it("let a request's second statement go behind everybody's first", () => {
    const turns = new StatementTurns<string>()
    const [greedy, small, other] = [{}, {}, {}]
    for (const place of [1, 2, 3]) turns.add(greedy, `greedy ${place}`)
    expect(turns.next()).toBe('greedy 1')
    turns.add(small, 'small 1')
    turns.add(other, 'other 1')
    turns.add(small, 'small 2')
    expect(all(turns)).toStrictEqual(['small 1', 'other 1', 'greedy 2', 'small 2', 'greedy 3'])
  })

  it('count what a request has asked for before, also where nothing of it waits any more', () => {
    const turns = new StatementTurns<string>()
    const [old, young] = [{}, {}]
    turns.add(old, 'old 1')
    turns.next()
    turns.add(old, 'old 2')
    turns.add(young, 'young 1')
    expect(all(turns)).toStrictEqual(['young 1', 'old 2'])
  })

  it('let the oldest request end, however many first statements come', () => {
    const turns = new StatementTurns<string>()
    const oldest = {}
    turns.add(oldest, 'oldest 1')
    turns.next()
    turns.add(oldest, 'oldest 2')
    const found: (string | undefined)[] = []
    for (let place = 1; place <= 8; place++) {
      turns.add({}, `first of ${place}`)
      turns.add({}, `first of ${place}, too`)
      found.push(turns.next())
    }
    expect(found.slice(0, 3)).toContain('oldest 2')
  })

  it('are freed by callers who have left', () => {
    const turns = new StatementTurns<string>()
    turns.add({}, 'gone')
    turns.add({}, 'here')
    expect(turns.drop('gone')).toBe(true)
    expect(turns.drop('gone')).toBe(false)
    expect([turns.size, ...all(turns)]).toStrictEqual([1, 'here'])
  })

  it('pass over what does not fit now, which keeps its place', () => {
    const turns = new StatementTurns<string>()
    turns.add({}, 'large')
    turns.add({}, 'small')
    expect(turns.next((item) => item === 'small')).toBe('small')
    expect(turns.clear()).toStrictEqual(['large'])
    expect(turns.size).toBe(0)
  })

  it('take thousands of statements of one request', () => {
    const turns = new StatementTurns<string>()
    const request = {}
    for (let place = 0; place < 1000; place++) turns.add(request, String(place))
    expect(all(turns).map(Number)).toStrictEqual(Array.from({ length: 1000 }, (_, place) => place))
  })
})
