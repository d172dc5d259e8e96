/** An atlas of a few cities, for tests. */
import { join } from 'node:path'
import { bootstrap, type Application, type BootstrapOptions } from '../../src/index.js'
import { AtlasModule } from '../../samples/atlas/app.js'
import { Gazetteer, type KnownCity, type KnownCountry } from '../../samples/atlas/gazetteer.js'
import { LoadingReport, type Output } from '../../samples/atlas/loading-report.js'
import { PictureFolder } from '../../samples/atlas/pictures.js'
import { makePair } from '../auth/key-pair.js'

export interface SmallGazetteer {
  readonly countries: () => readonly KnownCountry[]
  readonly cities: () => readonly KnownCity[]
}

export function country(code: string, name: string, region: string): KnownCountry {
  return {
    code,
    name,
    officialName: `The Land of ${name}`,
    capital: code === 'AQ' ? null : 'Capital',
    region,
    subregion: `Northern ${region}`,
    area: 1000,
    lat: 1,
    lng: 2,
    flag: '⚑',
  }
}

function city(name: string, lat: number, lng: number, code: string): KnownCity {
  return { name, lat, lng, country: code }
}

/** The ids are the positions in these lists, starting with 1. */
export const smallWorld: SmallGazetteer = {
  countries: () => [
    country('IS', 'Iceland', 'Europe'),
    country('DK', 'Denmark', 'Europe'),
    country('FJ', 'Fiji', 'Oceania'),
    country('AQ', 'Antarctica', 'Antarctic'),
    country('CI', "Côte d'Ivoire", 'Africa'),
  ],
  cities: () => [
    city('Reykjavík', 64.13548, -21.89541, 'IS'),
    city('Kópavogur', 64.11234, -21.91298, 'IS'),
    city('Reykjanesbær', 63.99813, -22.56111, 'IS'),
    city('Århus', 56.15674, 10.21076, 'DK'),
    city('100% Town', 56, 10, 'DK'),
    city('100_Town', 56, 10.1, 'DK'),
    city('West of the Line', -16.8, 179.95, 'FJ'),
    city('East of the Line', -16.8, -179.95, 'FJ'),
    city('Pole Station', -89.99, 0, 'AQ'),
    city('Across the Pole', -89.99, 180, 'AQ'),
  ],
}

/** A stream that stores the text written to it. */
export class Collected implements Output {
  isTTY = false
  text = ''
  write(text: string): void {
    this.text += text
  }
}

const pair = makePair()

export interface AtlasStart {
  /** The URL of the database. */
  readonly url: string
  /** The folder for pictures. */
  readonly folder: string
  readonly gazetteer?: SmallGazetteer
  /** The module to start: the atlas, or one that imports it. */
  readonly module?: new () => object
  /** The stream for the loading report. Default: none. */
  readonly out?: Output
  readonly options?: BootstrapOptions
}

/** Starts the atlas on the test's database, without a port unless the options set one. */
export function startAtlas({ url, folder, ...rest }: AtlasStart): Promise<Application> {
  const { gazetteer = smallWorld, module = AtlasModule, out = new Collected(), options } = rest
  return bootstrap(module, {
    listen: false,
    logger: false,
    database: url,
    env: {},
    auth: { keys: { private: pair.privatePem, public: pair.publicPem } },
    override: [
      [Gazetteer, gazetteer],
      [LoadingReport, new LoadingReport(out)],
      [PictureFolder, new PictureFolder(join(folder, 'pictures'))],
    ],
    ...options,
  })
}

/** @returns the token of one of the first users */
export async function logIn(
  app: Application,
  name = 'grace',
  password = 'compiler',
): Promise<string> {
  const answer = await app.inject({ url: '/login', json: { name, password } })
  return answer.headers.freshtoken ?? ''
}
