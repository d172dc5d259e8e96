/** Starts the atlas: `npm start`. */
import { bootstrap } from 'filigree'
import { AtlasModule } from './app.js'
import { pageOptions } from './page.js'
import { World } from './world.js'

// Empty variables count as not set.
const { DATABASE_URL = '', TOKEN_LIFE = '1h' } = process.env

const app = await bootstrap(AtlasModule, {
  ...pageOptions,
  docs: { title: 'Atlas', version: '1.0.0' },
  // On PostgreSQL: DATABASE_URL=postgres://… npm start
  database: DATABASE_URL === '' ? 'sqlite:./data/atlas.db' : DATABASE_URL,
  // A short lifetime shows the rotation of tokens: TOKEN_LIFE=10s npm start
  auth: { expiresIn: TOKEN_LIFE },
})
const { countries, cities } = await app.get(World).statistics()

console.log(`
The atlas knows ${countries} countries and ${cities} cities.

  ${app.url}/                                    the page, to search and to change
  ${app.url}/countries?region=Europe&limit=3     countries, filtered and paged
  ${app.url}/cities?q=reykja                     search
  ${app.url}/cities/near/64.14/-21.9             what is around
  ${app.url}/swagger                             the documentation, to try out
  ${app.url}/admin                               the records, for those who look after them: log in as ada
  ${app.url}/health/ready                        whether it is ready for requests
  ${app.url}/metrics                             what it does, in numbers
  ${app.url}/graphql                             the same over GraphQL, with a page to write queries on

  Log in to write: POST /login with {"name": "ada", "password": "analytical"}.
`)
