/** Writes randomly to the data set of `consistency.ts`, in its own process: `consistency-writer.ts <url> <count> <seed>`. */
import { connect } from '../../src/index.js'
import { createRandom } from '../random.js'
import { records, writeRandomly } from './consistency-data.js'

const [url = '', count = '0', seed = '1'] = process.argv.slice(2)
const database = await connect(url, { records })
const stored = await writeRandomly(database, Number(count), createRandom(Number(seed)))
await database.close()
process.stdout.write(String(stored))
