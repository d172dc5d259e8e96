/** The records themselves: filters, searches, sums and related rows, with generated routes. */
import { Controller, Doc } from 'filigree'
import { City, Country } from './records.js'

/** `/records/countries?search=republic`, `/records/countries/aggregate?groupBy=region&sum=area`. */
@Controller('/records/countries', { crud: Country, only: ['list', 'aggregate', 'find'] })
@Doc({ tags: ['records'] })
export class CountryTable {}

/** `/records/cities?name.startsWith=Reykj&with=country&fields=name`. */
@Controller('/records/cities', { crud: City, only: ['list', 'aggregate', 'find'] })
@Doc({ tags: ['records'] })
export class CityTable {}
