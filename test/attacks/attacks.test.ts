/** Runs the attacks of this folder that measure no time or memory. `npm run attacks` runs all of them on the built package. */
import { describe, expect, it } from '@jest/globals'
import { loadAttacks } from './load.js'

const attacks = (await loadAttacks()).filter((attack) => attack.measures !== true)

describe('attacks', () => {
  it('have different names', () => {
    expect(new Set(attacks.map(({ name }) => name)).size).toBe(attacks.length)
  })

  for (const attack of attacks) {
    it(`are blocked: ${attack.name}`, async () => {
      expect(await attack.run()).toMatchObject({ isBlocked: true })
    })
  }
})
