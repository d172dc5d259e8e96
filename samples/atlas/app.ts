/** The atlas: what belongs to it. */
import { Controller, Doc, Get, Module } from 'filigree'
import { CityController } from './cities.js'
import { CountryController } from './countries.js'
import { LoginController, Users } from './login.js'
import { PictureController, PictureFolder } from './pictures.js'
import { World } from './world.js'

@Controller
class IndexController {
  @Get
  @Doc({ description: 'Where to begin.', exampleResponse: { atlas: '…', try: ['/countries/IS'] } })
  index() {
    return {
      atlas: 'The countries and cities of the world.',
      try: [
        '/countries?region=Europe&limit=3',
        '/countries/IS',
        '/countries/IS/cities?limit=5',
        '/cities?q=reykja',
        '/cities/near/64.14/-21.9?radius=30&limit=5',
      ],
    }
  }
}

@Module({
  controllers: [
    IndexController,
    CountryController,
    CityController,
    PictureController,
    LoginController,
  ],
  providers: [World, PictureFolder, Users],
})
export class AtlasModule {}
