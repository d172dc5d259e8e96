/** The changes of time zones are found one zone at a time. What they are is tested by groups of time. */
import { describe, expect, it } from '@jest/globals'
import { prepareZones } from '../../src/records/aggregates/zone-offsets.js'

describe('prepareZones', () => {
  it('finds the changes of each zone in its own turn of the event loop', async () => {
    const events: string[] = []
    const next = (): void => {
      events.push('turn')
      if (events.filter((event) => event !== 'turn').length < 2) setImmediate(next)
    }
    setImmediate(next)
    const zones = ['Asia/Tokyo', 'Asia/Seoul']
    await Promise.all(
      zones.map(async (zone) => {
        await prepareZones([zone])
        events.push(zone)
      }),
    )
    const [first, second] = zones.map((zone) => events.indexOf(zone))
    expect(events.slice(first, second)).toContain('turn')
    expect(prepareZones(zones)).toBeUndefined()
  })
})
