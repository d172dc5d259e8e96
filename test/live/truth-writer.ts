/** Writes randomly to the data set of `truth.ts`, in its own process: `truth-writer.ts <url> <count> <seed>`. */
import { connect } from '../../src/index.js'
import { randomFrom, records, writeRandomly } from './truth-world.js'

const [url = '', count = '0', seed = '1'] = process.argv.slice(2)
const database = await connect(url, { records })
const stored = await writeRandomly(database, Number(count), randomFrom(Number(seed)))
await database.close()
process.stdout.write(String(stored))
