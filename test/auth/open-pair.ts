/** Run as a process of its own: opens the pair in the folder given, and prints its name. */
import { openKeyFolder } from '../../src/auth/key-origin.js'
import { silentLog } from '../silent-log.js'

const { kid } = await openKeyFolder(process.argv[2] ?? '', silentLog)
process.stdout.write(kid)
