/**
 * Reads the countries out of the package `world-countries` (ODbL): `node test/install.mjs test/tools`, then
 * `node samples/atlas/read-countries.mjs > samples/atlas/countries.json`
 */
import { createRequire } from 'node:module'

const tools = createRequire(new URL('../../test/tools/package.json', import.meta.url))

const lines = tools('world-countries').map((country) =>
  JSON.stringify({
    code: country.cca2,
    name: country.name.common,
    officialName: country.name.official,
    capital: country.capital[0] ?? null,
    region: country.region,
    subregion: country.subregion,
    area: country.area,
    lat: country.latlng[0],
    lng: country.latlng[1],
    flag: country.flag,
  }),
)
console.log(`[\n${lines.join(',\n')}\n]`)
