/**
 * A thousand subscribers of one record, and twenty writes. Other requests get a response meanwhile. `--subscribers 1000`
 * `npm run faults -- --only subscribers`
 */
import { Database } from '../../src/index.js'
import { subscribe } from '../graphql/event-client.js'
import { numberOf, say } from './command-line.js'
import { start, Thing } from './shop-application.js'

const subscribers = numberOf('subscribers', 1000)
const writes = 20

/** @returns the number of findings: events that were not sent */
export async function notifySubscribers(url: string): Promise<number> {
  const app = await start(url, { limits: { streams: Infinity, streamsByAddress: Infinity } })
  const things = app.get(Database).records(Thing)
  const query = 'subscription { thingChanged { event thing { id name } } }'
  const clients = await Promise.all(
    Array.from({ length: subscribers }, () => subscribe(`${app.url}/graphql`, query)),
  )
  let received = 0
  const startedAt = performance.now()
  const receiving = Promise.all(
    clients.map(async (client) => {
      for (let index = 0; index < writes; index++) {
        const result = await client.next()
        if (result?.errors === undefined) received++
      }
    }),
  )
  const listening = { isOver: false }
  void receiving.then(() => (listening.isOver = true))
  const latencies: number[] = []
  const otherRequests = (async () => {
    while (!listening.isOver) {
      const sentAt = performance.now()
      await (await fetch(`${app.url}/fast`)).text()
      latencies.push(performance.now() - sentAt)
    }
  })()
  for (let index = 0; index < writes; index++) await things.create({ name: `n${index}` })
  await receiving
  const seconds = (performance.now() - startedAt) / 1000
  await otherRequests
  for (const client of clients) client.leave()
  latencies.sort((a, b) => a - b)
  const engine = app.get(Database).engineName
  await app.close()
  say({
    part: 'subscribers',
    engine,
    subscribers,
    writes,
    received,
    seconds: Math.round(seconds * 10) / 10,
    requests: latencies.length,
    median: Math.round(latencies[latencies.length >> 1] ?? 0),
    longest: Math.round(latencies.at(-1) ?? 0),
  })
  return subscribers * writes - received
}
