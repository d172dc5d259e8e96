/** Copies a database and is killed meanwhile. Arguments: the addresses of the source and of the target. */
import { connect } from '../../src/index.js'
import { copyDatabase } from '../../src/records/copy/copy-database.js'
import type { Database } from '../../src/records/database.js'
import { Line } from './copied-lines.js'

const [source = '', target = ''] = process.argv.slice(2)
const [from, to] = [
  await connect(source, { records: [Line] }),
  await connect(target, { records: [Line] }),
]
await copyDatabase({ source: from as Database, target: to as Database })
