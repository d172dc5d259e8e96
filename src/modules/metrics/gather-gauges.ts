/** Asks other packages for their gauges when metrics are read. Called by the meter. */
import { channel } from 'node:diagnostics_channel'
import type { ApplicationState, Gauge, ScrapeEvent } from '../../index.js'
import { gauge, type Family } from './families.js'

const scrapes = channel('filigree:scrape')
/** Milliseconds that packages have to give their figures. */
const scrapeTime = 1000

/** What packages say of the whole database, which no worker has to add up. */
export async function gatherGauges(application: ApplicationState): Promise<Family[]> {
  if (!scrapes.hasSubscribers) return []
  const given: (Gauge | Promise<readonly Gauge[]>)[] = []
  const event: ScrapeEvent = { application, add: (one) => given.push(one) }
  scrapes.publish(event)
  const gauges = (await Promise.all(given.map(soon))).flat()
  return gauges.map(({ name, help, value }) => gauge(name, help, value))
}

/** Nothing, if it fails or takes too long. */
async function soon(given: Gauge | Promise<readonly Gauge[]>): Promise<readonly Gauge[]> {
  if (!(given instanceof Promise)) return [given]
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<readonly Gauge[]>((resolve) => {
    timer = setTimeout(resolve, scrapeTime, [])
  })
  const gauges = await Promise.race([given.catch(() => []), late])
  clearTimeout(timer)
  return gauges
}
