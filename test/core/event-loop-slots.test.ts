import { describe, expect, it } from '@jest/globals'
import { EventLoopSlots } from '../../src/graphql/open-streams.js'

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
