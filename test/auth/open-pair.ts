/** Runs in a separate process: opens the pair in the given folder, and prints its name. */
import { openKeyFolder } from '../../src/auth/key-origin.js'
import { silentLog } from '../silent-log.js'

const { kid } = await openKeyFolder(process.argv[2] ?? '', silentLog)
process.stdout.write(kid)
