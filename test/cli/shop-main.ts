/** A program in one file, as it is started. */
import { bootstrap } from 'filigree'
import { AppModule } from './shop-v1.js'

const app = await bootstrap(AppModule, { port: 0, docs: { title: 'Shop in one file' } })
throw new Error(`It listens at ${app.url}, although it was only described.`)
