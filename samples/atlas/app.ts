/** The atlas: its modules, records and controllers. */
import { Controller, Doc, Get, Module, reply } from 'filigree'
import { accessLog } from 'filigree/access-log'
import { admin } from 'filigree/admin'
import { health } from 'filigree/health'
import { metrics } from 'filigree/metrics'
import { passkeys } from 'filigree/passkeys'
import { CityController } from './cities.js'
import { CitySearch } from './city-search.js'
import { CountryController } from './countries.js'
import { FirstStart } from './first-start.js'
import { Gazetteer } from './gazetteer.js'
import { LoadingReport } from './loading-report.js'
import { LoginController, PasskeyUsers } from './login.js'
import { startPage, wantsPage } from './page.js'
import { PictureController, PictureFolder, Pictures } from './pictures.js'
import { City, Country, Picture, User } from './records.js'
import { CityTable, CountryTable } from './tables.js'
import { World } from './world.js'

@Controller
export class IndexController {
  @Get
  @Doc({
    description: 'Where to begin: a page for browsers.',
    exampleResponse: { atlas: '…', try: ['/countries/IS'] },
  })
  index(headers: Readonly<Record<string, string>>) {
    if (wantsPage(headers.accept)) return startPage()
    const beginning = {
      atlas: 'The countries and cities of the world.',
      try: [
        '/countries?region=Europe&limit=3',
        '/countries/IS',
        '/countries/IS/cities?limit=5',
        '/cities?q=reykja',
        '/cities/near/64.14/-21.9?radius=30&limit=5',
        '/records/countries?search=kingdom',
        '/records/countries/aggregate?groupBy=region&count=true&sum=area',
        '/records/cities?name.startsWith=Reykj&with=country&fields=name',
      ],
    }
    return reply(beginning).header('Vary', 'Accept')
  }
}

@Module({
  imports: [
    health(),
    metrics(),
    accessLog(),
    passkeys({ name: 'Atlas', signIn: [PasskeyUsers, 'fromPasskey'] }),
    admin({
      path: '/admin',
      roles: 'admin',
      records: [Country, City, Picture, User],
      login: { path: '/login' },
    }),
  ],
  controllers: [
    IndexController,
    CountryController,
    CityController,
    PictureController,
    LoginController,
    CountryTable,
    CityTable,
  ],
  providers: [
    ...[Gazetteer, LoadingReport, FirstStart, CitySearch, World, PictureFolder, Pictures],
    PasskeyUsers,
  ],
  records: [Country, City, User, Picture],
})
export class AtlasModule {}
