import { describe, expect, it } from '@jest/globals'
import { EventLoopSlots } from '../../src/core/event-loop-slots.js'

const nextTurn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

describe('turns of the loop', () => {
  it('are there at once for as many as fit into one', async () => {
    const turns = new EventLoopSlots(2)
    expect([turns.take(), turns.take()]).toEqual([undefined, undefined])
    const third = turns.take()
    expect(third).toBeInstanceOf(Promise)
    await third
    await nextTurn()
    expect(turns.take()).toBeUndefined()
  })

  it('are shared out by slices, in the order of asking', async () => {
    const turns = new EventLoopSlots(2)
    const gone: number[] = []
    for (let index = 0; index < 7; index++) {
      const turn = turns.take()
      if (turn === undefined) gone.push(index)
      else void turn.then(() => gone.push(index))
    }
    const seen: number[][] = [[...gone]]
    while (gone.length < 7) {
      await nextTurn()
      seen.push([...gone])
    }
    expect(seen.at(-1)).toEqual([0, 1, 2, 3, 4, 5, 6])
    for (const [index, now] of seen.entries())
      expect(now.length - (seen[index - 1]?.length ?? 0)).toBeLessThanOrEqual(2)
  })
})
