/** The shop in a process of its own, which says where it listens: `shop-process.ts <database>`. */
import { start } from './shop-application.js'

const app = await start(process.argv[2] ?? '')
console.log(app.url)
