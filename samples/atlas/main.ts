/** Starts the atlas: `npm start`. */
import { bootstrap } from 'filigree'
import { AtlasModule } from './app.js'
import { World } from './world.js'

const app = await bootstrap(AtlasModule, {
  docs: { title: 'Atlas', version: '1.0.0' },
  // A short life shows rotation: TOKEN_LIFE=10s npm start
  auth: { expiresIn: process.env.TOKEN_LIFE ?? '1h' },
})
const world = app.get(World)

console.log(`
The atlas knows ${world.countries.length} countries and ${world.cityCount} cities.

  ${app.url}/                                    everything at a glance
  ${app.url}/countries?region=Europe&limit=3     countries, filtered and paged
  ${app.url}/cities?q=reykja                     search
  ${app.url}/cities/near/64.14/-21.9             what is around
  ${app.url}/swagger                             the documentation, to try out

  Log in to write: POST /login with {"name": "ada", "password": "analytical"}.
`)
