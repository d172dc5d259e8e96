/** The attacks of this folder that need no clock, each a test. `npm run attacks` runs all of them on the built package. */
import { describe, expect, it } from '@jest/globals'
import { loadAttacks } from './load.js'

const attacks = (await loadAttacks()).filter((attack) => attack.measures !== true)

describe('attacks', () => {
  it('has a different name for each attack', () => {
    expect(new Set(attacks.map(({ name }) => name)).size).toBe(attacks.length)
  })

  for (const attack of attacks) {
    it(`holds: ${attack.name}`, async () => {
      expect(await attack.run()).toMatchObject({ held: true })
    })
  }
})
