/** @jest-environment node */
import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals'
import { Deadlines, type Waiting } from '../../src/serving/deadlines.js'
import type { ServerRequest } from '../../src/http/server-request.js'

const request = Object.create(null) as ServerRequest
const run = {}
const tick = 50

describe('Deadlines', () => {
  beforeEach(() => {
    jest.useFakeTimers()
  })
  afterEach(() => {
    jest.useRealTimers()
  })

  it.each([0, 1, 20, 49, 50, 51, 99])(
    'ends no call too early, and none more than two ticks late, %d ms after its start',
    (into) => {
      const ended: Waiting<object>[] = []
      const deadlines = new Deadlines<object>(4 * tick, (waiting) => ended.push(waiting))
      deadlines.wait(request, run, 100_000)
      jest.advanceTimersByTime(into)
      const waiting = deadlines.wait(request, run, 200)
      jest.advanceTimersByTime(199)
      expect(ended).toEqual([])
      jest.advanceTimersByTime(1 + 2 * tick)
      expect(ended).toEqual([waiting])
    },
  )

  it('ends no finished call, and stops its timer when no call is waiting', () => {
    const ended: Waiting<object>[] = []
    const deadlines = new Deadlines<object>(4 * tick, (waiting) => ended.push(waiting))
    deadlines.done(deadlines.wait(request, run, 200))
    jest.advanceTimersByTime(1000)
    expect([ended, jest.getTimerCount()]).toEqual([[], 0])
  })
})
