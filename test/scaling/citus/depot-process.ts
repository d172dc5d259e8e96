/** The depot in a process of its own. It sends its address to its parent, and stops in a transaction or a job for it. */
import { Depot, Item, Work } from './depot.js'

const endless = new Promise(() => undefined)
const stopAt = (name: string) => (): Promise<unknown> => {
  process.send?.({ name })
  return endless
}

const [url = '', place] = process.argv.slice(2)
if (place === 'transaction') Item.afterWrites = stopAt(place)
if (place === 'job') Work.beforeJob = stopAt(place)
const depot = await Depot.open(url)
process.on('disconnect', () => process.exit(0))
process.send?.({ name: 'open', url: depot.app.url, token: await depot.token('a') })
